import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RecentIds } from "../../src/net/http2/recent-ids.js";

describe("recent stream ids", () => {
  it("are the last ones that were new, and no more than asked for", () => {
    const ids = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 60 });
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 8 }), (added, most) => {
        const recent = new RecentIds(most);
        let model: number[] = [];
        for (const id of added) {
          if (!model.includes(id)) model = [...model, id].slice(-most);
          recent.add(id);
          for (let asked = 0; asked <= 12; asked++) expect(recent.has(asked)).toBe(model.includes(asked));
        }
      }),
    );
  });
});
