/**
 * A long text that is appended to and cut at its front many times. A JavaScript string would be copied whole whenever somebody looks
 * at it; this one is joined only when it is wanted whole. Lengths are in UTF-16 units.
 */
export class GrowingText {
  private parts: string[];
  private first = 0;
  /** Units of the first part that are gone. */
  private skip = 0;
  length: number;

  constructor(text: string) {
    this.parts = [text];
    this.length = text.length;
  }

  append(text: string): void {
    if (text.length === 0) return;
    this.parts.push(text);
    this.length += text.length;
  }

  dropFront(count: number): void {
    let left = Math.min(count, this.length);
    this.length -= left;
    while (left > 0) {
      const here = this.parts[this.first]!.length - this.skip;
      if (left < here) {
        this.skip += left;
        break;
      }
      left -= here;
      this.parts[this.first] = "";
      this.first++;
      this.skip = 0;
    }
    if (this.first > 1024 && this.first * 2 > this.parts.length) {
      this.parts = this.parts.slice(this.first);
      this.first = 0;
    }
  }

  /** At most the first `count` units. */
  prefix(count: number): string {
    let text = "";
    for (let i = this.first; i < this.parts.length && text.length < count; i++) {
      const from = i === this.first ? this.skip : 0;
      text += this.parts[i]!.slice(from, from + count - text.length);
    }
    return text;
  }

  toString(): string {
    const text = this.parts.slice(this.first).join("").slice(this.skip);
    this.parts = [text];
    this.first = 0;
    this.skip = 0;
    return text;
  }
}
