/** Transport (protocols/cursor.md 5, T): methods, types, ids and the messages inside the frames. */
import { Recent } from "../../../core/recent.js";
import { count, plural } from "../format.js";
import type { AppendFacts, UpItem } from "../model.js";
import type { FrameNote } from "../stream-faults.js";
import type { CursorTurn } from "../turn.js";
import { examples, isMangled, type Judgement, noDownlink } from "./rule.js";

interface Append {
  readonly item: UpItem;
  readonly append: AppendFacts;
}

const appends = new Recent<readonly UpItem[], readonly Append[]>(2);

function appendsOf({ uplink }: CursorTurn): readonly Append[] {
  const known = appends.get(uplink);
  if (known !== undefined) return known;
  const found: Append[] = [];
  for (const item of uplink) if (item.append !== null) found.push({ item, append: item.append });
  return appends.set(uplink, found);
}

const appendName = ({ item }: Append): string => `seqno ${item.seqno}`;

export function* posted(turn: CursorTurn): Generator<Judgement> {
  const { call } = turn;
  const appends = appendsOf(turn);
  if (call === null && appends.length === 0) yield { why: "no call of this request is in the capture" };
  if (call !== null && call.method !== "" && call.method !== "POST") {
    yield { says: [`${call.channel} was called with ${call.method}`], places: [call.place], subject: call.channel };
  }
  if (call !== null && call.status !== null && call.status !== 200) {
    yield {
      says: [`${call.channel} answered with HTTP status ${call.status}; failures belong into EndStream`],
      places: [call.place],
      subject: "status",
    };
  }
  for (const each of appends) {
    if (each.append.method === "" || each.append.method === "POST") continue;
    yield {
      says: [`append ${each.item.seqno} was called with ${each.append.method}`],
      places: [each.item.place],
      subject: appendName(each),
    };
  }
}

const streamRequest = new Set(["application/connect+proto", "application/connect+json"]);
const streamResponse = new Set(["text/event-stream", "application/connect+proto", "application/connect+json"]);
const unary = new Set(["application/proto", "application/json"]);

export function* typed(turn: CursorTurn): Generator<Judgement> {
  const { call } = turn;
  const appends = appendsOf(turn);
  if (call === null && appends.length === 0) yield { why: "no call of this request is in the capture" };
  const wrong = (type: string, known: ReadonlySet<string>) => type !== "" && !known.has(type);
  if (call !== null && wrong(call.requestType, streamRequest)) {
    yield {
      says: [`the ${call.channel} request has the content type ${call.requestType}`],
      places: [call.place],
      subject: "request type",
    };
  }
  if (call !== null && call.httpError === null && call.status === 200 && wrong(call.responseType, streamResponse)) {
    yield {
      says: [`the ${call.channel} response has the content type ${call.responseType}`],
      places: [call.place],
      subject: "response type",
    };
  }
  for (const each of appends) {
    const { requestType, responseType, status } = each.append;
    const response = status === 200 && wrong(responseType, unary);
    if (!response && !wrong(requestType, unary)) continue;
    yield {
      says: [
        `append ${each.item.seqno}: the ${response ? "response" : "request"} has the content type ${response ? responseType : requestType}`,
      ],
      places: [each.item.place],
      subject: appendName(each),
    };
  }
}

export function* plainWhenShort(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  const { shortCompressed, compressed } = turn.call?.downlink.faults ?? {
    shortCompressed: { list: [], count: 0 },
    compressed: 0,
  };
  if (why !== undefined || compressed === 0) yield { why: why ?? "no frame is compressed" };
  if (shortCompressed.count === 0) return;
  yield {
    says: [`${plural(shortCompressed.count, "frame")} under 1,024 bytes came compressed`],
    places: shortCompressed.list.slice(0, 3).map((frame) => frame.place),
    subject: "short frames",
  };
}

export function* oneRequestId(turn: CursorTurn): Generator<Judgement> {
  const { call } = turn;
  if (call === null || call.channel !== "RunSSE" || call.upGaps.length > 0) {
    yield {
      why:
        call === null
          ? "the downlink of this request is not in the capture"
          : call.channel === "RunSSE"
            ? "the request body is damaged"
            : `a ${call.channel} request is no RunSSE request`,
    };
    return;
  }
  if (call.requestFrames === 0 && call.bodyIds.length === 0 && turn.lost("up")) {
    yield { why: "the request body is not in the capture" };
    return;
  }
  const ids = call.bodyIds.filter((id) => id !== "");
  if (call.requestFrames === 1 && call.requestEnds === 0 && ids.length === 1) return;
  const what =
    call.requestEnds > 0
      ? "an EndStream"
      : call.requestFrames === 1
        ? "no request id"
        : `${plural(call.requestFrames, "envelope")}`;
  yield {
    says: [`the RunSSE request holds ${what}: exactly one envelope with a BidiRequestId is due`],
    places: [call.place],
    subject: "request",
    damaged: turn.lost("up"),
  };
}

export function* sameId(turn: CursorTurn): Generator<Judgement> {
  let seen = 0;
  const { call } = turn;
  const bodyId = call?.bodyIds[0] ?? "";
  if (call !== null && call.headerId !== "" && bodyId !== "") {
    seen++;
    if (call.headerId !== bodyId)
      yield {
        says: [`${call.channel}: x-request-id and the body name different requests`],
        places: [call.place],
        subject: call.channel,
      };
  }
  for (const each of appendsOf(turn)) {
    if (each.append.headerId === "" || each.append.bodyId === "") continue;
    seen++;
    if (each.append.headerId === each.append.bodyId) continue;
    yield {
      says: [`append ${each.item.seqno}: x-request-id and the body name different requests`],
      places: [each.item.place],
      subject: appendName(each),
      damaged: isMangled(each.item),
    };
  }
  if (seen === 0) yield { why: "no call has both the header and the body's id" };
}

export function* emptyAnswers(turn: CursorTurn): Generator<Judgement> {
  const answered = appendsOf(turn).filter(({ append }) => append.status === 200 && !append.responseLost);
  if (answered.length === 0) yield { why: "no append was answered in the capture" };
  for (const each of answered) {
    if (each.append.responseBytes === 0) continue;
    yield {
      says: [
        `append ${each.item.seqno} is answered with ${plural(each.append.responseBytes, "byte")}: BidiAppendResponse has no fields`,
      ],
      places: [each.item.place],
      subject: appendName(each),
    };
  }
}

export function* decodes(turn: CursorTurn): Generator<Judgement> {
  const faults = turn.call?.downlink.faults ?? null;
  if (faults === null && turn.uplink.length === 0) yield { why: "no message of this request is in the capture" };
  for (const fault of faults?.decoding.list ?? []) {
    const first = fault.faults[0]!;
    const soft = fault.faults.every(({ what }) => what === "bad-utf8");
    yield {
      says: [
        `frame ${fault.ordinal} (${fault.kind}): ${first.what} at byte ${count(first.offset)} of the message`,
        ...pathOf(first.path),
      ],
      places: [fault.place],
      subject: `frame ${fault.ordinal}`,
      damaged: turn.call!.downlink.gaps.some((gap) => gap.after <= fault.ordinal),
      ...(soft ? { severity: "warning" as const } : {}),
    };
  }
  for (const item of turn.uplink) {
    const first = item.faults[0];
    if (first === undefined) continue;
    const soft = item.faults.every(({ what }) => what === "bad-utf8");
    yield {
      says: [
        `append ${item.seqno} (${item.kind}): ${first.what} at byte ${count(first.offset)} of the message`,
        ...pathOf(first.path),
      ],
      places: [item.place],
      subject: `seqno ${item.seqno}`,
      damaged: isMangled(item) || turn.lost("up"),
      ...(soft ? { severity: "warning" as const } : {}),
    };
  }
  yield* unknownFields(turn, faults?.unknown.list ?? []);
}

const pathOf = (path: string): readonly string[] => (path === "" ? [] : [` (${path})`]);

function* unknownFields(turn: CursorTurn, frames: readonly FrameNote[]): Generator<Judgement> {
  const items = turn.uplink.filter((item) => item.unknownFields > 0);
  if (frames.length === 0 && items.length === 0) return;
  const total = turn.call?.downlink.faults.unknown.count ?? 0;
  yield {
    says: [`${plural(total + items.length, "message")} with fields that the schema does not have: a newer protocol`],
    places: [...frames.slice(0, 2).map((frame) => frame.place), ...items.slice(0, 2).map((item) => item.place)],
    subject: "unknown fields",
    severity: "info",
    remedy: "see them with `cursor-wire frames --format ndjson`, or give a newer schema with --descriptors or --proto",
  };
}

export function* oneBranch(turn: CursorTurn): Generator<Judgement> {
  const faults = turn.call?.downlink.faults ?? null;
  if (faults === null && turn.uplink.length === 0) yield { why: "no message of this request is in the capture" };
  for (const frame of faults?.branches.list ?? []) {
    yield {
      ...branchFault(`frame ${frame.ordinal}`, frame.kind, frame.count),
      places: [frame.place],
      damaged: turn.lost("down"),
    };
  }
  for (const item of turn.uplink) {
    if (item.branches === 1 && !item.kind.startsWith("unknown:")) continue;
    if (item.faults.length > 0 || item.kind === "undecodable") continue;
    yield {
      ...branchFault(`append ${item.seqno}`, item.kind, item.branches),
      places: [item.place],
      damaged: isMangled(item) || turn.lost("up"),
    };
  }
}

function branchFault(what: string, kind: string, branches: number) {
  const unknown = kind.startsWith("unknown:");
  return {
    says: [
      unknown
        ? `${what} has the branch ${kind.slice(8)}, which the schema does not have: a newer protocol`
        : `${what} sets ${branches === 0 ? "no branch" : plural(branches, "branch", "branches")} of its oneof`,
    ],
    subject: what,
    ...(unknown ? { severity: "warning" as const } : {}),
  };
}

/** Deadline of an append: 60 s and one second for each 128 KiB on the wire (1.7 item 6). */
function deadlineMs(item: UpItem): number {
  const wireBytes = item.encoding === "hex" ? item.bytes * 2 : item.bytes;
  return 60_000 + Math.ceil((wireBytes / 131_072) * 1000);
}

export function* deadline(turn: CursorTurn): Generator<Judgement> {
  const timed = appendsOf(turn).filter(({ append }) => append.timeoutMs !== null);
  if (timed.length === 0) yield { why: "no append has Connect-Timeout-Ms" };
  for (const each of timed) {
    const most = deadlineMs(each.item);
    if (each.append.timeoutMs! <= most || isMangled(each.item)) continue;
    yield {
      says: [
        `append ${each.item.seqno} has Connect-Timeout-Ms ${count(each.append.timeoutMs!)}, at most ${count(most)} is due`,
      ],
      places: [each.item.place],
      subject: appendName(each),
    };
  }
}

export function* noBareJson(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  if (why !== undefined) yield { why };
  for (const frame of turn.call?.downlink.faults.jsonText.list ?? []) {
    yield {
      says: [
        `frame ${frame.ordinal} has flags 0x00 and holds ${plural(frame.bytes, "byte")} of JSON text: an error sent with the wrong flag`,
      ],
      places: [frame.place],
      subject: `frame ${frame.ordinal}`,
    };
  }
}

export function* binaryClean(turn: CursorTurn): Generator<Judgement> {
  const lossy = turn.loss.filter((loss) => loss.why === "lossy-utf8").map((loss) => loss.direction);
  const salvaged = turn.recovered.includes("salvaged");
  if (lossy.length === 0 && !salvaged) return;
  const what = lossy.length === 2 ? "both directions" : lossy[0] === "down" ? "the response" : "request bodies";
  yield {
    says: [
      `the recorder wrote ${what} as text: bytes were replaced by U+FFFD${lossy.length === 0 ? ", and what they said was won back" : ""}`,
    ],
    places: [turn.place],
    subject: `lossy ${lossy.length === 0 ? "up" : examples(lossy)}`,
    damaged: true,
    remedy: "record again with a tool that keeps bodies as base64 (mitmproxy, HTTP Toolkit), or capture packets",
  };
}
