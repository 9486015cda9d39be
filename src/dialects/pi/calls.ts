/** Requests, cancels and responses as they come: records for the rules, words for the reader. The pi page, sections 6 to 8. */
import type { Words } from "../../core/printable.js";
import { isExact, isKnown, millisBetween } from "../../core/time.js";
import type { CborValue } from "../../decode/cbor.js";
import { type Call, type ControlCall, controlCall, controlService, isFault, type Reading, readCall } from "./chord.js";
import type { Connection } from "./connection.js";
import type { Envelope } from "./envelope.js";
import type { Expectation, Point, RequestFact } from "./facts.js";
import { sayCall, sayCatalogue, sayError, sayResult } from "./say.js";
import type { Told } from "./show.js";
import type { TurnDraft } from "./turn-draft.js";

type RequestEnvelope = Extract<Envelope, { type: "request" }>;
type ResponseEnvelope = Extract<Envelope, { type: "response" }>;

/** Shared by all requests until one is cancelled. */
const noCancels: Point[] = [];

export class Calls {
  constructor(private readonly connection: Connection) {}

  request(envelope: RequestEnvelope, at: Point): Told {
    const call = readCall(envelope.call);
    const fact = this.record(envelope, call, at);
    this.connection.requests.open(fact);
    fact.home.requests.push(fact);
    this.connection.subscriptions.asked(fact);
    const says: Words = isFault(call)
      ? [`a call outside the grammar: ${call.path} ${call.says}`]
      : sayCall(call, fact.control);
    return { home: fact.home, kind: "request", lane: "control", says, pair: this.pair(fact, null, at) };
  }

  cancel(envelope: Extract<Envelope, { type: "cancel" }>, at: Point): Told {
    const outcome = this.connection.requests.cancel(envelope.id, envelope.target, at);
    const { request, why } = outcome;
    const home = request?.home ?? this.connection.own;
    if (why !== null) {
      this.connection.note({ what: "stray-cancel", id: envelope.id, why, crossing: outcome.crossing }, at, home);
    }
    const says: Words = request === null ? [`${envelope.id}, which nobody asked`] : [describe(request)];
    return { home, kind: "cancel", lane: "control", says };
  }

  response(envelope: ResponseEnvelope, at: Point): Told {
    const { requests, subscriptions } = this.connection;
    const error = envelope.ok ? null : envelope.error;
    const request = requests.answer(envelope.id, error, at);
    if (request === null) {
      const answered = requests.lastAnswered(envelope.id);
      const home = answered?.home ?? this.connection.own;
      this.connection.note({ what: "stray-response", id: envelope.id, answered }, at, home);
      return { home, kind: "response", lane: "control", says: [`to ${envelope.id}, which is not open`] };
    }
    const extra = subscriptions.answered(request, envelope.ok ? envelope.result : undefined, at);
    const says = envelope.ok ? okWords(request, envelope.result, extra) : sayError(describe(request), envelope.error);
    return {
      home: request.home,
      kind: "response",
      lane: "control",
      says,
      pair: this.pair(request, error?.code ?? "ok", at),
    };
  }

  private record(envelope: RequestEnvelope, reading: Reading<Call>, at: Point): RequestFact {
    const { connection } = this;
    const call = isFault(reading) ? null : reading;
    const { id, target } = envelope;
    const control = call === null ? null : controlCall(call);
    const route = connection.attachments.route(target, at);
    const { serverId, requests, subscriptions } = connection;
    const wrongServer = serverId !== null && target.serverId !== serverId ? serverId : null;
    const draft = {
      id,
      target,
      service: call?.serviceId ?? null,
      member: call?.member ?? null,
      control,
      badControl: call?.serviceId === controlService && control === null,
      callFault: isFault(reading) ? reading : null,
      at,
      home: this.homeOf(envelope),
      duplicate: requests.isLive(id),
      reused: !requests.isLive(id) && requests.wasAnswered(id),
      route,
      wrongServer,
      clash: control?.kind === "subscribe" && subscriptions.isTaken(control.subscriptionId),
      idle: control?.kind === "unsubscribe" && !subscriptions.isTaken(control.subscriptionId),
      cancels: noCancels,
      answer: null,
    };
    return { ...draft, expected: expectation(draft, call === null) };
  }

  private homeOf(envelope: RequestEnvelope): TurnDraft {
    return this.connection.attachments.meant(envelope.target)?.home ?? this.connection.own;
  }

  private pair(request: RequestFact, result: string | null, at: Point) {
    const from = request.at.when;
    const timed = result !== null && isKnown(from) && isExact(from) && isKnown(at.when) && isExact(at.when);
    const afterMs = timed ? millisBetween(from.latest, at.when.latest) : null;
    return { family: "rpc", id: request.id, role: result === null ? "ask" : "answer", afterMs, result } as const;
  }
}

/** The refusal due, by the server's own order of tests. */
function expectation(
  request: Pick<RequestFact, "duplicate" | "wrongServer" | "clash" | "route" | "badControl" | "idle">,
  badCall: boolean,
): Expectation | null {
  if (request.duplicate) return { rule: "pi/PW-42", code: "invalid_request" };
  if (badCall) return { rule: "pi/PW-70", code: "invalid_request" };
  if (request.wrongServer !== null) return { rule: "pi/PW-46", code: "wrong_server" };
  // Frames that crossed may be judged by either state.
  if (request.route === "crossing") return null;
  if (request.clash) return { rule: "pi/PW-61", code: "invalid_request" };
  if (request.route === "past" || request.route === "never") return { rule: "pi/PW-50", code: "session_not_attached" };
  if (request.badControl) return { rule: "pi/PW-71", code: null };
  return request.idle ? { rule: "pi/PW-67", code: "internal_error" } : null;
}

export function describe(request: RequestFact): string {
  const { control } = request;
  if (control?.kind === "subscribe") return `subscribe ${control.subscriptionId}`;
  if (control?.kind === "unsubscribe") return `unsubscribe ${control.subscriptionId}`;
  if (control !== null) return control.kind;
  return request.service === null ? request.id : `${request.service}.${request.member}`;
}

function okWords(request: RequestFact, result: CborValue | undefined, snapshot: Words): Words {
  const { control }: { control: ControlCall | null } = request;
  if (control?.kind === "catalogue") return sayCatalogue(result);
  if (control?.kind === "subscribe") return [`${describe(request)} → snapshot of ${control.serviceId}`, ...snapshot];
  return sayResult(describe(request), result);
}
