/**
 * `_webSocketMessages` of an entry -> frame events. Text is text, binary data is base64. Times are exact; their unit is told by their
 * size: Chromium and mitmproxy write seconds since 1970, Playwright milliseconds.
 */
import { type Bytes, concat } from "../core/bytes.js";
import type { Detail, DiagnosticCode, Severity } from "../core/diagnostic.js";
import { exactly, type When } from "../core/time.js";
import type { Direction, Evidence } from "../model/exchange.js";
import { Base64Reader } from "./base64.js";
import { bytePerCharacter, utf8OfText } from "./characters.js";
import { startTime } from "./dates.js";
import { cutOf } from "./entry-capture.js";
import { asArray, asObject, asText, type Fields, numberOf } from "./fields.js";
import { JsonText } from "./json-text.js";

export interface WsMessage {
  readonly direction: Direction;
  readonly opcode: number;
  readonly bytes: Bytes;
  readonly evidence: Evidence;
  /** undefined: somewhere within the entry. */
  readonly when: When | undefined;
}

export type WsNote = (code: DiagnosticCode, detail: Detail, severity?: Severity) => void;

const directions: Readonly<Record<string, Direction>> = { send: "up", receive: "down" };
const opcodes: ReadonlySet<number> = new Set([1, 2, 8, 9, 10]);

/** undefined: the entry has no list of messages. */
export function* wsMessages(entry: Fields, cuts: readonly JsonText[], note: WsNote): Generator<WsMessage> {
  for (const item of asArray(entry?._webSocketMessages)) {
    const message = asObject(item);
    const type = asText(message?.type) ?? "";
    const direction = Object.hasOwn(directions, type) ? directions[type] : undefined;
    const given = numberOf(message?.opcode);
    const data = asText(message?.data);
    if (direction === undefined) note("har.ws-odd-message", { what: `its type is "${type.slice(0, 32)}"` });
    else if (given === -1) note("har.ws-odd-message", { what: "its opcode is -1, an error of the recorder's" });
    else if (data === undefined) note("har.ws-no-data", {});
    else if (given !== undefined && !opcodes.has(given)) {
      note("har.ws-odd-message", { what: `its opcode is ${given}` }, "warning");
    } else {
      const when = messageTime(message?.time);
      if (when === undefined) note("har.ws-no-time", {});
      const opcode = given ?? 1;
      yield { direction, opcode, ...payload(data, opcode, cuts, note), when };
    }
  }
}

function payload(
  data: string,
  opcode: number,
  cuts: readonly JsonText[],
  note: WsNote,
): { bytes: Bytes; evidence: Evidence } {
  const cut = cutOf(data, cuts);
  if (opcode === 1) {
    const bytes = cut === undefined ? Buffer.from(data, "utf8") : concat(utf8OfText(cut).pieces);
    return { bytes, evidence: "exact" };
  }
  const reader = new Base64Reader();
  for (const chunk of cut?.chunks() ?? [data]) reader.push(chunk);
  const { pieces, fault } = reader.end();
  if (fault === undefined)
    return { bytes: pieces.length === 0 ? new Uint8Array(0) : concat(pieces), evidence: "exact" };
  // Control frames, and binary data of some recorders, are written as characters.
  const text = cut ?? JsonText.of(data);
  const perCharacter = bytePerCharacter(text);
  if (perCharacter !== undefined) {
    const evidence = perCharacter.ascii ? "exact" : perCharacter.windows1252 ? "windows-1252" : "latin1";
    return { bytes: concat(perCharacter.pieces), evidence };
  }
  const utf8 = utf8OfText(text);
  if (utf8.replaced !== undefined) {
    const { count, character, byte } = utf8.replaced;
    note("har.lossy-text", { side: "WebSocket", count, character, byte });
    return { bytes: concat(utf8.pieces), evidence: "lossy-utf8" };
  }
  return { bytes: concat(utf8.pieces), evidence: "re-encoded" };
}

/** Seconds, milliseconds, microseconds or nanoseconds since 1970, by size; or a date. Times relative to something unknown give none. */
export function messageTime(value: unknown): When | undefined {
  const time = numberOf(value);
  if (time === undefined) {
    const date = typeof value === "string" ? startTime(value) : undefined;
    return date === undefined ? undefined : exactly(date.at);
  }
  if (time < 1e8) return undefined;
  if (time < 1e11) return exactly(BigInt(Math.round(time * 1e6)) * 1000n);
  if (time < 1e14) return exactly(BigInt(Math.round(time * 1e3)) * 1000n);
  if (time < 1e17) return exactly(BigInt(Math.round(time)) * 1000n);
  return exactly(BigInt(Math.round(time)));
}
