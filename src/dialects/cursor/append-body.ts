/**
 * The outer message of a BidiAppend (protocols/cursor.md 2.1): request id, sequence number and the inner message, as hex text or as
 * bytes. A body that a HAR writer put through a lossy text decoding is salvaged: hex, UUID and small numbers are plain ASCII.
 */
import { asBuffer, type Bytes, latin1, noBytes, utf8 } from "../../core/bytes.js";
import { LEN, VARINT, WireReader } from "../../decode/wire.js";
import type { Evidence } from "../../model/exchange.js";
import { fromHexText, type HexFault } from "./hex-text.js";

export interface OuterAppend {
  /** "" where absent or damaged. */
  readonly requestId: string;
  /** 0 where absent; -1 where damaged. */
  readonly seqno: number;
  /** First of the 128 numbers a damaged two-byte number can be; -1 where it is not known. */
  readonly seqnoFrom: number;
  readonly carrier: "hex" | "binary" | "none" | "both";
  readonly hexFault: HexFault | null;
  readonly inner: Bytes;
  /** `salvaged`: won back whole. `lossy-utf8`: the inner message is lost. */
  readonly evidence: Evidence;
  /** Fields the message does not have. */
  readonly unknown: number;
  /** What keeps the outer message from being read; null where it is sound. */
  readonly fault: string | null;
}

interface Parsed {
  requestId: string;
  seqno: number;
  data: Bytes;
  binary: Bytes;
  unknown: number;
  fault: string | null;
  /** Where reading stopped. */
  at: number;
}

const reader = new WireReader();

export function readAppend(body: Bytes, evidence: Evidence, decodes: (inner: Bytes) => boolean): OuterAppend {
  const damaged = evidence === "lossy-utf8" && indexOfReplacement(body, 0) >= 0;
  if (damaged) return salvage(body, decodes);
  return outerOf(parse(body), evidence === "lossy-utf8" ? "exact" : evidence);
}

/** The JSON twin: the same four fields by their JSON names. undefined: no such JSON. */
export function readJsonAppend(body: Bytes, evidence: Evidence): OuterAppend | undefined {
  let value: unknown;
  try {
    value = JSON.parse(utf8(body));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const json = value as Record<string, unknown>;
  const request = json["requestId"] ?? json["request_id"];
  const id =
    typeof request === "object" && request !== null
      ? ((request as Record<string, unknown>)["requestId"] ?? (request as Record<string, unknown>)["request_id"])
      : undefined;
  const seqno = Number(json["appendSeqno"] ?? json["append_seqno"] ?? 0);
  const data = typeof json["data"] === "string" ? json["data"] : "";
  const binary = json["dataBinary"] ?? json["data_binary"];
  const outer: Parsed = {
    requestId: typeof id === "string" ? id : "",
    seqno: Number.isSafeInteger(seqno) ? seqno : -1,
    data: Buffer.from(data, "latin1"),
    binary: typeof binary === "string" ? Buffer.from(binary, "base64") : noBytes,
    unknown: 0,
    fault: null,
    at: body.length,
  };
  return outerOf(outer, evidence);
}

/** Both: the hex form is the older field and the one every server reads. */
function outerOf(outer: Parsed, evidence: Evidence): OuterAppend {
  const { requestId, seqno, data, binary, unknown, fault } = outer;
  const hex = data.length === 0 ? null : fromHexText(data);
  return {
    requestId,
    seqno,
    seqnoFrom: -1,
    carrier: hex === null ? (binary.length === 0 ? "none" : "binary") : binary.length === 0 ? "hex" : "both",
    hexFault: hex === null ? null : hex.hexFault,
    inner: hex === null ? binary : hex.inner,
    evidence,
    unknown,
    fault,
  };
}

/** Reads until the end or the first fault; `limit`: bytes from there on are not to be trusted. */
function parse(body: Bytes, limit = body.length): Parsed {
  const out: Parsed = { requestId: "", seqno: 0, data: noBytes, binary: noBytes, unknown: 0, fault: null, at: 0 };
  reader.reset(body);
  reader.end = limit;
  while (reader.pos < reader.end) {
    out.at = reader.pos;
    if (!reader.tag() || !field(body, out)) {
      out.fault = `${reader.fault} at byte ${reader.faultAt}`;
      return out;
    }
  }
  out.at = reader.pos;
  return out;
}

function field(body: Bytes, out: Parsed): boolean {
  const { field: number, wire } = reader;
  if (number === 3 && wire === VARINT) {
    if (!reader.varint()) return false;
    out.seqno = Number(reader.signed());
    return true;
  }
  if (wire !== LEN || number > 4 || number === 3) {
    if (number <= 4) return reader.fail("wire-type", out.at);
    out.unknown++;
    return reader.skip(4);
  }
  if (!reader.length()) return false;
  const start = reader.pos;
  const end = start + reader.lo;
  if (number === 1) out.data = body.subarray(start, end);
  else if (number === 4) out.binary = body.subarray(start, end);
  else {
    const id = requestId(start, end);
    if (id === undefined) return false;
    out.requestId = id;
  }
  reader.pos = end;
  return true;
}

/** BidiRequestId: field 1, a string. */
function requestId(start: number, end: number): string | undefined {
  const outerEnd = reader.end;
  reader.end = end;
  let id: string | undefined = "";
  while (id !== undefined && reader.pos < end) {
    if (!reader.tag()) id = undefined;
    else if (reader.field === 1 && reader.wire === LEN) {
      if (!reader.length()) id = undefined;
      else {
        id = reader.text(reader.pos, reader.pos + reader.lo);
        reader.pos += reader.lo;
      }
    } else if (!reader.skip(4)) id = undefined;
  }
  reader.pos = start;
  reader.end = outerEnd;
  return id;
}

export function indexOfReplacement(body: Bytes, from: number): number {
  return asBuffer(body).indexOf("\ufffd", from, "utf8");
}

/** design.md 15: the longest even run of [0-9a-f] that decodes is the data; what stands after it in plain bytes is read too. */
function salvage(body: Bytes, decodes: (inner: Bytes) => boolean): OuterAppend {
  // What stands in front of the first damage is sound.
  const sound = parse(body, indexOfReplacement(body, 0));
  const text = latin1(body);
  const run = sound.data.length > 0 ? undefined : longestRun(text, decodes);
  const data = sound.data.length > 0 ? fromHexText(sound.data) : { hexFault: null, inner: run?.inner ?? noBytes };
  const binary = text.charCodeAt(0) === 0x22;
  const from = run?.end ?? sound.at;
  const tail = readTail(text, from, sound.requestId);
  const won = data.inner.length > 0 && data.hexFault === null;
  return {
    requestId: tail.requestId,
    seqno: tail.seqno,
    seqnoFrom: tail.seqnoFrom,
    carrier: binary ? "binary" : won ? "hex" : "none",
    hexFault: null,
    inner: won ? data.inner : noBytes,
    evidence: won ? "salvaged" : "lossy-utf8",
    unknown: 0,
    fault: null,
  };
}

interface Run {
  readonly inner: Bytes;
  readonly end: number;
}

function longestRun(text: string, decodes: (inner: Bytes) => boolean): Run | undefined {
  const runs: { start: number; end: number }[] = [];
  for (const match of text.matchAll(/[0-9a-f]{2,}/g))
    runs.push({ start: match.index, end: match.index + match[0].length });
  runs.sort((a, b) => b.end - b.start - (a.end - a.start));
  for (const { start, end } of runs.slice(0, 8)) {
    // The last byte of the length in front may itself look like a hex digit.
    const from = (end - start) % 2 === 0 ? start : start + 1;
    const inner = Buffer.from(text.slice(from, end), "hex");
    if (decodes(inner)) return { inner, end };
  }
  return undefined;
}

interface Tail {
  readonly requestId: string;
  readonly seqno: number;
  readonly seqnoFrom: number;
}

/** `12 len 0a len <id> [18 <seqno>]` behind `from`; a number above 127 has lost all but its last seven bits' byte. */
function readTail(text: string, from: number, known: string): Tail {
  let requestId = known;
  let at = from;
  if (requestId === "") {
    const marker = text.indexOf("\x12", from);
    if (marker < 0 || text.charCodeAt(marker + 2) !== 0x0a) return { requestId: "", seqno: -1, seqnoFrom: -1 };
    const length = text.charCodeAt(marker + 3);
    requestId = text.slice(marker + 4, marker + 4 + length);
    if (requestId.length !== length || /[^\x21-\x7e]/.test(requestId))
      return { requestId: "", seqno: -1, seqnoFrom: -1 };
    at = marker + 4 + length;
  } else {
    const idAt = text.indexOf(requestId);
    if (idAt >= 0) at = idAt + requestId.length;
  }
  return { requestId, ...readSeqno(text, at) };
}

function readSeqno(text: string, at: number): { seqno: number; seqnoFrom: number } {
  if (at >= text.length || text[at] === '"') return { seqno: 0, seqnoFrom: -1 };
  if (text[at] !== "\x18") return { seqno: -1, seqnoFrom: -1 };
  const first = text.charCodeAt(at + 1);
  if (first < 0x80) return { seqno: first, seqnoFrom: -1 };
  const lost = text.startsWith("\xef\xbf\xbd", at + 1);
  const last = text.charCodeAt(at + (lost ? 4 : 2));
  if (lost) return { seqno: -1, seqnoFrom: last < 0x80 ? last * 128 : -1 };
  return { seqno: last < 0x80 ? (first & 0x7f) | (last << 7) : -1, seqnoFrom: -1 };
}
