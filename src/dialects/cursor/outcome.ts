/** How a turn ended, and what of it the capture lacks (contract: Turn; the first outcome that applies). */
import type { Loss, Outcome, TurnError } from "../../model/conversation.js";
import type { Direction, Evidence, GapReason } from "../../model/exchange.js";
import type { Epoch } from "./epochs.js";
import type { DownItem, EndStream } from "./model.js";
import type { DownCall } from "./request-log.js";

export interface Ending {
  readonly outcome: Outcome;
  readonly error: TurnError | null;
  /** Where the stream ended without EndStream: how, in a few words; "" where an EndStream says it. */
  readonly how: string;
}

export function endingOf(epoch: Epoch): Ending {
  const { call } = epoch;
  const end = call === null ? null : decisiveEnd(call);
  const error = end?.error ?? call?.httpError?.error ?? null;
  const how = end === null ? howEnded(call) : "";
  const canceled = epoch.uplink.some(({ detail }) => detail.type === "action" && detail.branch === "cancel_action");
  if (canceled || error?.code === "canceled" || (end === null && closedByClient(call))) {
    return { outcome: "canceled", error, how };
  }
  if (error !== null) return { outcome: "failed", error, how };
  return { outcome: withoutError(call, end), error: null, how };
}

function withoutError(call: DownCall | null, end: EndStream | null): Outcome {
  if (call === null) return "unknown";
  const { downlink } = call;
  const lost = downlink.gaps.length > 0;
  if (end === null) {
    const seen = downlink.end !== null && downlink.end.reason !== "capture-ended";
    return lost || !seen ? "unknown" : "truncated";
  }
  if (hasTurnEnded(downlink.items)) return "completed";
  // The mark may have stood in what is lost.
  return lost ? "unknown" : "dropped";
}

/** Polls end many streams and one run: theirs counts where it fails, or where no more is to come. */
function decisiveEnd(call: DownCall): EndStream | null {
  const { ends, items } = call.downlink;
  if (call.channel !== "RunPoll") return ends[0]?.end ?? null;
  const failed = ends.find(({ end }) => end.error !== null);
  if (failed !== undefined) return failed.end;
  return call.eof || hasTurnEnded(items) ? (ends.at(-1)?.end ?? null) : null;
}

export function hasTurnEnded(items: readonly DownItem[]): boolean {
  return items.some(({ detail }) => detail.type === "turn-ended");
}

function closedByClient(call: DownCall | null): boolean {
  if (call === null || call.httpError !== null) return false;
  const { end } = call.downlink;
  // A body that lasts until the connection closes is complete whoever closed: what counts is who did.
  if (end !== null && end.reason === "complete") return end.by === "client";
  return (end !== null && end.by === "client") || (call.upEnd?.reason === "reset" && call.upEnd.by === "client");
}

function howEnded(call: DownCall | null): string {
  if (call === null) return "its downlink is not in the capture";
  if (call.httpError !== null) return `HTTP ${call.status}`;
  const { end, gaps } = call.downlink;
  if (gaps.length > 0 && call.downlink.frames.total === 0)
    return `the response is not in the capture (${gaps[0]!.why})`;
  if (end === null || end.reason === "capture-ended") return "the capture ends before the stream does";
  if (end.reason === "reset" || end.by === "client") {
    return end.by === "client" ? "the client closed the stream" : "the stream was reset by the server";
  }
  return gaps.length > 0 ? `the end of the stream is lost (${gaps.at(-1)!.why})` : "the stream ended without EndStream";
}

export function lossOf(epoch: Epoch): Loss[] {
  const found = new Map<string, Loss>();
  const add = (direction: Direction, why: GapReason) => found.set(`${direction} ${why}`, { direction, why });
  const { call } = epoch;
  for (const gap of call?.upGaps ?? []) add("up", gap.why);
  for (const lost of epoch.lost) add("up", lost.why);
  for (const item of epoch.uplink) {
    if (item.evidence === "lossy-utf8" || (item.evidence === "salvaged" && item.seqnoFrom >= 0))
      add("up", "lossy-utf8");
  }
  if (call !== null && call.uplink === null && epoch.uplink.length === 0 && epoch.lost.length === 0)
    add("up", "not-captured");
  if (call === null) add("down", "not-captured");
  else {
    for (const gap of call.downlink.gaps) add("down", gap.why);
    const { end } = call.downlink;
    const open = end === null || end.reason === "capture-ended";
    if (open && call.downlink.ends.length === 0 && call.httpError === null) add("down", "not-captured");
  }
  return [...found.values()];
}

const recoveries: readonly Evidence[] = ["latin1", "windows-1252", "re-encoded", "base64-guessed", "salvaged"];

/** Ways bytes of this turn were won back whole. */
export function recoveredOf(epoch: Epoch): string[] {
  const seen = new Set<Evidence>(epoch.call?.downlink.evidence);
  for (const item of epoch.uplink) if (item.evidence !== "salvaged" || item.seqnoFrom < 0) seen.add(item.evidence);
  return recoveries.filter((way) => seen.has(way));
}
