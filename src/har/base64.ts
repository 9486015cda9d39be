/** Base64 in pieces -> bytes in pieces. Both alphabets, line breaks, missing padding and padding between joined parts are taken. */
import { type Bytes, latin1 } from "../core/bytes.js";

export interface Base64Fault {
  /** Characters (without white space) before the first one that is no base64. */
  readonly character: number;
  readonly what: string;
}

/** Short enough for the heap's young space. */
const sliceCharacters = 64 * 1024;

export class Base64Reader {
  private readonly out: Bytes[] = [];
  private carry = "";
  private seen = 0;
  private fault: Base64Fault | undefined;

  /** Nothing more is taken. */
  get failed(): boolean {
    return this.fault !== undefined;
  }

  push(text: string): void {
    if (this.failed) return;
    // Clean text decodes to exactly three quarters of its length; anything else shows in the length of the result.
    const whole = this.carry + text;
    let usable = whole.length & ~3;
    if (usable >= 4 && whole.charCodeAt(usable - 1) === 0x3d) usable -= 4;
    const body = usable === whole.length ? whole : whole.slice(0, usable);
    const bytes = Buffer.from(body, "base64");
    if (bytes.length === (usable / 4) * 3) {
      this.add(bytes, usable);
      this.carry = "";
      if (usable < whole.length) this.pushRest(whole.slice(usable));
    } else this.pushOdd(whole);
  }

  /**
   * Text as ASCII bytes, for large ones. It passes through short strings into one array of its true size: a large string lives outside
   * the heap and would wait there, with the block it was read from, for a full collection.
   */
  pushBytes(text: Buffer): void {
    const lead = Math.min(text.length, (4 - this.carry.length) & 3);
    if (lead > 0) this.push(text.toString("latin1", 0, lead));
    let usable = (text.length - lead) & ~3;
    if (usable >= 4 && text[lead + usable - 1] === 0x3d) usable -= 4;
    const end = lead + usable;
    if (this.carry !== "" || usable < sliceCharacters) {
      this.push(text.toString("latin1", lead));
      return;
    }
    const out = Buffer.allocUnsafeSlow((usable / 4) * 3);
    let to = 0;
    for (let from = lead; from < end; from += sliceCharacters) {
      const slice = text.toString("latin1", from, Math.min(end, from + sliceCharacters));
      const wanted = (slice.length / 4) * 3;
      if (out.write(slice, to, wanted, "base64") !== wanted) {
        this.add(out.subarray(0, to), from - lead);
        this.push(text.toString("latin1", from));
        return;
      }
      to += wanted;
    }
    this.add(out, usable);
    this.push(text.toString("latin1", end));
  }

  end(): { readonly pieces: readonly Bytes[]; readonly fault: Base64Fault | undefined } {
    const rest = this.carry.replace(/\s+/g, "");
    if (!this.failed && rest !== "") this.part(rest, true);
    return { pieces: this.out, fault: this.fault };
  }

  private pushRest(rest: string): void {
    if (rest.length > 3 || rest.includes("=")) this.pushOdd(rest);
    else this.carry = rest;
  }

  /** Text with white space, padding or strangers in it. */
  private pushOdd(text: string): void {
    const clean = text.replace(/\s+/g, "");
    this.carry = "";
    // `=` ends a part; what follows is another one that was encoded on its own.
    const parts = clean.split(/(=+)/);
    for (let i = 0; i < parts.length && !this.failed; i += 2) {
      const padded = i + 1 < parts.length;
      this.part(parts[i]!, padded);
      if (padded) this.seen += parts[i + 1]!.length;
    }
  }

  private part(text: string, complete: boolean): void {
    const stranger = text.search(/[^A-Za-z0-9+/_-]/);
    const good = stranger < 0 ? text : text.slice(0, stranger);
    const usable = complete || stranger >= 0 ? good.length : good.length & ~3;
    const body = good.slice(0, usable);
    this.carry = stranger < 0 ? good.slice(usable) : "";
    if (body !== "") this.add(Buffer.from(body, "base64"), body.length);
    if (stranger >= 0) {
      this.fault = { character: this.seen, what: `character U+${hexCode(text.charCodeAt(stranger))}` };
    } else if (complete && (body.length & 3) === 1) {
      this.fault = { character: this.seen - 1, what: "one character too many" };
    }
  }

  private add(bytes: Bytes, characters: number): void {
    if (bytes.length > 0) this.out.push(bytes);
    this.seen += characters;
  }
}

function hexCode(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, "0");
}

/** RFC 4648 section 4 to the letter: standard alphabet, padded, no white space, unused bits zero. */
export function isStrictBase64(pieces: readonly Bytes[]): boolean {
  let total = 0;
  let tail = "";
  for (const [i, piece] of pieces.entries()) {
    const text = latin1(piece);
    total += piece.length;
    tail = (tail + text.slice(-4)).slice(-4);
    const last = i === pieces.length - 1;
    if (!(last ? /^[A-Za-z0-9+/]*={0,2}$/ : /^[A-Za-z0-9+/]*$/).test(text)) return false;
  }
  return total > 0 && (total & 3) === 0 && Buffer.from(tail, "base64").toString("base64") === tail;
}
