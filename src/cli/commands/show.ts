/** `show CAPTURE PLACE`: finds the messages at a place; where there are none, the body bytes; where there are none, the packets. */
import { captureFormats, type Packet } from "../../capture/index.js";
import { keyLog } from "../../capture/keylog.js";
import { openSource } from "../../capture/source.js";
import { concat, keep } from "../../core/bytes.js";
import { CursorWireError } from "../../core/errors.js";
import { placeOf } from "../../core/mark.js";
import { inputNames, type Place, placeText } from "../../core/place.js";
import type { NeckEvent } from "../../model/exchange.js";
import type { FrameLine } from "../../model/message.js";
import type { Schemas } from "../../model/schema.js";
import { overlaps, parsePlace } from "../../report/parse-place.js";
import { type Shown, type ShownBytes, type ShownFrame, type ShownHead, showText } from "../../report/show.js";
import { showJson } from "../../report/show-json.js";
import { type Call, exitCodes } from "../call.js";
import { type Reading, readCapture, reading } from "../capture.js";
import { complain, nothingRead } from "../complain.js";
import { parseRaw } from "../options.js";
import { openOutput } from "../output.js";
import { redactorOf, viewOf } from "../view.js";

const framesShown = 12;
const packetsShown = 8;
/** Body bytes kept of one place. */
const bytesKept = 4 * 1024 * 1024;

export async function run(call: Call): Promise<number> {
  const text = call.args.at(-1);
  if (text === undefined || (call.args.length < 2 && call.options.raw === undefined)) {
    throw new CursorWireError(
      "usage.place",
      "show needs a capture and a place, as: show a.har 'a.har#7/response@0..90'",
    );
  }
  const from = await reading(call, call.args.slice(0, -1));
  const paths = [...from.paths, ...rawPaths(call)];
  const names = inputNames(paths);
  const wanted = parsePlace(text, names, paths);
  const redactor = redactorOf(call);
  const finder = new Finder(wanted, from.schemas, call.options.all ? Number.POSITIVE_INFINITY : framesShown);
  const analysis = readCapture(call, from, redactor, {
    frames: true,
    onEvent: (event) => {
      if (event.kind === "frame") finder.frame(event.frame);
    },
    onNeck: (event) => finder.neck(event),
  });
  try {
    const view = viewOf(call, redactor);
    const code = complain(call, analysis, view, { diagnosticsShown: true });
    if (nothingRead(analysis)) return code;
    const shown = finder.result(names);
    // A packet with a head in it would show the head's secrets, perhaps cut in two where nothing could find them.
    const found = shown.frames.length + shown.bytes.length + shown.heads.length > 0;
    const whole = found ? shown : { ...shown, bytes: packetBytes(from, wanted) };
    if (whole.frames.length + whole.bytes.length + whole.heads.length === 0) {
      call.io.err(`cursor-wire: nothing at ${placeText(wanted, names)}: no message, body or packet has that place\n`);
      return exitCodes.usage;
    }
    const output = openOutput(call.io, call.options.output, redactor, from.paths);
    for (const piece of call.options.format === "json" ? showJson(whole, view) : showText(whole, view))
      output.write(piece);
    output.close();
    return code;
  } finally {
    analysis.close();
  }
}

function rawPaths(call: Call): string[] {
  if (call.options.raw === undefined) return [];
  const { client, server } = parseRaw(call.options.raw);
  return [client, server];
}

class Finder {
  private readonly frames: ShownFrame[] = [];
  private readonly heads: ShownHead[] = [];
  private readonly pieces = new Map<string, { place: Place; title: string; parts: Uint8Array[]; held: number }>();
  private more = 0;

  constructor(
    private readonly wanted: Place,
    private readonly schemas: Schemas,
    private readonly most: number,
  ) {}

  frame(frame: FrameLine): void {
    if (!overlaps(this.wanted, frame.message.place)) return;
    if (this.frames.length >= this.most) {
      this.more++;
      return;
    }
    // The body is a view that the reader may use again.
    const body = keep(frame.message.body);
    const message = { ...frame.message, body };
    const decoded = frame.decoded === undefined ? undefined : keep(frame.decoded);
    const fields = this.schemas.has(frame.type) ? this.schemas.walk(frame.type, decoded ?? body) : [];
    const value = frame.value();
    const unknown = frame.unknown();
    const kept = { ...frame, message, ...(decoded === undefined ? {} : { decoded }) };
    this.frames.push({ frame: { ...kept, value: () => value, unknown: () => unknown }, value, fields });
  }

  neck(event: NeckEvent): void {
    switch (event.kind) {
      case "open": {
        const { exchange } = event;
        const place = placeOf(exchange.mark, "request");
        const { request } = exchange;
        if (request !== null && this.isHead(place)) {
          this.heads.push({ place, line: `${request.method} ${request.path}`, headers: request.headers });
        }
        return;
      }
      case "head": {
        const place = placeOf(event.mark, "response");
        if (this.isHead(place))
          this.heads.push({ place, line: `status ${event.head.status}`, headers: event.head.headers });
        return;
      }
      case "bytes":
      case "frame":
        this.bytes(event);
        return;
      default:
        return;
    }
  }

  /** Heads belong to a whole entry or packet, not to a range of bytes in a body. */
  private isHead(place: Place): boolean {
    return this.wanted.start === undefined && overlaps(this.wanted, place);
  }

  private bytes(event: Extract<NeckEvent, { kind: "bytes" | "frame" }>): void {
    const place = placeOf(event.mark, event.direction === "up" ? "request" : "response");
    if (!overlaps(this.wanted, place)) return;
    const key = `${event.exchange.id} ${event.direction}`;
    const title = `body bytes of exchange ${event.exchange.id}, as transferred`;
    const piece = this.pieces.get(key) ?? { place, title, parts: [], held: 0 };
    this.pieces.set(key, { ...piece, place: piece.place.through(place) });
    const kept = this.pieces.get(key)!;
    if (kept.held >= bytesKept) return;
    kept.parts.push(keep(event.bytes));
    kept.held += event.bytes.length;
  }

  result(names: readonly string[]): Shown {
    const { wanted, heads, frames, more } = this;
    const bytes = frames.length > 0 ? [] : [...this.pieces.values()].map((piece) => this.piece(piece));
    return { wanted, names, heads, frames, more, bytes: bytes.filter((piece) => piece.bytes.length > 0) };
  }

  /** Narrowed to the wanted range: for a HAR, and for a stream whose first piece is at the place, offsets are those of the body. */
  private piece(piece: { place: Place; title: string; parts: Uint8Array[] }): ShownBytes {
    const all = concat(piece.parts);
    const { start, end } = this.wanted;
    if (start === undefined || start >= all.length)
      return { title: piece.title, place: piece.place, bytes: all, base: 0 };
    const cut = all.subarray(start, Math.max(end ?? start, start + 1));
    return {
      title: piece.title,
      place: piece.place.within(piece.place.side, start, start + cut.length),
      bytes: cut,
      base: start,
    };
  }
}

/** The captured packets themselves, for places that lie below any protocol this tool reads. */
function packetBytes(from: Reading, wanted: Place): ShownBytes[] {
  const path = from.paths[wanted.input];
  if (path === undefined || path === "-") return [];
  const note = () => {};
  const source = openSource(path, { input: wanted.input, hash: false, limits: from.limits, note });
  const found: ShownBytes[] = [];
  try {
    const head = source.head();
    const format = captureFormats.find((candidate) => candidate.matches(head));
    if (format === undefined) return [];
    const context = { input: wanted.input, limits: from.limits, note, keys: keyLog(note) };
    for (const packet of format.read(source, context)) {
      if (packet.index > wanted.last || found.length >= packetsShown) break;
      if (packet.index >= wanted.first) found.push(packetShown(packet));
    }
  } finally {
    source.close();
  }
  return found;
}

function packetShown(packet: Packet): ShownBytes {
  const mark = {
    input: packet.input,
    first: packet.index,
    last: packet.index,
    when: { earliest: packet.at, latest: packet.at },
  };
  return { title: `packet, link type ${packet.linkType}`, place: placeOf(mark), bytes: keep(packet.bytes), base: 0 };
}
