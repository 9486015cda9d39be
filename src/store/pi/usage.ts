/** Usage figures: reading one row, and the sum over the ledger in the order that makes it exact. The pi page, section 13. */

export interface UsageFigures {
  /** Path ("cost.input") to figure, in the order of the fields below. */
  readonly figures: ReadonlyMap<string, number>;
}

const required = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] as const;
const optional = ["cacheWrite1h", "reasoning"] as const;
const costs = ["input", "output", "cacheRead", "cacheWrite", "total"] as const;

/** The figures, or what is wrong. */
export function readUsage(value: unknown): UsageFigures | { readonly fault: string } {
  if (!isObject(value)) return { fault: "is no JSON object" };
  const figures = new Map<string, number>();
  for (const name of [...required, ...optional]) {
    const figure = value[name];
    if (figure === undefined && optional.some((field) => field === name)) continue;
    if (typeof figure !== "number") return { fault: `has no number "${name}"` };
    figures.set(name, figure);
  }
  const { cost } = value;
  if (!isObject(cost)) return { fault: 'has no object "cost"' };
  for (const name of costs) {
    const figure = cost[name];
    if (typeof figure !== "number") return { fault: `has no number "cost.${name}"` };
    figures.set(`cost.${name}`, figure);
  }
  return { figures };
}

/** `rows`: in order of their seq. Double precision, one row after the other; an optional figure is there once a row has it. */
export function sumUsage(rows: Iterable<UsageFigures>): ReadonlyMap<string, number> {
  const sum = new Map<string, number>();
  for (const name of required) sum.set(name, 0);
  for (const name of costs) sum.set(`cost.${name}`, 0);
  for (const { figures } of rows) for (const [name, figure] of figures) sum.set(name, (sum.get(name) ?? 0) + figure);
  return sum;
}

/** "output 71, not 70": every figure in which the two differ. */
export function compareUsage(stored: ReadonlyMap<string, number>, due: ReadonlyMap<string, number>): string[] {
  const names = new Set([...due.keys(), ...stored.keys()]);
  const differences: string[] = [];
  for (const name of names) {
    const [is, should] = [stored.get(name), due.get(name)];
    if (is === should) continue;
    differences.push(`${name} is ${is ?? "absent"}, not ${should ?? "absent"}`);
  }
  return differences;
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
