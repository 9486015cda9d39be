/** Text that arrives in deltas: gathered by step, then kept outside of memory where it is long. */
import { utf8, utf8Bytes } from "../../core/bytes.js";
import type { BlobStore } from "../../model/dialect.js";
import { appended } from "./fields.js";

/** Shorter texts stay where they are. */
const keptChars = 512;

export interface TextPart {
  /** Id of the step that was open; null outside of one. */
  readonly stepId: number | null;
  readonly chars: number;
}

export class SpilledText {
  private pieces: string[] = [];
  private pending = 0;
  private chunks: readonly (string | number)[] = [];
  private parts_: { stepId: number | null; chars: number }[] = [];
  chars = 0;

  constructor(private readonly store: BlobStore) {}

  add(text: string, stepId: number | null): void {
    this.pieces.push(text);
    this.pending += text.length;
    this.chars += text.length;
    const last = this.parts_[this.parts_.length - 1];
    if (last !== undefined && last.stepId === stepId) last.chars += text.length;
    else if (last === undefined) this.parts_ = [{ stepId, chars: text.length }];
    else this.parts_.push({ stepId, chars: text.length });
    if (this.pending > 256 * 1024) this.close();
  }

  /** Joins what is pending; more may follow. */
  close(): void {
    if (this.pieces.length === 0) return;
    const joined = this.pieces.join("");
    this.pieces = [];
    this.pending = 0;
    const chunk = joined.length > keptChars ? this.store.put(utf8Bytes(joined)) : Buffer.from(joined).toString();
    this.chunks = appended(this.chunks, chunk);
  }

  read(): string {
    this.close();
    return this.chunks.map((chunk) => (typeof chunk === "string" ? chunk : utf8(this.store.get(chunk)))).join("");
  }

  /** The text between step boundaries, in order. */
  parts(): readonly (TextPart & { readonly text: string })[] {
    const whole = this.read();
    let at = 0;
    return this.parts_.map((part) => {
      const text = whole.slice(at, at + part.chars);
      at += part.chars;
      return { ...part, text };
    });
  }
}
