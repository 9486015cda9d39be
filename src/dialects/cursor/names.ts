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
