/** Everything that was taken in -> conversations, turns, ledger and verdicts. */
import { by } from "../../core/order.js";
import type { Words } from "../../core/printable.js";
import { Recent } from "../../core/recent.js";
import { isKnown } from "../../core/time.js";
import type { Conversation } from "../../model/conversation.js";
import type { DialectResult } from "../../model/dialect.js";
import { attempts } from "./attempts.js";
import { BlobGraph } from "./blob-graph.js";
import { judgeCursor } from "./checks/index.js";
import { type Epoch, epochsOf } from "./epochs.js";
import { count, plural } from "./format.js";
import type { Intake } from "./intake.js";
import { Blobs } from "./ledger.js";
import type { LiveSteps } from "./live.js";
import { reportEpoch } from "./reporting.js";
import type { RequestLog } from "./request-log.js";
import { CursorTurn, type TurnServices, ViewCache } from "./turn.js";
import type { UploadedBlob } from "./upload.js";

export interface Leftovers {
  readonly uploads: readonly UploadedBlob[];
  readonly others: ReadonlyMap<string, number>;
  readonly live: LiveSteps | null;
}

/** What the rules look at. */
export interface CursorModel {
  readonly turns: readonly CursorTurn[];
  readonly conversations: readonly Conversation[];
  readonly blobs: Blobs;
  readonly uploads: readonly UploadedBlob[];
  readonly services: TurnServices;
}

export function finishSession(intake: Intake, left: Leftovers): DialectResult {
  const services = servicesOf(intake);
  const notes: Words[] = [];
  const turns = intake.logs.list().flatMap((log) => turnsOf(log, intake, services, notes));
  order(turns);
  const conversations = settle(turns);
  for (const blob of left.uploads) services.blobs.claim(blob.blob.id, blob.blob.digest);
  services.blobs.index(turns, left.uploads, (turn) => reportEpoch(turn, intake));
  left.live?.finish(turns);
  if (left.others.size > 0) notes.push(otherCalls(left.others));
  const model: CursorModel = { turns, conversations, blobs: services.blobs, uploads: left.uploads, services };
  return {
    dialect: "cursor",
    conversations,
    turns,
    blobs: turns.length > 0 || left.uploads.length > 0 ? services.blobs : null,
    extra: {},
    notes,
    givenBack: new Set(),
    judge: (wanted, sink) => judgeCursor(model, wanted, sink),
  };
}

export function servicesOf(intake: Intake): TurnServices {
  return {
    reading: intake.reading,
    blobs: new Blobs(new BlobGraph(intake.reading)),
    views: new ViewCache(),
    states: new Recent(16),
    captureLost: intake.tools.lost?.() ?? false,
  };
}

function turnsOf(log: RequestLog, intake: Intake, services: TurnServices, notes: Words[]): CursorTurn[] {
  const foreign = log.calls.length === 0 && log.foreign.size > 0;
  if (foreign) {
    const method = [...log.foreign].join(", ");
    if (log.appends.length > 0) {
      const detail = { appends: plural(log.appends.length, "append"), request: log.id ?? "", method };
      intake.note({ code: "cursor.other-family", place: log.appends[0]!.place, detail });
    }
    notes.push([`${method}: request ${log.id ?? "without id"}, ${plural(log.appends.length, "append")}, not decoded`]);
    return [];
  }
  return epochsOf(log, intake.note).map((epoch: Epoch) => new CursorTurn(epoch, services));
}

function order(turns: CursorTurn[]): void {
  const arrival = (turn: CursorTurn) =>
    turn.call?.order ?? turn.uplink[0]?.order ?? turn.epoch.lost[0]?.order ?? turn.epoch.log.order;
  if (turns.some((turn) => !isKnown(turn.start))) turns.sort(by(arrival));
  else
    turns.sort(
      by(
        (turn) => turn.start.earliest,
        (turn) => turn.call?.input ?? 0,
        arrival,
      ),
    );
}

/** Conversations by id; a turn whose id was never seen stands alone with the other epochs of its request. */
function settle(turns: readonly CursorTurn[]): Conversation[] {
  const ids = conversationIds(turns);
  const tries = attempts(turns);
  const groups = new Map<string, { id: string | null; turns: CursorTurn[] }>();
  for (const turn of turns) {
    const id = ids.get(turn) ?? null;
    const key = id === null ? `request ${turn.epoch.log.order} ${turn.requestId ?? ""}` : `id ${id}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { id, turns: [] };
      groups.set(key, group);
    }
    turn.settle({ conversationId: id, index: group.turns.length, ...tries.get(turn)! });
    group.turns.push(turn);
  }
  return [...groups.values()].map((group) => ({ dialect: "cursor", id: group.id, turns: group.turns }));
}

/** From the run request; else from another epoch or attempt of the same run, which belong to the same conversation. */
function conversationIds(turns: readonly CursorTurn[]): Map<CursorTurn, string> {
  const known = new Map<CursorTurn, string>();
  const byRequest = new Map<string, string>();
  for (const turn of turns) {
    const id = turn.run?.conversationId ?? null;
    if (id === null) continue;
    known.set(turn, id);
    for (const key of keysOf(turn)) byRequest.set(key, id);
  }
  for (const turn of turns) {
    if (known.has(turn)) continue;
    const key = keysOf(turn).find((candidate) => byRequest.has(candidate));
    if (key !== undefined) known.set(turn, byRequest.get(key)!);
  }
  return known;
}

function keysOf(turn: CursorTurn): string[] {
  return [turn.requestId, turn.runId].filter((id): id is string => id !== null);
}

function otherCalls(others: ReadonlyMap<string, number>): Words {
  const list = [...others].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, n]) => `${name} ×${count(n)}`);
  return [`calls that are listed and not decoded: ${list.join(", ")}`];
}
