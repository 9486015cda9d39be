import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Packer, packedClass, packedPlain } from "../../src/core/pack.js";
import { Place } from "../../src/core/place.js";
import { exactly, unknownWhen } from "../../src/core/time.js";

class Item {
  constructor(
    readonly name: string,
    readonly inner: unknown,
  ) {}

  get shout(): string {
    return this.name.toUpperCase();
  }
}

interface Row {
  readonly kind: string;
  readonly n: number;
}

const packer = () =>
  new Packer([
    packedClass(Item, ["name", "inner"], (next) => new Item(next(), next())),
    packedPlain<Row>(["kind", "n"], (next) => ({ kind: next(), n: next() })),
  ]);

function through(value: unknown): unknown {
  const one = packer();
  return one.unpack(new Uint8Array(one.pack(value)!));
}

describe("packing", () => {
  it.each([
    ["numbers", [0, -0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 1.5, Number.MAX_SAFE_INTEGER, Number.NaN, -Infinity]],
    ["bigints", [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n, 10n ** 40n]],
    ["texts", ["", "a", "é", "漢字", "\ud800", "x".repeat(70_000), `${"y".repeat(50)}\u{1f600}`]],
    ["words", [undefined, null, true, false]],
    ["lists", [[], [[]], [1, [2, [3]]]]],
    ["objects", [{}, { a: 1 }, { b: 1, a: 2 }, { kind: "k", n: 3 }, { a: { b: { c: [] } } }]],
    ["places", [new Place(0, 1, 2), new Place(3, 4, 5, "request"), new Place(1, 2 ** 33, 2 ** 33, "response", 0, 9)]],
    ["times", [exactly(5n), { earliest: 1n, latest: 2n }, { earliest: 2n ** 70n, latest: 2n ** 70n }]],
  ])("gives %s back as they were", (_name, values) => {
    expect(through(values)).toStrictEqual(values);
  });

  it("keeps classes, the order of keys, and who is whom", () => {
    const shared = { only: "once" };
    const back = through([new Item("a", shared), shared, { b: 1, a: 2 }]) as [Item, object, object];
    expect(back[0]).toBeInstanceOf(Item);
    expect(back[0].shout).toBe("A");
    expect(back[0].inner).toBe(back[1]);
    expect(Object.keys(back[2])).toEqual(["b", "a"]);
  });

  it("an unknown time stays the unknown time", () => {
    expect((through([unknownWhen]) as unknown[])[0]).toBe(unknownWhen);
  });

  it("refuses what it cannot give back", () => {
    const odd = Object.fromEntries([["__proto__", 1]]);
    for (const value of [new Map(), () => 1, Symbol("x"), new Date(0), odd, [{ deep: new Set() }]])
      expect(packer().pack(value)).toBeUndefined();
  });

  it("goes on after a refusal, and with many texts", () => {
    const one = packer();
    const keep = (value: unknown) => new Uint8Array(one.pack(value)!);
    const first = keep({ a: "first" });
    expect(one.pack([{ a: 1 }, new Map()])).toBeUndefined();
    const texts = Array.from({ length: 10_000 }, (_, i) => `text ${i}`);
    const many = keep(texts);
    expect(one.unpack(first)).toEqual({ a: "first" });
    expect(one.unpack(many)).toEqual(texts);
  });

  it("anything that is plain", () => {
    const plain = fc.anything({
      withBigInt: true,
      withNullPrototype: false,
      key: fc.string().filter((k) => k !== "__proto__"),
    });
    const same = (value: unknown) => {
      expect(through(value)).toStrictEqual(value);
    };
    fc.assert(fc.property(plain, same), { numRuns: 300 });
  });
});
