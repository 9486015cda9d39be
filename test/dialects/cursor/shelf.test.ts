import { describe, expect, it } from "vitest";
import { SpillStore } from "../../../src/capture/spill.js";
import { Place } from "../../../src/core/place.js";
import { exactly } from "../../../src/core/time.js";
import { compactDown } from "../../../src/dialects/cursor/items.js";
import { type DownItem, noDetail, noReferences, noWords } from "../../../src/dialects/cursor/model.js";
import { Box, type BoxList, Shelf } from "../../../src/dialects/cursor/shelf.js";

function item(first: number): DownItem {
  const place = new Place(0, first, first, "response", 0, 5);
  const [when, until] = [exactly(7n), exactly(7n)];
  const rest = { last: first, count: 1, bytes: 5, chars: 0, tokens: 0, flags: 0, when, until, place, lastPlace: place };
  const says = { lane: "kv", says: noWords, lead: "", nested: null, references: noReferences, fold: "" } as const;
  return compactDown({ kind: "kv", first, ...rest, ...says, detail: noDetail, faulty: false });
}

/** `count` boxes of one item each, filled one after the other. */
function filled(bytes: number, count: number): { boxes: Box[]; lists: BoxList<DownItem>[] } {
  const shelf = new Shelf(new SpillStore(1 << 20), bytes);
  const boxes: Box[] = [];
  const lists: BoxList<DownItem>[] = [];
  for (let n = 0; n < count; n++) {
    const box = new Box(shelf);
    const list = box.add<DownItem>();
    box.enter();
    list.items.push(item(n));
    box.leave();
    boxes.push(box);
    lists.push(list);
  }
  return { boxes, lists };
}

describe("the shelf of items", () => {
  it("packs what is not looked at, and gives it back as it was", () => {
    const { boxes, lists } = filled(0, 10);
    expect(boxes.map((box) => box.size)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    for (const [n, list] of lists.entries()) expect(list.items).toEqual([item(n)]);
  });

  it("a list is the same array as long as it stays", () => {
    const { lists } = filled(0, 10);
    const first = lists[0]!.items;
    expect(lists[0]!.items).toBe(first);
    for (const list of lists) expect(list.items).toHaveLength(1);
    expect(lists[0]!.items).not.toBe(first);
    expect(lists[0]!.items).toEqual(first);
  });

  it("what came while there was room stays", () => {
    const { boxes } = filled(5 * 512, 10);
    expect(boxes.slice(0, 5).every((box) => box.size === 1)).toBe(true);
    expect(boxes[5]!.size).toBe(0);
  });

  it("without a bound nothing is packed", () => {
    const { boxes } = filled(Number.POSITIVE_INFINITY, 100);
    expect(boxes.every((box) => box.size === 1)).toBe(true);
  });

  it("a box that is added to again is packed anew", () => {
    const { boxes, lists } = filled(0, 10);
    boxes[0]!.enter();
    lists[0]!.items.push(item(99));
    boxes[0]!.leave();
    for (const list of lists.slice(1)) expect(list.items).toHaveLength(1);
    expect(boxes[0]!.size).toBe(0);
    expect(lists[0]!.items.map(({ first }) => first)).toEqual([0, 99]);
  });

  it("what was changed after it was read stays as it is", () => {
    const { boxes, lists } = filled(0, 3);
    const { items } = lists[0]!;
    items[0] = item(50);
    boxes[0]!.keep();
    for (const list of lists) expect(list.items).toHaveLength(1);
    expect(lists[0]!.items).toEqual([item(50)]);
  });
});
