/** The last few results by key, first in, first out: what is looked at together is asked for again and again. */
export class Recent<K, V> {
  private readonly known = new Map<K, V>();

  constructor(private readonly most: number) {}

  get(key: K): V | undefined {
    return this.known.get(key);
  }

  set(key: K, value: V): V {
    this.known.set(key, value);
    if (this.known.size > this.most) this.known.delete(this.known.keys().next().value!);
    return value;
  }

  clear(): void {
    this.known.clear();
  }
}
