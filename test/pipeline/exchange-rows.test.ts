import { describe, expect, it } from "vitest";
import { Place } from "../../src/core/place.js";
import { exactly, unknownWhen } from "../../src/core/time.js";
import type { ExchangeRow } from "../../src/model/report.js";
import { ExchangeRows } from "../../src/pipeline/exchange-rows.js";

const head = { method: "POST", authority: "a.test", scheme: "https", path: "/x", version: "2", headers: [] };

function row(id: number, over: Partial<ExchangeRow> = {}): ExchangeRow {
  return {
    id,
    flow: id % 3,
    kind: "http",
    request: head,
    status: 200,
    dialect: "cursor",
    looks: null,
    up: { bytes: id, sha256: null },
    down: { bytes: 2 ** 33 + id, sha256: null },
    messages: 4,
    end: "complete",
    opened: exactly(1_700_000_000_000_000_001n + BigInt(id)),
    place: new Place(1, id, id + 1),
    ...over,
  };
}

describe("rows of exchanges", () => {
  it("come back by id as they were", () => {
    const given = [
      row(2, { status: null, request: null, kind: "bytes", dialect: null, looks: "JSON" }),
      row(0, { opened: unknownWhen, end: "reset" }),
      row(3, { opened: { earliest: 5n, latest: 9n }, up: { bytes: 3, sha256: "ab" } }),
      row(1, { opened: exactly(2n ** 80n), down: { bytes: 0, sha256: "cd" } }),
    ];
    const rows = new ExchangeRows();
    for (const each of given) rows.push(each);
    expect(rows.length).toBe(4);
    expect([...rows]).toEqual([...given].sort((a, b) => a.id - b.id));
    expect([...rows][0]!.opened).toBe(unknownWhen);
  });

  it("hold as many as there are, and take more after they were asked for", () => {
    const rows = new ExchangeRows();
    for (let id = 0; id < 1000; id++) rows.push(row(id, { status: id % 500 }));
    expect([...rows].map(({ id }) => id)).toEqual(Array.from({ length: 1000 }, (_, id) => id));
    rows.push(row(1000));
    expect([...rows].at(-1)).toEqual(row(1000));
  });

  it("are given out by facts, which are asked for once", () => {
    const rows = new ExchangeRows();
    for (let id = 0; id < 9; id++) rows.push(row(id, id % 2 === 0 ? { status: 502 } : { dialect: null }));
    let times = 0;
    const which = ({ status }: { readonly status: number | null }) => {
      times++;
      return status === 502;
    };
    expect([...rows.each(which)].map(({ id }) => id)).toEqual([0, 2, 4, 6, 8]);
    expect(times).toBe(2);
    expect(rows.claimed()).toEqual(
      new Map([
        ["cursor", 5],
        [null, 4],
      ]),
    );
  });

  it("what a dialect gives back is nobody's", () => {
    const rows = new ExchangeRows();
    rows.push(row(0));
    rows.push(row(1));
    rows.giveBack(new Set([1]));
    expect([...rows].map(({ dialect }) => dialect)).toEqual(["cursor", null]);
    // Facts that no row has any more are not asked about.
    rows.giveBack(new Set([0]));
    const asked: (string | null)[] = [];
    for (const _ of rows.each(({ dialect }) => asked.push(dialect) > 0));
    expect(asked).toEqual([null]);
  });
});
