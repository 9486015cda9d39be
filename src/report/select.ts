/** Cuts an analysis down to the selected turns; indices and what refers to them follow. */
import { CursorWireError } from "../core/errors.js";
import type { BlobLedger, BlobRow, Turn } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { terminal } from "./escape.js";

export interface TurnSelection {
  /** Unique prefix. */
  readonly conversation?: string | undefined;
  readonly request?: string | undefined;
  /** From 1, in its conversation. */
  readonly turn?: number | undefined;
  readonly last?: number | undefined;
}

export function selects(selection: TurnSelection): boolean {
  const { conversation, request, turn, last } = selection;
  return conversation !== undefined || request !== undefined || turn !== undefined || last !== undefined;
}

/** Throws CursorWireError `usage.selection` for an ambiguous or unknown id, and for a turn that is not there. */
export function selectTurns(analysis: Analysis, selection: TurnSelection): Analysis {
  if (!selects(selection)) return analysis;
  let turns = analysis.turns;
  if (selection.conversation !== undefined) {
    const ids = analysis.conversations.map((row) => row.id);
    const id = theOne(selection.conversation, ids, "conversation");
    turns = turns.filter((turn) => turn.conversationId === id);
  }
  if (selection.request !== undefined) {
    const id = theOne(
      selection.request,
      analysis.turns.map((turn) => turn.requestId),
      "request",
    );
    turns = turns.filter((turn) => turn.requestId === id);
  }
  if (selection.turn !== undefined) {
    const index = selection.turn - 1;
    const most = turns.reduce((max, turn) => Math.max(max, turn.index + 1), 0);
    turns = turns.filter((turn) => turn.index === index);
    if (turns.length === 0) throw noTurn(selection.turn, most);
  }
  if (selection.last !== undefined) turns = turns.slice(-selection.last);
  return withTurns(analysis, turns);
}

function noTurn(asked: number, most: number): CursorWireError {
  const there = most === 0 ? "there is no turn to select from" : `the last turn is ${most}`;
  return new CursorWireError("usage.selection", `no turn ${asked}: ${there}`);
}

const matchesListed = 10;

function theOne(prefix: string, all: readonly (string | null)[], noun: string): string {
  const ids = [...new Set(all.flatMap((id) => (id === null ? [] : [id])))];
  const found = ids.filter((id) => id.startsWith(prefix));
  const exact = found.find((id) => id === prefix);
  if (exact !== undefined) return exact;
  if (found.length === 1) return found[0]!;
  const listed = (list: readonly string[]) => {
    const more = list.length > matchesListed ? ` and ${list.length - matchesListed} more` : "";
    return list.slice(0, matchesListed).map(terminal).join(", ") + more;
  };
  if (found.length > 1) {
    throw new CursorWireError("usage.selection", `--${noun} "${prefix}" is ambiguous: it matches ${listed(found)}`);
  }
  const there = ids.length === 0 ? `the capture names no ${noun}` : `the capture has ${listed(ids)}`;
  throw new CursorWireError("usage.selection", `no ${noun} begins with "${prefix}": ${there}`);
}

function withTurns(analysis: Analysis, turns: readonly Turn[]): Analysis {
  const kept = new Set(turns);
  const position = new Map(turns.map((turn, i) => [turn, i]));
  const index = new Map(analysis.turns.map((turn, i) => [i, position.get(turn) ?? -1]));
  const renumber = (old: readonly number[]) =>
    old.flatMap((i) => (i < 0 ? [i] : index.get(i) === undefined || index.get(i)! < 0 ? [] : [index.get(i)!]));
  return {
    ...analysis,
    turns,
    conversations: analysis.conversations
      .map((row) => ({ ...row, turns: row.turns.filter((turn) => kept.has(turn)) }))
      .filter((row) => row.turns.length > 0),
    findings: analysis.findings.filter((finding) => finding.turn !== null && kept.has(finding.turn)),
    notCheckable: analysis.notCheckable
      .map((row) => ({ ...row, turns: renumber(row.turns) }))
      .filter((row) => row.turns.length > 0),
    held: new Map(
      [...analysis.held]
        .map(([rule, at]) => [rule, renumber(at).filter((i) => i >= 0)] as const)
        .filter(([, at]) => at.length > 0),
    ),
    blobs: analysis.blobs === null ? null : selectBlobs(analysis.blobs, turns, index),
  };
}

function selectBlobs(ledger: BlobLedger, turns: readonly Turn[], index: ReadonlyMap<number, number>): BlobLedger {
  const requests = new Set(turns.map((turn) => turn.requestId));
  const rows = ledger.rows.flatMap((row): BlobRow[] => {
    const referrers = row.referrers.flatMap((path) => renamed(path, index));
    const sources = row.sources.filter((source) => requests.has(source.requestId));
    return sources.length + referrers.length === 0 ? [] : [{ ...row, referrers }];
  });
  return {
    rows,
    totals: (some = turns) => ledger.totals(some),
    content: (id) => ledger.content(id),
    decoded: (id) => ledger.decoded(id),
    trees: () => ledger.trees().filter((tree) => turns.includes(tree.turn)),
  };
}

/** "turns[3].checkpoints[0]…" under the new numbers; nothing where that turn is not selected. */
function renamed(path: string, index: ReadonlyMap<number, number>): string[] {
  const match = /^turns\[(\d+)\]/.exec(path);
  if (match === null) return [path];
  const now = index.get(Number(match[1])) ?? -1;
  return now < 0 ? [] : [`turns[${now}]${path.slice(match[0].length)}`];
}

/** `--kind`: globs with `*` and `?`, separated by commas; a kind matches in full or by its last part. */
export function kindFilter(globs: string | undefined): (kind: string) => boolean {
  if (globs === undefined) return () => true;
  const patterns = globs
    .split(",")
    .map((glob) => glob.trim())
    .filter((glob) => glob !== "")
    .map(
      (glob) =>
        new RegExp(
          `^${glob
            .replace(/[\\^$.+()[\]{}|]/g, "\\$&")
            .replace(/\*+/g, ".*")
            .replace(/\?/g, ".")}$`,
        ),
    );
  return (kind) => {
    const tail = kind.slice(kind.indexOf(".") + 1);
    return patterns.some((pattern) => pattern.test(kind) || pattern.test(tail));
  };
}
