import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Recent } from "../../src/core/recent.js";

describe("recent results", () => {
  it("are the last ones whose key was new, with their newest value, and no more than asked for", () => {
    const key = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 12 }) }, fc.constant("clear" as const));
    fc.assert(
      fc.property(fc.array(key, { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (keys, most) => {
        const recent = new Recent<number, number>(most);
        let model: [number, number][] = [];
        for (const [value, key] of keys.entries()) {
          if (key === "clear") {
            recent.clear();
            model = [];
            continue;
          }
          const known = model.find(([id]) => id === key);
          if (known !== undefined) known[1] = value;
          else model = [...model, [key, value] as [number, number]].slice(-most);
          expect(recent.set(key, value)).toBe(value);
          for (let asked = 0; asked <= 12; asked++) {
            const want = model.find(([id]) => id === asked);
            expect([recent.has(asked), recent.get(asked)]).toEqual([want !== undefined, want?.[1]]);
          }
        }
      }),
    );
  });
});
