/** Bytes as offset, hex and text. Ranges that must not be shown are blanked in both columns. */
import type { Bytes } from "../core/bytes.js";

export interface HexOptions {
  /** Offset printed for the first byte. */
  readonly base: number;
  readonly perLine: number;
  /** 1: hidden. Same length as the bytes. */
  readonly hidden: Uint8Array | null;
}

export function* hexLines(bytes: Bytes, options: HexOptions): Generator<string> {
  const digits = Math.max(4, (options.base + bytes.length).toString(16).length);
  for (let at = 0; at < bytes.length; at += options.perLine) {
    const end = Math.min(at + options.perLine, bytes.length);
    let hex = "";
    let text = "";
    for (let i = at; i < end; i++) {
      const hidden = options.hidden?.[i] === 1;
      hex += `${i % 8 === 0 && i > at ? " " : ""} ${hidden ? "··" : bytes[i]!.toString(16).padStart(2, "0")}`;
      text += hidden ? "·" : bytes[i]! >= 0x20 && bytes[i]! < 0x7f ? String.fromCharCode(bytes[i]!) : ".";
    }
    const width = options.perLine * 3 + Math.floor((options.perLine - 1) / 8);
    yield `${(options.base + at).toString(16).padStart(digits, "0")} ${hex.padEnd(width)}  ${text}`;
  }
}

/**
 * Marks every occurrence of the given texts, as UTF-8, as JSON text and as lower-case hex (the inner message of an append). Second
 * value: texts that occur in none of these forms.
 */
export function hiddenRanges(
  bytes: Bytes,
  secrets: Iterable<string | Bytes>,
): { hidden: Uint8Array | null; unseen: number } {
  const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  let hidden: Uint8Array | null = null;
  let unseen = 0;
  for (const secret of secrets) {
    const raw = typeof secret === "string" ? Buffer.from(secret, "utf8") : Buffer.from(secret);
    if (raw.length === 0) continue;
    const forms = [raw, Buffer.from(raw.toString("hex")), Buffer.from(raw.toString("base64").replace(/=+$/, ""))];
    if (typeof secret === "string") forms.push(Buffer.from(JSON.stringify(secret).slice(1, -1), "utf8"));
    let found = false;
    for (const form of forms) {
      for (let at = buffer.indexOf(form); at >= 0; at = buffer.indexOf(form, at + form.length)) {
        hidden ??= new Uint8Array(bytes.length);
        hidden.fill(1, at, at + form.length);
        found = true;
      }
    }
    if (!found) unseen++;
  }
  return { hidden, unseen };
}
