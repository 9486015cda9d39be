/**
 * One exchange on its way from the neck to a dialect: held back (bounded) until a dialect claims it, then framed and handed on.
 */
import { type Bytes, concat, keep, noBytes } from "../core/bytes.js";
import { placeOf } from "../core/mark.js";
import { type BodyReader, bodyReader } from "../decode/bodies.js";
import type { Dialect, Session, Sight } from "../model/dialect.js";
import type { Direction, Exchange, Headers, RequestHead, ResponseHead, StreamEvent } from "../model/exchange.js";
import type { Framing, SessionInput } from "../model/message.js";
import type { BodySummary, ExchangeRow } from "../model/report.js";
import { looksLike, unclaimedFraming } from "./looks.js";
import type { RouterContext } from "./router.js";

/** A score that only asks to be asked again: an exchange that never says more is nobody's. */
const tooEarly = 1;
/** Bytes of prefix a dialect sees, and bytes held back at the most before the best score so far decides. */
const prefixBytes = 4096;
const heldBytesLimit = 1024 * 1024;

export interface Claim {
  readonly dialect: Dialect;
  readonly session: Session;
}

type Held = Exclude<StreamEvent, { kind: "open" }>;

export class Route {
  private claim: Claim | null = null;
  private decided = false;
  private response: ResponseHead | null = null;
  private held: Held[] = [];
  private heldBytes = 0;
  private sawFrames = false;
  private readonly prefix: Record<Direction, Bytes> = { up: noBytes, down: noBytes };
  private readonly ended: Record<Direction, boolean> = { up: false, down: false };
  private readonly readers: { up: BodyReader | null; down: BodyReader | null } = { up: null, down: null };
  private messages = 0;
  private reason: ExchangeRow["end"] = "complete";

  constructor(
    private readonly exchange: Exchange,
    private readonly context: RouterContext,
  ) {
    this.ask();
  }

  /** Returns true when both directions are over and the route can be dropped. */
  push(event: Held): boolean {
    this.look(event);
    if (this.decided) this.pass(event);
    else {
      this.held.push(event);
      if (event.kind === "bytes" || event.kind === "frame") this.heldBytes += event.bytes.length;
      this.ask();
    }
    if (this.ended.up && this.ended.down) {
      this.decide(null);
      return true;
    }
    return false;
  }

  /** The input is over without both ends: whatever is held goes on. */
  close(): void {
    if (!this.ended.up || !this.ended.down) this.reason = "capture-ended";
    this.decide(null);
  }

  row(): ExchangeRow {
    const { exchange } = this;
    return {
      id: exchange.id,
      flow: exchange.flow.id,
      kind: exchange.kind,
      request: lean(exchange.request),
      status: this.response === null || this.response.status === 0 ? null : this.response.status,
      dialect: this.claim?.dialect.name ?? null,
      looks: looksLike(exchange, this.response, this.sawFrames),
      up: summaryOf(this.readers.up),
      down: summaryOf(this.readers.down),
      messages: this.messages,
      end: this.reason,
      opened: exchange.opened,
      place: placeOf(exchange.mark),
    };
  }

  private look(event: Held): void {
    switch (event.kind) {
      case "head":
        if (!event.informational) this.response = event.head;
        break;
      case "frame":
        this.sawFrames = true;
        this.see(event.direction, event.opcode < 8 ? event.bytes : noBytes);
        break;
      case "bytes":
        this.see(event.direction, event.bytes);
        break;
      case "end":
        this.ended[event.direction] = true;
        if (event.reason === "reset" || (event.reason === "capture-ended" && this.reason === "complete"))
          this.reason = event.reason;
        break;
      default:
        break;
    }
  }

  private see(direction: Direction, bytes: Bytes): void {
    const seen = this.prefix[direction];
    if (this.decided || seen.length >= prefixBytes || bytes.length === 0) return;
    const more = bytes.subarray(0, prefixBytes - seen.length);
    this.prefix[direction] = seen.length === 0 ? keep(more) : concat([seen, more]);
  }

  /** Asks every dialect with what is known by now, and decides when that is enough. */
  private ask(): void {
    if (this.decided) return;
    const sight: Sight = {
      exchange: this.exchange,
      response: this.response,
      up: this.prefix.up,
      down: this.prefix.down,
    };
    let best: Claim | null = null;
    let bestScore = 0;
    for (const candidate of this.context.candidates) {
      const score = candidate.dialect.recognise(sight);
      if (score > bestScore) {
        best = candidate;
        bestScore = score;
      }
    }
    if (bestScore >= 100 || this.seenEnough(bestScore)) this.decide(bestScore > tooEarly ? best : null);
  }

  private seenEnough(bestScore: number): boolean {
    if (this.heldBytes > heldBytesLimit) return true;
    const { up, down } = this.prefix;
    // A raw stream says nothing before its first bytes; for HTTP a zero at the request head is final.
    if (this.exchange.kind === "http" && bestScore === 0) return true;
    const upSeen = up.length > 0 || this.ended.up;
    const downSeen = down.length > 0 || this.ended.down;
    return (
      upSeen &&
      downSeen &&
      (this.exchange.kind !== "bytes" || up.length + down.length >= 64 || (this.ended.up && this.ended.down))
    );
  }

  private decide(claim: Claim | null): void {
    if (this.decided) return;
    this.decided = true;
    this.claim = claim ?? this.context.forced(this.exchange, this.sawFrames);
    this.hand({ kind: "open", exchange: this.exchange });
    const held = this.held;
    this.held = [];
    for (const event of held) this.pass(event);
  }

  private pass(event: Held): void {
    switch (event.kind) {
      case "head":
      case "trailers":
        this.hand(event);
        return;
      case "bytes":
      case "frame":
      case "gap":
        this.reader(event.direction).push(event);
        return;
      case "end":
        // The commonest answer has no body: nothing is framed then.
        if (event.direction === "down" && this.readers.down === null && !this.context.wantHashes) this.hand(event);
        else this.reader(event.direction).push(event);
        return;
    }
  }

  private hand(input: SessionInput): void {
    if (input.kind === "message") {
      this.messages++;
      const unclaimed = this.claim === null ? { looks: looksLike(this.exchange, this.response, this.sawFrames) } : null;
      this.context.message(input.message, unclaimed);
    }
    this.claim?.session.push(input);
  }

  private reader(direction: Direction): BodyReader {
    const existing = this.readers[direction];
    if (existing !== null) return existing;
    const made = bodyReader({
      exchange: this.exchange,
      direction,
      framing: this.framing(direction),
      headers: this.headers(direction),
      limits: this.context.limits,
      note: this.claim === null ? this.context.noteUnclaimed : this.context.note,
      hash: this.context.wantHashes,
      out: (input) => this.hand(input),
    });
    this.readers[direction] = made;
    return made;
  }

  private framing(direction: Direction): Framing {
    if (this.claim === null) return unclaimedFraming(this.exchange, direction, this.response, this.sawFrames);
    return this.claim.dialect.framing(this.exchange, direction, this.response);
  }

  private headers(direction: Direction): Headers {
    return (direction === "up" ? this.exchange.request?.headers : this.response?.headers) ?? [];
  }
}

const nothing: BodySummary = Object.freeze({ bytes: 0, sha256: null });

/** Most rows of a capture have no body on one side. */
function summaryOf(reader: BodyReader | null): BodySummary {
  const summary = reader?.summary();
  return summary === undefined || (summary.bytes === 0 && summary.sha256 === null) ? nothing : summary;
}

const heads = new Map<string, RequestHead>();
const headsKept = 4096;
const noHeaders: Headers = Object.freeze([]);

/** Rows outlive their exchange by the whole capture: no list of exchanges prints headers, and equal lines are kept once. */
function lean(request: RequestHead | null): RequestHead | null {
  if (request === null) return null;
  const { method, authority, scheme, path, version } = request;
  const key = [method, authority, scheme, path, version].join(" ");
  let head = heads.get(key);
  if (head === undefined) {
    // Texts of their own memory, not slices of a longer one.
    const own = (text: string) => Buffer.from(text, "utf8").toString("utf8");
    head = {
      method: own(method),
      authority: own(authority),
      scheme: own(scheme),
      path: own(path),
      version,
      headers: noHeaders,
    };
    if (heads.size < headsKept) heads.set(own(key), head);
  }
  return head;
}
