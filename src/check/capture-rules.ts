/** Rules that hold for any dialect. They judge what any agent's transport shows: answers, statuses, silence. */

import { Place } from "../core/place.js";
import { isExact, isKnown, millisBetween } from "../core/time.js";
import type { Rule, Verdict } from "../model/check.js";
import type { Step, Turn } from "../model/conversation.js";
import type { Analysis, ExchangeFacts } from "../model/report.js";

const source = "any dialect; no protocol page";

export const noTurnRule: Rule = {
  id: "capture/no-turn",
  family: "Capture",
  class: "check",
  severity: "error",
  statement: "The capture holds at least one turn, or other agent traffic that a rule could judge.",
  why: "A check that looked at nothing must not pass a gate.",
  needs: "Nothing.",
  implies: [],
  source,
  good: "A capture with one RunSSE and its appends.",
  bad: "A HAR with web pages only.",
  remedy:
    "Record the agent's own connections (see the flows command for what is there), or give --allow-empty where an empty capture is fine.",
};

const serverErrorRule: Rule = {
  id: "capture/server-error",
  family: "Capture",
  class: "check",
  severity: "warning",
  statement: "No exchange of an agent protocol is answered with a 5xx status.",
  why: "Agent protocols report their own failures inside the body; a 5xx comes from a proxy or a crashed handler.",
  needs: "The response head.",
  implies: [],
  source,
  good: "BidiAppend answered with 200.",
  bad: "BidiAppend answered with 502.",
  remedy: "Read the server's or the proxy's log for this request.",
};

const silenceRule: Rule = {
  id: "capture/silence",
  family: "Capture",
  class: "count",
  severity: "info",
  statement: "Counts pauses of a minute or more inside a turn in which neither side sent anything.",
  why: "Clients give up on silent streams; a long pause names the point where a run hung.",
  needs: "Times per message, so a packet capture.",
  implies: [],
  source,
  good: "Heartbeats every few seconds.",
  bad: "95 s without a message in either direction.",
  remedy: "See what was open before the pause: the timeline's last line before it.",
};

/** In catalogue order. `noTurnRule` is judged by the gate of `check` alone. */
export const captureRules: readonly Rule[] = [noTurnRule, serverErrorRule, silenceRule];

const silenceMs = 60_000;

export function* captureVerdicts(
  eachExchange: Analysis["eachExchange"],
  turns: readonly Turn[],
  wanted: (id: string) => boolean,
): Generator<Verdict> {
  if (wanted(serverErrorRule.id)) yield* serverErrors(eachExchange);
  if (wanted(silenceRule.id)) for (const turn of turns) yield* silences(turn);
}

function* serverErrors(eachExchange: Analysis["eachExchange"]): Generator<Verdict> {
  let isJudged = false;
  let isWhole = true;
  const isBroken = ({ dialect, status }: ExchangeFacts) => {
    if (dialect === null || status === null) return false;
    isJudged = true;
    return status >= 500 && status <= 599;
  };
  for (const row of eachExchange(isBroken)) {
    isWhole = false;
    const path = (row.request?.path ?? "").split("?")[0]!;
    yield {
      rule: serverErrorRule.id,
      verdict: "violated",
      turn: null,
      statement: [`${row.request?.method ?? "a request"} ${path} was answered with status ${row.status}`],
      places: [row.place],
      evidence: "exact",
      subject: `${row.dialect} ${path} ${row.status}`,
    };
  }
  if (isJudged && isWhole) yield { rule: serverErrorRule.id, verdict: "holds", turn: null };
}

function* silences(turn: Turn): Generator<Verdict> {
  // Working out the steps costs as much as all other rules together.
  if (turn.durationMs !== null && turn.durationMs < silenceMs) return;
  let last: Step | undefined;
  for (const step of turn.steps) {
    if (!isKnown(step.when) || !isExact(step.when) || !isExact(step.until)) continue;
    const quiet = last === undefined ? 0 : millisBetween(last.until.latest, step.when.earliest);
    if (last !== undefined && quiet >= silenceMs) {
      yield {
        rule: silenceRule.id,
        verdict: "violated",
        turn,
        statement: [`${Math.round(quiet / 1000)} s without a message, between ${last.kind} and ${step.kind}`],
        places: [new Place(last.place.input, last.place.first, last.place.last, last.place.side), step.place],
        evidence: "exact",
        subject: `after ${last.kind}`,
      };
    }
    if (last === undefined || step.until.latest > last.until.latest) last = step;
  }
}
