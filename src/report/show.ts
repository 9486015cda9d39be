/** `show`: one place with its hex, envelope, fields and meaning. */
import type { Bytes } from "../core/bytes.js";
import { type Place, placeText } from "../core/place.js";
import { type Printable, Sensitive } from "../core/printable.js";
import { isExact, isKnown, isoTime } from "../core/time.js";
import type { Headers } from "../model/exchange.js";
import type { FrameLine } from "../model/message.js";
import type { WireField } from "../model/schema.js";
import { isSecretHeader } from "../model/secret-headers.js";
import { padEnd, padStart, wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { hexLines, hiddenRanges } from "./hex-dump.js";
import { jsonText } from "./json-text.js";
import { byteCount, count, many } from "./numbers.js";
import type { View } from "./report.js";
import { urlText } from "./url.js";
import { plain } from "./words.js";

export interface ShownFrame {
  readonly frame: FrameLine;
  readonly value: Printable;
  readonly fields: readonly WireField[];
}

/** Bytes of a place that no message holds. */
export interface ShownBytes {
  readonly title: string;
  readonly place: Place;
  readonly bytes: Bytes;
  /** Offset of the first byte in what `title` names. */
  readonly base: number;
}

export interface ShownHead {
  readonly place: Place;
  /** "POST /path", "200" */
  readonly line: string;
  readonly headers: Headers;
}

export interface Shown {
  readonly wanted: Place;
  readonly names: readonly string[];
  readonly heads: readonly ShownHead[];
  readonly frames: readonly ShownFrame[];
  readonly bytes: readonly ShownBytes[];
  /** Frames of the place beyond those listed. */
  readonly more: number;
}

const hexBytesShown = 1024;
const fieldsShown = 200;
const valueChars = 4000;

export function* showText(shown: Shown, view: View): Generator<string> {
  for (const line of lines(shown, view)) yield `${line}\n`;
}

function* lines(shown: Shown, view: View): Generator<string> {
  for (const head of shown.heads) yield* headLines(head, shown, view);
  for (const frame of shown.frames) yield* frameLines(frame, shown, view);
  if (shown.more > 0) yield `… ${many(shown.more, "more message")} at this place (--all shows them)\n`;
  for (const piece of shown.bytes) yield* pieceLines(piece, shown, view);
}

function* headLines(head: ShownHead, shown: Shown, view: View): Generator<string> {
  const place = terminal(placeText(head.place, shown.names));
  const line = head.line.replace(/\S*[?#]\S*/, (path) => urlText(path, view.redactor));
  yield `${view.paint.strong(place)}  ${terminal(view.redactor.scrub(line))}`;
  for (const { name, value } of head.headers) {
    const hidden = isSecretHeader(name) && view.redactor.hides("secret");
    const text = hidden ? view.redactor.mark(value) : terminal(view.redactor.scrub(value));
    yield `  ${view.paint.dim(`${terminal(name)}:`)} ${text}`;
  }
  yield "";
}

function* frameLines(item: ShownFrame, shown: Shown, view: View): Generator<string> {
  const { frame } = item;
  const { message } = frame;
  const arrow = message.direction === "up" ? "↑" : "↓";
  yield `${view.paint.strong(terminal(placeText(message.place, shown.names)))}  ${arrow} ${terminal(frame.channel)} ${view.paint.name(terminal(frame.kind))}`;
  for (const [name, text] of facts(item, view)) {
    for (const [i, line] of wrap(terminal(view.redactor.scrub(text)), view.width - 12).entries())
      yield `  ${view.paint.dim(padEnd(i === 0 ? name : "", 9))} ${line}`;
  }
  yield* bodyLines(item, shown, view);
  const text = terminal(jsonText(item.value, { redactor: view.redactor, names: shown.names, maxBody: view.maxBody }));
  const cut = view.all || text.length <= valueChars ? text : `${text.slice(0, valueChars)}… (--all shows the rest)`;
  yield `  ${view.paint.dim("message")}`;
  for (const line of wrap(cut, view.width - 4)) yield `    ${line}`;
  yield "";
}

function facts(item: ShownFrame, view: View): [string, string][] {
  const { frame } = item;
  const { message } = frame;
  const { when } = message.mark;
  const rows: [string, string][] = [];
  const ids = [
    frame.requestId === null ? "" : `request ${frame.requestId}`,
    frame.conversationId === null ? "" : `conversation ${frame.conversationId}`,
  ].filter((id) => id !== "");
  rows.push(["belongs", [frame.dialect, ...ids].join(" · ")]);
  if (isKnown(when)) {
    const time = isExact(when) ? isoTime(when.latest) : `between ${isoTime(when.earliest)} and ${isoTime(when.latest)}`;
    rows.push(["time", time]);
  }
  rows.push([message.framing === "whole-body" ? "body" : "envelope", envelopeText(item)]);
  rows.push(["type", frame.type]);
  const says = plain(frame.says, view.redactor);
  if (says !== "") rows.push(["says", says]);
  if (message.evidence !== "exact") rows.push(["evidence", message.evidence]);
  if (message.fault !== null) rows.push(["fault", message.fault]);
  return rows;
}

function envelopeText(item: ShownFrame): string {
  const { message } = item.frame;
  const parts = [
    message.flags >= 0 ? `flags ${message.flags}` : "",
    message.headerBytes > 0 ? `${byteCount(message.headerBytes)} header` : "",
    `${byteCount(message.wireBytes)} payload`,
    message.declared !== message.wireBytes ? `${byteCount(message.declared)} declared` : "",
    message.codec === null ? "" : `${byteCount(message.body.length)} after ${message.codec}`,
    `message ${message.ordinal + 1} of its direction`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function* bodyLines(item: ShownFrame, shown: Shown, view: View): Generator<string> {
  const { message } = item.frame;
  const body = bytesOf(item.frame);
  if (body.length === 0) return;
  if (view.redactor.hides("private")) {
    yield `  ${view.paint.dim(`${byteCount(body.length)} of content not shown (--redact private)`)}`;
    return;
  }
  const own = hiddenRanges(body, secretsOf(item.value, view));
  const { unseen } = own;
  const hidden = either(own.hidden, hiddenRanges(body, view.redactor.secrets()).hidden);
  yield* fieldLines(item, hidden, shown.wanted, view);
  if (unseen > 0) {
    yield `  ${view.paint.dim("bytes not shown: they hold a secret in a form that could not be located (--no-redact shows them)")}`;
    return;
  }
  const compressed = message.codec === null ? "" : ` after ${message.codec}`;
  const which = item.frame.decoded === undefined ? "message" : "inner message";
  yield `  ${view.paint.dim(`bytes of the ${which}${compressed}`)}`;
  const cut = view.all ? body : body.subarray(0, hexBytesShown);
  for (const line of hexLines(cut, { base: 0, perLine: perLine(view), hidden })) yield `    ${line}`;
  if (cut.length < body.length)
    yield `    ${view.paint.dim(`… ${byteCount(body.length - cut.length)} more (--all shows them)`)}`;
}

/** The bytes that the frame's type describes. */
export function bytesOf(frame: FrameLine): Bytes {
  return frame.decoded ?? frame.message.body;
}

function either(a: Uint8Array | null, b: Uint8Array | null): Uint8Array | null {
  if (a === null || b === null) return a ?? b;
  return a.map((mark, i) => mark | b[i]!);
}

function perLine(view: View): number {
  return view.width >= 78 ? 16 : 8;
}

/** Texts and bytes of the value that must stay hidden. */
function secretsOf(value: Printable, view: View): (string | Bytes)[] {
  const found: (string | Bytes)[] = [];
  const walk = (item: Printable | undefined, secret: boolean) => {
    if (item instanceof Sensitive) walk(item.value, secret || view.redactor.hides(item.sensitivity));
    else if (typeof item === "string" || item instanceof Uint8Array) {
      if (secret) found.push(item);
    } else if (typeof item === "object" && item !== null)
      for (const inner of Object.values(item)) walk(inner as Printable, secret);
  };
  walk(value, false);
  return found;
}

function* fieldLines(item: ShownFrame, hidden: Uint8Array | null, wanted: Place, view: View): Generator<string> {
  if (item.fields.length === 0) return;
  const { message } = item.frame;
  yield `  ${view.paint.dim("fields (offset, number path, name)")}`;
  const shown = view.all ? item.fields : item.fields.slice(0, fieldsShown);
  const path = Math.min(20, Math.max(...shown.map((field) => field.path.length)));
  // Offsets in the body are offsets in the message only where nothing was decompressed.
  const inPlace = message.codec === null && item.frame.decoded === undefined;
  const shift = inPlace && message.place.start !== undefined ? message.place.start + message.headerBytes : null;
  for (const field of shown) {
    const isHidden = hidden?.subarray(field.valueStart, field.end).includes(1) ?? false;
    const says = isHidden ? "«redacted»" : terminal(view.redactor.scrub(field.says));
    const at = padStart(field.start.toString(16).padStart(4, "0"), 6);
    const name = `${"  ".repeat(Math.min(field.depth, 10))}${terminal(field.name ?? "?")}`;
    const mark = shift !== null && isWanted(field, shift, wanted) ? view.paint.warn("▸") : " ";
    const size = `${count(field.end - field.valueStart)} B`;
    const lead = ` ${mark} ${at}  ${padEnd(field.path, path)}  ${name}  `;
    const room = Math.max(20, view.width - lead.length - size.length - 2);
    yield `${lead}${view.paint.dim(size)}  ${says.length > room ? `${says.slice(0, room - 1)}…` : says}`;
  }
  if (shown.length < item.fields.length)
    yield `    ${view.paint.dim(`… ${many(item.fields.length - shown.length, "more field")} (--all shows them)`)}`;
}

function isWanted(field: WireField, shift: number, wanted: Place): boolean {
  if (wanted.start === undefined) return false;
  const end = wanted.end ?? wanted.start;
  return field.start + shift < Math.max(end, wanted.start + 1) && field.end + shift > wanted.start;
}

function* pieceLines(piece: ShownBytes, shown: Shown, view: View): Generator<string> {
  yield `${view.paint.strong(terminal(placeText(piece.place, shown.names)))}  ${terminal(piece.title)}, ${byteCount(piece.bytes.length)}`;
  if (view.redactor.hides("private")) {
    yield `  ${view.paint.dim("content not shown (--redact private)")}`;
    return;
  }
  const { hidden } = hiddenRanges(piece.bytes, view.redactor.secrets());
  const cut = view.all ? piece.bytes : piece.bytes.subarray(0, hexBytesShown);
  for (const line of hexLines(cut, { base: piece.base, perLine: perLine(view), hidden })) yield `  ${line}`;
  if (cut.length < piece.bytes.length)
    yield `  ${view.paint.dim(`… ${byteCount(piece.bytes.length - cut.length)} more (--all shows them)`)}`;
  yield "";
}
