/** The entries of a turn's timeline as the reports' steps: pair marks, states, and what a blob operation moves. */

import { privately, type Words } from "../../core/printable.js";
import { isKnown, millisBetween, type When } from "../../core/time.js";
import type { Pair, Step } from "../../model/conversation.js";
import { blobName } from "./describe-blob.js";
import { leadChars } from "./downlink.js";
import { count, shortened, size } from "./format.js";
import type { Blobs } from "./ledger.js";
import type { DownItem, UpItem } from "./model.js";
import { execAnswer, type Pairs } from "./pairs.js";
import { RunStates } from "./states.js";
import type { Entry } from "./timeline.js";

export interface StepContext {
  readonly pairs: Pairs;
  /** Types of blobs; null while the session still runs. */
  readonly blobs: Blobs | null;
  readonly upChannel: string;
  readonly downChannel: string;
  /** Whether the uplink was lost in part: what has no answer may have had one. */
  readonly upLost: boolean;
  readonly downLost: boolean;
  /** Every message has the time of its packets: how long an answer took is known. */
  readonly exact: boolean;
}

/** Marks of one turn by item: who asked, who answered, after how long. */
export class PairMarks {
  private readonly marks = new Map<DownItem | UpItem, Pair>();

  constructor(
    pairs: Pairs,
    private readonly whens: ReadonlyMap<DownItem | UpItem, When>,
    private readonly context: Pick<StepContext, "upLost" | "downLost" | "exact">,
  ) {
    const unanswered = context.upLost ? "unseen" : "unanswered";
    for (const op of pairs.kv) {
      const answer = op.answers[0];
      this.ask(op.item, "kv", String(op.id), answer === undefined ? unanswered : null);
      for (const item of op.answers) this.answer(item, op.item, "kv", String(op.id), kvResult(item));
    }
    for (const call of pairs.exec) {
      const { settled, thrown } = execAnswer(call);
      this.ask(call.item, "exec", String(call.id), settled === null ? unanswered : null);
      if (settled !== null) this.answer(settled, call.item, "exec", String(call.id), execResult(settled, thrown));
    }
    for (const query of pairs.queries) {
      const answer = query.answers[0];
      this.ask(query.item, "interaction", String(query.id), answer === undefined ? unanswered : null);
      if (answer !== undefined) this.answer(answer, query.item, "interaction", String(query.id), answerName(answer));
    }
    this.tools(pairs, context.downLost ? "unseen" : "unanswered");
  }

  of(item: DownItem | UpItem): Pair | null {
    return this.marks.get(item) ?? null;
  }

  private tools(pairs: Pairs, unanswered: string): void {
    for (const life of pairs.tools) {
      if (life.scope !== "") continue;
      const started = life.events.find(({ event }) => event.event === "started");
      const completed = life.events.find(({ event }) => event.event === "completed");
      if (started !== undefined)
        this.ask(started.item, "tool_call", life.callId, completed === undefined ? unanswered : null);
      if (completed !== undefined && started !== undefined)
        this.answer(completed.item, started.item, "tool_call", life.callId, resultName(completed.event.result));
    }
  }

  private ask(item: DownItem, family: string, id: string, result: string | null): void {
    this.marks.set(item, { family, id, role: "ask", afterMs: null, result });
  }

  private answer(item: DownItem | UpItem, ask: DownItem, family: string, id: string, result: string): void {
    const [from, to] = [this.whens.get(ask), this.whens.get(item)];
    const exact = this.context.exact && from !== undefined && to !== undefined && isKnown(from) && isKnown(to);
    this.marks.set(item, {
      family,
      id,
      role: "answer",
      afterMs: exact ? millisBetween(from.earliest, to.earliest) : null,
      result,
    });
  }
}

function execResult(settled: UpItem, thrown: string | null): string {
  if (thrown !== null) return "error";
  return settled.detail.type === "exec" ? resultName(settled.detail.result) : "closed";
}

function answerName(item: UpItem): string {
  return item.detail.type === "response" && item.detail.result !== "" ? resultName(item.detail.result) : "answered";
}

function resultName(branch: string): string {
  return branch === "success" || branch === "" || branch === "exit 0" ? "ok" : branch.replaceAll("_", " ");
}

function kvResult(item: UpItem): string {
  const { detail } = item;
  return detail.type !== "kv" ? "ok" : detail.answer === "not_found" ? "not found" : detail.answer;
}

export function stepsOf(entries: readonly Entry[], context: StepContext, ending: Step | null): Step[] {
  const whens = new Map(entries.map((entry) => [entry.item, entry.when]));
  const marks = new PairMarks(context.pairs, whens, context);
  const states = new RunStates();
  const out: Step[] = [];
  let last: { fold: string; direction: string } | null = null;
  for (const entry of entries) {
    const state = entry.direction === "down" ? states.down(entry.item) : states.up(entry.item);
    const step =
      entry.direction === "down" ? downStep(entry, marks, context, state) : upStep(entry, marks, context, state);
    const { fold } = entry.item;
    const before = out[out.length - 1];
    if (
      before !== undefined &&
      last !== null &&
      fold !== "" &&
      last.fold === fold &&
      last.direction === entry.direction
    ) {
      out[out.length - 1] = joined(before, step);
    } else out.push(step);
    last = { fold, direction: entry.direction };
  }
  if (ending !== null) out.push(ending);
  return out;
}

function joined(a: Step, b: Step): Step {
  return {
    ...a,
    until: b.until,
    count: a.count + b.count,
    bytes: a.bytes + b.bytes,
    chars: a.chars + b.chars,
    place: a.place.through(b.place),
    state: b.state,
  };
}

export function downStep(
  entry: Extract<Entry, { direction: "down" }>,
  marks: PairMarks | null,
  context: Pick<StepContext, "blobs" | "downChannel" | "pairs">,
  state: string | null,
): Step {
  const { item } = entry;
  return {
    when: entry.when,
    until: entry.until,
    direction: "down",
    channel: context.downChannel,
    lane: item.lane,
    kind: item.kind,
    count: item.count,
    bytes: item.bytes,
    chars: item.chars,
    flags: item.flags,
    says: downSays(item, context.blobs),
    place: item.count > 1 ? item.place.through(item.lastPlace) : item.place,
    pair: marks?.of(item) ?? null,
    state,
  };
}

function downSays(item: DownItem, blobs: Blobs | null): Words {
  const { detail } = item;
  if (item.lead !== "") return [privately(shortened(item.lead, leadChars))];
  if (item.tokens > 0) return [`+${count(item.tokens)} tokens`];
  switch (detail.type) {
    case "kv": {
      const name = blobs === null ? "blob" : blobName(blobs.graph, detail.blobId, blobs.typeOf(detail.blobId));
      return [
        `kv ${detail.id} ${detail.op} ${name}${detail.size === null ? "" : ` ${size(detail.size)}`}`,
        ...item.says,
      ];
    }
    case "exec":
      return [`exec ${detail.id} `, ...item.says];
    default:
      return item.says;
  }
}

export function upStep(
  entry: Extract<Entry, { direction: "up" }>,
  marks: PairMarks | null,
  context: Pick<StepContext, "upChannel">,
  state: string | null,
): Step {
  const { item } = entry;
  return {
    when: entry.when,
    until: entry.until,
    direction: "up",
    channel: context.upChannel,
    lane: item.lane,
    kind: item.kind,
    count: 1,
    bytes: item.bytes,
    chars: item.chars,
    flags: item.flags,
    says: upSays(item),
    place: item.place,
    pair: marks?.of(item) ?? null,
    state,
  };
}

function upSays(item: UpItem): Words {
  const { detail } = item;
  const prefix =
    detail.type === "kv"
      ? `kv ${detail.id}`
      : detail.type === "exec" || detail.type === "control"
        ? `exec ${detail.id}`
        : detail.type === "response"
          ? `answer ${detail.id}`
          : "";
  if (prefix === "") return item.says;
  return item.says.length === 0 ? [prefix] : [`${prefix} `, ...item.says];
}
