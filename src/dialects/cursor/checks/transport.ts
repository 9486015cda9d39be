/** Transport (protocols/cursor.md 5, T): how the downlink splits into envelopes and how it ends. */
import { privately } from "../../../core/printable.js";
import { count, plural } from "../format.js";
import type { StreamFault } from "../stream-faults.js";
import type { CursorTurn } from "../turn.js";
import { type CursorRule, frameName, type Judgement, noDownlink } from "./rule.js";

const family = "Transport";
const source = "protocols/cursor.md 5 T; Connect protocol, streaming RPCs";

/** Whether everything from the stream's beginning up to this frame is there. */
function damagedBefore(turn: CursorTurn, ordinal: number): boolean {
  return turn.call!.downlink.gaps.some((gap) => gap.after <= ordinal);
}

function* splits(turn: CursorTurn): Generator<Judgement> {
  const { downlink } = turn.call!;
  const ended = downlink.end?.reason;
  for (const fault of downlink.faults.stream.list) {
    if (fault.what !== "truncated" && fault.what !== "not-enveloped") continue;
    if (fault.what === "truncated" && ended !== "complete") {
      yield {
        why: ended === "reset" ? "the stream was reset inside an envelope" : "the capture ends inside an envelope",
      };
      continue;
    }
    yield {
      says: [splitText(fault)],
      places: [fault.place],
      subject: `frame ${fault.ordinal}`,
      // A bare body may be the recorder's work as well as the server's.
      damaged: fault.what === "not-enveloped" || damagedBefore(turn, fault.ordinal),
    };
  }
}

function splitText(fault: StreamFault): string {
  if (fault.what === "not-enveloped")
    return `the response is a bare message of ${plural(fault.got, "byte")} where envelopes are due`;
  return `${frameName(fault.ordinal)} is cut: its header promises ${plural(fault.declared, "byte")}, ${count(fault.got)} are there`;
}

function* reservedFlags(turn: CursorTurn): Generator<Judgement> {
  const { reserved } = turn.call!.downlink.faults;
  for (const frame of reserved.list) {
    yield {
      says: [
        `${frameName(frame.ordinal)} has flags 0x${frame.flags.toString(16).padStart(2, "0")}: bits 0xfc are reserved`,
      ],
      places: [frame.place],
      subject: `frame ${frame.ordinal}`,
      damaged: damagedBefore(turn, frame.ordinal),
    };
  }
}

function* oneEnd(turn: CursorTurn): Generator<Judgement> {
  const { call } = turn;
  const { ends, end } = call!.downlink;
  if (ends.length === 0) {
    if (end?.reason !== "complete" || turn.lost("down"))
      yield { why: "the capture does not hold the end of the stream" };
    else yield { why: "there is no EndStream at all (cursor/T07)" };
    return;
  }
  // Every poll is a stream of its own.
  const due = call!.channel === "RunPoll" ? call!.polls : 1;
  if (ends.length <= due) return;
  yield {
    says: [`${count(ends.length)} EndStream envelopes, ${due === 1 ? "one is" : `${due} are`} due`],
    places: ends.map(({ place }) => place),
    subject: "EndStream",
  };
}

function* endIsLast(turn: CursorTurn): Generator<Judgement> {
  const { call } = turn;
  const first = call!.downlink.ends[0];
  if (first === undefined) {
    yield { why: "no EndStream was seen" };
    return;
  }
  if (call!.channel === "RunPoll") return;
  const after = turn.down.filter((item) => item.first > first.ordinal);
  if (after.length === 0) return;
  const messages = after.reduce((sum, item) => sum + item.count, 0);
  yield {
    says: [
      `${plural(messages, "frame")} after EndStream (${frameName(first.ordinal)}), the first is ${after[0]!.kind}`,
    ],
    places: [first.place, after[0]!.place],
    subject: "EndStream",
  };
}

function* endPresent(turn: CursorTurn): Generator<Judgement> {
  const { downlink } = turn.call!;
  if (downlink.ends.length > 0) return;
  const reason = downlink.end?.reason;
  if (reason !== "complete") {
    yield { why: reason === "reset" ? "the stream was reset" : "the capture ends before the stream does" };
    return;
  }
  const bare = downlink.faults.stream.list.some((fault) => fault.what === "not-enveloped");
  yield {
    says: [`the body ended after ${plural(downlink.frames.total, "frame")} without EndStream`],
    places: [turn.down.at(-1)?.place ?? turn.call!.place],
    subject: "EndStream",
    damaged: bare || turn.lost("down"),
  };
}

function* endPayload(turn: CursorTurn): Generator<Judgement> {
  const { ends } = turn.call!.downlink;
  if (ends.length === 0) yield { why: "no EndStream was seen" };
  for (const { end, place, ordinal } of ends) {
    for (const issue of end.issues)
      yield {
        says: ["EndStream: ", privately(issue)],
        places: [place],
        subject: "EndStream",
        damaged: damagedBefore(turn, ordinal),
      };
  }
}

function* compression(turn: CursorTurn): Generator<Judgement> {
  const call = turn.call!;
  const { faults } = call.downlink;
  const codec = call.responseCodec;
  const named = codec === "" ? "names none" : `names ${codec}`;
  for (const fault of faults.stream.list) {
    if (fault.what !== "no-codec" && fault.what !== "bad-compression") continue;
    const wrong =
      fault.what === "no-codec"
        ? `and Connect-Content-Encoding ${named}`
        : `and does not decompress (${codec || "no codec"})`;
    yield {
      says: [`${frameName(fault.ordinal)} is marked as compressed ${wrong}`],
      places: [fault.place],
      subject: `frame ${fault.ordinal}`,
      // A head that refers to what was sent before the capture began may have named it.
      damaged: damagedBefore(turn, fault.ordinal) || turn.services.captureLost,
    };
  }
}

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family,
  class: "check",
  implies: [],
  source,
  ...data,
});

export const transportRules: readonly CursorRule[] = [
  rule({
    id: "cursor/T03",
    severity: "error",
    statement: "The response splits exactly into envelopes: no cut header, no cut payload, no bytes left over.",
    why: "Everything behind a wrong length is read as garbage; the client fails the whole call.",
    needs: "the response body up to its end",
    good: "00 00000004 0a026a00, then 02 00000002 7b7d, then the end of the body",
    bad: "00 00000010 and only four bytes behind it",
    remedy: "write the payload's length (big-endian, without the five header bytes) and flush whole envelopes",
    gate: noDownlink,
    turn: splits,
  }),
  rule({
    id: "cursor/T04",
    severity: "error",
    statement: "Envelope flags use bits 0x01 and 0x02 only.",
    why: "0x80 would be a gRPC-Web trailer frame, which is another protocol; clients reject what they do not know.",
    needs: "the response's envelopes",
    good: "00, 01, 02 or 03 in front of the length",
    bad: "80 00000010 …",
    remedy: "set no other bits; trailers travel inside the EndStream JSON",
    gate: noDownlink,
    turn: reservedFlags,
  }),
  rule({
    id: "cursor/T05",
    severity: "error",
    statement: "The response has exactly one EndStream envelope.",
    why: "The client fails the call with an extra EndStreamResponse.",
    needs: "the response up to its end",
    implies: ["cursor/T06"],
    good: "… 02 00000002 7b7d",
    bad: "… 02 00000002 7b7d 02 00000002 7b7d",
    remedy: "end the stream once, on every path of the handler",
    gate: noDownlink,
    turn: oneEnd,
  }),
  rule({
    id: "cursor/T06",
    severity: "error",
    statement: "EndStream is the last envelope.",
    why: "The client fails the call with an extra message after EndStreamResponse.",
    needs: "the response up to its EndStream",
    good: "checkpoint, then EndStream",
    bad: "EndStream, then a late heartbeat",
    remedy: "stop heartbeats and writers before the EndStream is written",
    gate: noDownlink,
    turn: endIsLast,
  }),
  rule({
    id: "cursor/T07",
    severity: "error",
    statement: "A body that ends normally ends with EndStream.",
    why: "Without it the client takes the run for a lost connection and tries it again.",
    needs: "the end of the HTTP body",
    good: "the chunked body ends after the EndStream envelope",
    bad: "the chunked body ends after a checkpoint",
    remedy:
      "write EndStream (flags 0x02, payload {}) before closing the response; the reference client retries without it",
    gate: noDownlink,
    turn: endPresent,
  }),
  rule({
    id: "cursor/T08",
    severity: "error",
    statement:
      "The EndStream payload is a JSON object; metadata values are arrays of strings; error.code is one of the 16 codes.",
    why: "It is JSON even where the messages are protobuf; an unknown code is read as `unknown`, so that retries go wrong.",
    needs: "an EndStream envelope",
    good: '{"error":{"code":"unavailable","message":"…"}}',
    bad: '{"error":{"code":"UNAVAILABLE"}}',
    remedy: "use the snake_case names: canceled, unknown, invalid_argument, deadline_exceeded, …",
    gate: noDownlink,
    turn: endPayload,
  }),
  rule({
    id: "cursor/T09",
    severity: "error",
    statement:
      "Flag 0x01 stands only where Connect-Content-Encoding names a codec, and the payload decompresses with it.",
    why: "The flag says that this payload is compressed, the header says how; the client fails the call otherwise.",
    needs: "the response's head and envelopes",
    good: "Connect-Content-Encoding: gzip, 01 … and a gzip payload",
    bad: "no such header, and 01 in front of a plain payload",
    remedy: "name the codec in the response head, or send the payload plain with flag 0x00",
    gate: noDownlink,
    turn: compression,
  }),
];
