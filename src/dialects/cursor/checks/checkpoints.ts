/** Checkpoints (protocols/cursor.md 5, C): one run's states grow, are closed over blobs, and were acknowledged before they were published. */
import { isExact, isKnown } from "../../../core/time.js";
import { emptyDigest } from "../contents.js";
import { deep } from "../fields.js";
import { count, plural } from "../format.js";
import { runRequestOf } from "../ledger.js";
import type { Checkpoint } from "../model.js";
import type { KvOp } from "../pairs.js";
import type { CursorTurn } from "../turn.js";
import { JSON_MESSAGE, STATE } from "../types.js";
import { hasBraces, openMessage } from "./json-messages.js";
import { examples, type Judgement, noDownlink } from "./rule.js";
import { agentTurn, commonPrefix, idsOf, ownSets, reachedOwn } from "./states.js";

const short = (id: string): string => `${id.slice(0, 12)}…`;

export function* acknowledged(turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  const sets = ownSets(turn);
  if (sets.size === 0) {
    yield { why: "this run sets no blob" };
    return;
  }
  const ops = new Map<string, KvOp>();
  for (const op of turn.pairs.kv) if (op.op === "set" && !ops.has(op.blobId)) ops.set(op.blobId, op);
  const judged = new Set<string>();
  for (const [n, checkpoint] of checkpoints.entries()) {
    for (const id of reachedOwn(turn, checkpoint)) {
      if (judged.has(id)) continue;
      judged.add(id);
      const fault = publishedTooEarly(turn, checkpoint, ops.get(id)!);
      if (fault === null) continue;
      yield {
        says: [`checkpoint ${n} refers to ${short(id)} (kv ${ops.get(id)!.id}), ${fault}`],
        places: [checkpoint.place, ops.get(id)!.item.place],
        subject: `checkpoint ${n} kv ${ops.get(id)!.id}`,
        damaged: turn.lost("up") || turn.lost("down"),
      };
    }
  }
}

function publishedTooEarly(turn: CursorTurn, checkpoint: Checkpoint, op: KvOp): string | null {
  if (op.item.first > checkpoint.ordinal) return "which is set only after it";
  const ok = op.answers.find(({ detail }) => detail.type === "kv" && detail.answer === "ok");
  if (ok === undefined) {
    if (op.answers.length > 0) return "whose set was answered with an error";
    return turn.outcome === "completed" && !turn.lost("up") ? "whose set was never acknowledged" : null;
  }
  if (!turn.hasExactTimes || !isExact(ok.when) || !isKnown(ok.when)) return null;
  return ok.when.earliest > checkpoint.when.latest ? "whose set was acknowledged only after it" : null;
}

export function* closed(turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  const told = new Set<string>();
  for (const [n, checkpoint] of checkpoints.entries()) {
    const state = turn.state(checkpoint);
    const { closure, missing } = turn.services.blobs.closure(turn, state);
    const unseen = closure === "unverifiable" ? turn.services.blobs.graph.unsupplied(STATE, state) : missing;
    const fresh = unseen.filter((id) => !told.has(id));
    if (fresh.length === 0 || closure === "closed") continue;
    for (const id of fresh) told.add(id);
    const open = closure === "open";
    if (open && (turn.run === null || turn.lost("up"))) {
      yield { why: "the run_request is not whole in the capture: what it carried is not known" };
      continue;
    }
    yield {
      says: [
        open
          ? `checkpoint ${n} reaches ${plural(fresh.length, "blob")} that nobody ever supplied: ${examples(fresh.map(short), 4)}`
          : `checkpoint ${n} reaches ${plural(fresh.length, "blob")} that the run_request carried by reference and the capture never shows`,
      ],
      places: [checkpoint.place],
      subject: `checkpoint ${n} ${open ? "missing" : "carried"}`,
      damaged: turn.lost("down"),
      ...(open
        ? {}
        : {
            severity: "info" as const,
            remedy: "give the client's chat store with --store, or capture the conversation from its first turn",
          }),
    };
  }
}

/** Texts above this are judged by their ends: parsing every attachment would cost more than decoding the capture. */
const parsedJsonBytes = 65_536;

export function* decodable(turn: CursorTurn): Generator<Judgement> {
  const { blobs } = turn.services;
  let seen = 0;
  for (const op of turn.pairs.kv) {
    if (op.op !== "set" || op.ask.digest !== op.blobId) continue;
    const type = blobs.typeOf(op.blobId);
    const fault = type === JSON_MESSAGE ? jsonFault(turn, op.blobId) : messageFault(turn, op.blobId, type);
    if (fault === undefined) continue;
    seen++;
    if (fault === "") continue;
    yield {
      says: [
        `kv ${op.id} ${short(op.blobId)} is referred to as ${type === JSON_MESSAGE ? "a JSON message" : type} and is none: ${fault}`,
      ],
      places: [op.item.place],
      subject: `kv ${op.id}`,
    };
  }
  if (seen === 0) yield { why: "no blob that this run sets is referred to with a type" };
}

function jsonFault(turn: CursorTurn, id: string): string {
  const { blobs } = turn.services;
  const isParsed = (blobs.graph.size(id) ?? 0) <= parsedJsonBytes;
  const message = isParsed ? openMessage(turn, id) : undefined;
  if (!hasBraces(blobs.graph, id)) return "it does not start with { and end with }";
  return message?.isJson === false ? "it does not parse" : "";
}

function messageFault(turn: CursorTurn, id: string, type: string): string | undefined {
  const { schemas } = turn.services.reading;
  if (!schemas.has(type)) return undefined;
  const bytes = turn.services.blobs.content(id);
  if (bytes === undefined) return undefined;
  const decoded = schemas.decode(type, bytes);
  const fault = decoded.faults.find(({ what }) => what !== "bad-utf8");
  if (fault !== undefined) return `${fault.what} at byte ${count(fault.offset)}`;
  // A well-formed message of another type decodes without fault, and into nothing that this type knows.
  return bytes.length > 0 && Object.keys(decoded.value).length === 0 && decoded.unknownCount > 0
    ? "none of its fields belongs to that type"
    : "";
}

export function* declaredLengths(turn: CursorTurn): Generator<Judgement> {
  const request = runRequestOf(turn);
  if (request === undefined) {
    yield { why: "there is no run_request" };
    return;
  }
  const { graph } = turn.services.blobs;
  let seen = 0;
  for (const edge of graph.edges(request.type, request.message)) {
    if (edge.declared === null) continue;
    const size = graph.size(edge.id);
    const emptyMismatch = (edge.declared === 0) !== (edge.id === emptyDigest) && edge.id !== "";
    if (size === undefined && !emptyMismatch) continue;
    seen++;
    if (!emptyMismatch && size === edge.declared) continue;
    yield {
      says: [
        emptyMismatch
          ? `${edge.base} declares ${plural(edge.declared, "byte")}, and its id is ${edge.declared === 0 ? "not " : ""}that of an empty blob`
          : `${edge.base} declares ${plural(edge.declared, "byte")}, the blob has ${count(size ?? 0)}`,
      ],
      places: turn.uplink
        .filter(({ detail }) => detail.type === "run" || detail.type === "prewarm")
        .slice(0, 1)
        .map((item) => item.place),
      subject: edge.base,
      damaged: turn.lost("up"),
    };
  }
  if (seen === 0) yield { why: "no context part with a declared length is in the capture" };
}

export function* turnsGrow(turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  const first = idsOf(turn.state(checkpoints[0]!), "turns");
  let before = first;
  for (const [n, checkpoint] of checkpoints.entries()) {
    const turns = idsOf(turn.state(checkpoint), "turns");
    const common = commonPrefix(before, turns);
    const ok = turns.length >= before.length && turns.length <= first.length + 1 && common >= before.length - 1;
    if (!ok) {
      yield {
        says: [
          `checkpoint ${n} has ${plural(turns.length, "turn")} of which ${count(common)} are those before it (${count(before.length)}): only the last may be replaced and one appended`,
        ],
        places: [checkpoint.place],
        subject: `checkpoint ${n}`,
        damaged: turn.lost("down"),
      };
    }
    before = turns;
  }
}

export function* rootsGrow(turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  let before: Checkpoint | null = null;
  for (const [n, checkpoint] of checkpoints.entries()) {
    if (before !== null && checkpoint.roots < before.roots && !summarized(turn, before, checkpoint)) {
      yield {
        says: [
          `checkpoint ${n} has ${plural(checkpoint.roots, "prompt message")}, the one before had ${count(before.roots)}, and nothing was summarized between`,
        ],
        places: [before.place, checkpoint.place],
        subject: `checkpoint ${n}`,
        damaged: turn.lost("down"),
      };
    }
    before = checkpoint;
  }
}

function summarized(turn: CursorTurn, before: Checkpoint, after: Checkpoint): boolean {
  const announced = turn.down.some(
    ({ detail, first }) => detail.type === "summary" && first > before.ordinal && first < after.ordinal,
  );
  const summary = (checkpoint: Checkpoint) =>
    JSON.stringify(
      ["summary", "summary_archive"].map((field) => idsOf({ list: [turn.state(checkpoint)[field] ?? ""] }, "list")),
    );
  return announced || summary(before) !== summary(after);
}

function completedOnly(turn: CursorTurn): string | undefined {
  return turn.outcome === "completed"
    ? turn.lost("down")
      ? "part of the downlink is lost"
      : undefined
    : `the run did not end successfully (${turn.outcome})`;
}

export function* nothingPending(turn: CursorTurn): Generator<Judgement> {
  const why = completedOnly(turn);
  const last = turn.checkpoints.at(-1);
  if (why !== undefined || last === undefined) {
    yield { why: why ?? "this turn has no checkpoint" };
    return;
  }
  if (last.pending.length === 0) return;
  yield {
    says: [`the last checkpoint of a completed run has ${plural(last.pending.length, "pending tool call")}`],
    places: [last.place],
    subject: "pending_tool_calls",
  };
}

export function* runningTurnGrows(turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  let judged = 0;
  for (let n = 1; n < checkpoints.length; n++) {
    const [old, fresh] = [checkpoints[n - 1]!, checkpoints[n]!].map((checkpoint) =>
      idsOf(turn.state(checkpoint), "turns"),
    );
    if (old!.length !== fresh!.length || old!.at(-1) === fresh!.at(-1)) continue;
    const [before, after] = [agentTurn(turn, old!.at(-1)), agentTurn(turn, fresh!.at(-1))];
    if (before === undefined || after === undefined) continue;
    judged++;
    const [oldSteps, newSteps] = [idsOf(before, "steps"), idsOf(after, "steps")];
    const sameUser =
      idsOf({ list: [before.user_message ?? ""] }, "list")[0] ===
      idsOf({ list: [after.user_message ?? ""] }, "list")[0];
    const common = commonPrefix(oldSteps, newSteps);
    if (sameUser && common === oldSteps.length) continue;
    yield {
      says: [
        sameUser
          ? `the turn in checkpoint ${n} keeps ${count(common)} of ${plural(oldSteps.length, "step")} of the version before it`
          : `the turn in checkpoint ${n} has another user message than the version before it`,
      ],
      places: [checkpoints[n - 1]!.place, checkpoints[n]!.place],
      subject: `checkpoint ${n}`,
    };
  }
  if (judged === 0) yield { why: "no turn is replaced by a newer version that the capture holds" };
}

export function* hasCheckpoint(turn: CursorTurn): Generator<Judgement> {
  const why = completedOnly(turn);
  if (why !== undefined) yield { why };
  else if (turn.checkpoints.length === 0)
    yield { says: ["the run completed without any checkpoint"], places: [turn.place], subject: "checkpoints" };
}

export function* tokensFit(turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  let seen = 0;
  for (const [n, checkpoint] of checkpoints.entries()) {
    const { usedTokens, maxTokens } = checkpoint;
    if (usedTokens === null || maxTokens === null || maxTokens === 0) continue;
    seen++;
    if (usedTokens > maxTokens)
      yield {
        says: [`checkpoint ${n} uses ${count(usedTokens)} of ${count(maxTokens)} tokens`],
        places: [checkpoint.place],
        subject: `checkpoint ${n}`,
      };
  }
  if (seen === 0) yield { why: noDownlink(turn) ?? "no checkpoint counts tokens" };
}

export function* unfinishedBatches(_turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  const pending = checkpoints.filter((checkpoint) => checkpoint.pending.length > 0);
  if (pending.length === 0) {
    yield { why: "no checkpoint has pending tool calls" };
    return;
  }
  yield {
    says: [
      `${plural(pending.length, "checkpoint")} of ${count(checkpoints.length)} were published in the middle of a tool batch`,
    ],
    places: pending.slice(0, 2).map((checkpoint) => checkpoint.place),
    subject: "pending batches",
  };
}

export function* contextMode(turn: CursorTurn): Generator<Judgement> {
  const mode = turn.run?.context ?? "none";
  if (mode === "none" || mode === "legacy") {
    yield { why: turn.run === null ? "there is no run_request" : "the run_request has no context references" };
    return;
  }
  if (mode !== "references") return;
  const request = runRequestOf(turn);
  if (deep(request?.message, "action", "request_context_parts", "dynamic_context") === undefined) {
    // Neither form of context: the request is in none of the two modes that the rule tells apart.
    yield { why: "the references come with neither dynamic_context nor an inline context" };
    return;
  }
  yield {
    says: ["references with dynamic_context and an inline context as well"],
    places: runPlaces(turn),
    subject: "context",
    damaged: turn.lost("up"),
  };
}

function runPlaces(turn: CursorTurn) {
  return turn.uplink
    .filter(({ detail }) => detail.type === "run")
    .slice(0, 1)
    .map((item) => item.place);
}

export function* superseded(turn: CursorTurn, checkpoints: readonly Checkpoint[]): Generator<Judgement> {
  const sets = ownSets(turn);
  if (sets.size === 0 || turn.outcome !== "completed") {
    yield { why: sets.size === 0 ? "this run sets no blob" : "the run did not complete" };
    return;
  }
  const reached = reachedOwn(turn, checkpoints.at(-1)!);
  const left = [...sets.keys()].filter((id) => !reached.has(id));
  if (left.length === 0) return;
  yield {
    says: [
      `not reachable from the last checkpoint: ${plural(left.length, "blob")} of ${count(sets.size)} that this run set`,
    ],
    places: [checkpoints.at(-1)!.place],
    subject: "unreachable",
  };
}

export function* lastTurnIsOwn(turn: CursorTurn): Generator<Judgement> {
  const why = completedOnly(turn);
  const last = turn.checkpoints.at(-1);
  if (why !== undefined || last === undefined) {
    yield { why: why ?? "this turn has no checkpoint" };
    return;
  }
  const sets = ownSets(turn);
  const id = idsOf(turn.state(last), "turns").at(-1);
  if (sets.size > 0 && id !== undefined && sets.has(id)) return;
  yield {
    says: [
      sets.size === 0
        ? "the run completed without setting any blob"
        : "the last turn of the final checkpoint was not set in this run",
    ],
    places: [last.place],
    subject: "last turn",
  };
}
