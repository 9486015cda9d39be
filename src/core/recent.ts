/** The last few results by key, first in, first out: what is looked at together is asked for again and again. */
export class Recent<K, V> {
  private readonly known = new Map<K, V>();
  /** Keys by age, as a ring: a map that is emptied from the front is searched past all its holes each time. */
  private readonly keys: K[] = [];
  private next = 0;

  constructor(private readonly most: number) {}

  get(key: K): V | undefined {
    return this.known.get(key);
  }

  has(key: K): boolean {
    return this.known.has(key);
  }

  set(key: K, value: V): V {
    if (!this.known.has(key)) {
      if (this.keys.length === this.most) this.known.delete(this.keys[this.next]!);
      this.keys[this.next] = key;
      this.next = (this.next + 1) % this.most;
    }
    this.known.set(key, value);
    return value;
  }

  clear(): void {
    this.known.clear();
    this.keys.length = 0;
    this.next = 0;
  }
}
