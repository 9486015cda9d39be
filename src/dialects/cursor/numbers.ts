/** A growing list of 32-bit numbers: four bytes each, where a list of objects would take a hundred. */
export class Numbers {
  private data = new Int32Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.data.length) {
      const more = new Int32Array(this.data.length * 2);
      more.set(this.data);
      this.data = more;
    }
    this.data[this.length++] = value;
  }

  at(index: number): number {
    return this.data[index]!;
  }

  set(index: number, value: number): void {
    this.data[index] = value;
  }
}

/** Texts by number, in order of first appearance. */
export class Names {
  private readonly ids = new Map<string, number>();
  readonly list: string[] = [];

  id(name: string): number {
    let id = this.ids.get(name);
    if (id === undefined) {
      id = this.list.push(name) - 1;
      this.ids.set(name, id);
    }
    return id;
  }

  find(name: string): number | undefined {
    return this.ids.get(name);
  }
}
