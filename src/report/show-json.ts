/** `show --format json`. */
import { hex } from "../core/bytes.js";
import type { Printable } from "../core/printable.js";
import { type FramesContext, frameJson } from "./frames.js";
import { hiddenRanges } from "./hex-dump.js";
import { jsonText } from "./json-text.js";
import type { View } from "./report.js";
import { bytesOf, type Shown, type ShownFrame } from "./show.js";

export const showSchema = "cursor-wire/show@1";

export function* showJson(shown: Shown, view: View): Generator<string> {
  const context: FramesContext = { names: shown.names, view, conversations: new Map() };
  const json = { redactor: view.redactor, names: shown.names, maxBody: view.maxBody };
  yield `{"schema":"${showSchema}","place":${jsonText(shown.wanted, json)},\n"messages":[`;
  for (const [i, item] of shown.frames.entries()) {
    const frame = frameJson(item.frame, i + 1, context).trimEnd();
    yield `${i === 0 ? "\n" : ",\n"}${frame.slice(0, -1)},"envelope":${jsonText(envelope(item), json)},"fields":${jsonText(fields(item, view), json)}}`;
  }
  yield "],\n";
  // Bytes outside messages may hold anything: they are printed only where nothing is to be hidden.
  const bare = view.redactor.level === "none";
  const rows = shown.bytes.map((piece) => ({
    title: piece.title,
    place: piece.place,
    offset: piece.base,
    bytes: piece.bytes.length,
    hex: bare ? hex(piece.bytes) : null,
  }));
  yield `"bytes":${jsonText(rows, json)}}\n`;
}

function envelope(item: ShownFrame): Printable {
  const { message } = item.frame;
  return {
    framing: message.framing,
    ordinal: message.ordinal,
    headerBytes: message.headerBytes,
    wireBytes: message.wireBytes,
    declared: message.declared,
    codec: message.codec,
    evidence: message.evidence,
    fault: message.fault,
  };
}

function fields(item: ShownFrame, view: View): Printable {
  const { hidden } = hiddenRanges(bytesOf(item.frame), view.redactor.secrets());
  return item.fields.map((field) => ({
    path: field.path,
    name: field.name,
    wire: field.wire,
    start: field.start,
    valueStart: field.valueStart,
    end: field.end,
    depth: field.depth,
    ...(hidden?.subarray(field.valueStart, field.end).includes(1) ? { hidden: true } : {}),
  }));
}
