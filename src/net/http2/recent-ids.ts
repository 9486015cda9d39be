/** The stream numbers that were added last, a fixed number of them. */
export class RecentIds {
  private readonly known = new Set<number>();
  private readonly ring: Int32Array;
  private next = 0;

  constructor(private readonly most: number) {
    this.ring = new Int32Array(most);
  }

  has(id: number): boolean {
    return this.known.has(id);
  }

  /** The oldest is found by its place: a set that is emptied from the front is searched from its first hole each time. */
  add(id: number): void {
    if (this.known.has(id)) return;
    if (this.known.size === this.most) this.known.delete(this.ring[this.next]!);
    this.ring[this.next] = id;
    this.next = (this.next + 1) % this.most;
    this.known.add(id);
  }
}
