/** How pi's rules are written and run: a rule's data, and a function over one connection's records. */
import type { Severity } from "../../../core/code-table.js";
import type { Place } from "../../../core/place.js";
import type { Printable, Words } from "../../../core/printable.js";
import type { Rule, Verdict } from "../../../model/check.js";
import type { Turn } from "../../../model/conversation.js";
import type { Connection } from "../connection.js";
import type { Oddity, OddityOf, Point, RequestFact } from "../facts.js";
import type { TurnDraft } from "../turn-draft.js";

export interface Hit {
  readonly draft: TurnDraft;
  readonly statement: Words;
  readonly places: readonly Place[];
  /** Stable inside the turn: "request-3", "client frame 4". */
  readonly subject: string;
  readonly severity?: Severity;
  /** Rests on bytes that the capture lost: the rule is then untestable here. */
  readonly damaged?: boolean;
  /** Worth saying all the same, as a finding that fails nothing. */
  readonly evidence?: "damaged";
  readonly detail?: { readonly [key: string]: Printable };
}

export interface PiRule extends Rule {
  /** Why this connection cannot be judged by the rule at all; null where it can. */
  untestable(connection: Connection): string | null;
  run(connection: Connection): Iterable<Hit>;
}

type Sure = "high" | "mid" | "low";

export interface RuleText {
  /** "PW-12" */
  readonly id: string;
  readonly severity: Severity;
  readonly sure: Sure;
  readonly statement: string;
  readonly why: string;
  readonly needs: string;
  readonly good: string;
  readonly bad: string;
  readonly remedy: string | null;
  readonly implies?: readonly string[];
  untestable?(connection: Connection): string | null;
  run(connection: Connection): Iterable<Hit>;
}

const sureness: Readonly<Record<Sure, string>> = {
  high: "enforced by the published packages or seen on them",
  mid: "the published packages never do otherwise",
  low: "inferred",
};

/** The rules of one family, in catalogue order. */
export function family(name: string, texts: readonly RuleText[]): PiRule[] {
  return texts.map((text) => ({
    id: `pi/${text.id}`,
    family: name,
    class: "check",
    severity: text.severity,
    statement: text.statement,
    why: text.why,
    needs: text.needs,
    implies: (text.implies ?? []).map((id) => `pi/${id}`),
    source: `protocols/pi.md, section 12, ${text.id}: ${sureness[text.sure]}`,
    good: text.good,
    bad: text.bad,
    remedy: text.remedy,
    untestable: (connection) => text.untestable?.(connection) ?? null,
    run: (connection) => text.run(connection),
  }));
}

/** Runs the wanted rules over every connection: violations, else "not checkable", else "holds". */
export function* runPiRules(
  rules: readonly PiRule[],
  connections: readonly Connection[],
  turnOf: (draft: TurnDraft) => Turn | null,
  wanted: (ruleId: string) => boolean,
): Generator<Verdict> {
  for (const rule of rules) {
    if (!wanted(rule.id)) continue;
    for (const connection of connections) yield* judge(rule, connection, turnOf);
  }
}

function* judge(rule: PiRule, connection: Connection, turnOf: (draft: TurnDraft) => Turn | null): Generator<Verdict> {
  const own = turnOf(connection.own);
  const why = rule.untestable(connection);
  if (why !== null) {
    yield { rule: rule.id, verdict: "not-checkable", turn: own, why };
    return;
  }
  let violated = false;
  let doubtful = false;
  for (const hit of rule.run(connection)) {
    if (hit.damaged) {
      doubtful = true;
      continue;
    }
    violated = true;
    const { draft, damaged: _, ...rest } = hit;
    yield {
      rule: rule.id,
      verdict: "violated",
      turn: turnOf(draft) ?? own,
      evidence: "exact",
      conversationId: draft.conversationId,
      ...rest,
    };
  }
  if (doubtful) yield { rule: rule.id, verdict: "not-checkable", turn: own, why: lossOf(connection) };
  else if (!violated) yield { rule: rule.id, verdict: "holds", turn: own };
}

export function lossOf(connection: Connection): string {
  if (!connection.ordered) return "the dumps carry no times, so the order of the two directions is not known";
  const lost = connection.up.lost ?? connection.down.lost;
  if (lost !== null) return `bytes of the connection are missing (${lost})`;
  return "the capture does not show the connection's beginning";
}

/** All oddities of one kind. */
export function* odd<W extends Oddity["what"]>(connection: Connection, what: W): Generator<OddityOf<W>> {
  for (const oddity of connection.oddities) if (oddity.what === what) yield oddity as OddityOf<W>;
}

export function sideName(at: Point): string {
  return at.direction === "up" ? "client" : "server";
}

/** "client frame 4", 1-based. */
export function frameName(at: Point): string {
  return `${sideName(at)} frame ${at.index + 1}`;
}

/** Whether the oddity may be one only of the order in which dumps without times were laid beside each other. */
function isOrderBound(connection: Connection, oddity: Oddity): boolean {
  switch (oddity.what) {
    case "stray-cancel":
    case "early-update":
    case "detached-twice":
      return true;
    case "stray-update":
      return connection.subscriptions.wasAsked(oddity.id);
    default:
      return false;
  }
}

/** What every oddity's finding shares. */
export function hitOf(connection: Connection, oddity: Oddity, statement: Words, subject: string): Hit {
  const damaged = connection.isDoubtful(oddity.at) || (!connection.ordered && isOrderBound(connection, oddity));
  return { draft: oddity.home, statement, places: [oddity.at.place], subject, damaged };
}

/** Whether a rule about a request and the state it met cannot judge. */
export function isUnsure(connection: Connection, request: RequestFact): boolean {
  if (connection.isDoubtful(request.answer?.at ?? request.at)) return true;
  if (connection.ordered) return false;
  const { attachmentId } = request.target;
  const never = attachmentId !== null && !connection.attachments.seen(attachmentId);
  return request.wrongServer === null && request.callFault === null && !(request.route === "never" && never);
}

/** The requests for which the server owed the refusal of this rule; first the client's fault, then a missing refusal. */
export function* owed(connection: Connection, rule: string, fault: (request: RequestFact) => Words): Generator<Hit> {
  for (const request of connection.requests.notable) {
    if (request.expected?.rule !== `pi/${rule}`) continue;
    const shared = { draft: request.home, damaged: isUnsure(connection, request) };
    yield { ...shared, statement: fault(request), places: [request.at.place], subject: request.id };
    const { answer } = request;
    const due = request.expected.code;
    if (answer === null || request.cancels.length > 0) continue;
    if (answer.error !== null && (due === null || answer.error.code === due)) continue;
    const got = answer.error === null ? "answered it with success" : `answered "${answer.error.code}"`;
    const want = due === null ? "a failure" : `"${due}"`;
    yield {
      ...shared,
      statement: [`the server ${got} where ${want} is due for ${request.id}`],
      places: [request.at.place, answer.at.place],
      subject: `${request.id} answer`,
    };
  }
}
