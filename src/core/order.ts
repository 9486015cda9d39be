/** Sorting by declared keys: never by locale, arrival or hash order. */

export type SortKey = string | number | bigint | boolean | null | undefined;

/** A comparator over the given keys, in that order; null and undefined come last. */
export function by<T>(...keys: ((item: T) => SortKey)[]): (a: T, b: T) => number {
  return (a, b) => {
    for (const key of keys) {
      const order = compareKeys(key(a), key(b));
      if (order !== 0) return order;
    }
    return 0;
  };
}

function compareKeys(x: SortKey, y: SortKey): number {
  if (x === y) return 0;
  if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
  if (y === null || y === undefined) return -1;
  return x < y ? -1 : x > y ? 1 : 0;
}
