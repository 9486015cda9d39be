/**
 * Steps of a turn -> rows of its timeline. Answered housekeeping (KV) shrinks to one row per run, plain answers hide behind the
 * mark on their question, alternating deltas become one row. Nothing that failed or stayed open is ever folded.
 */
import type { Words } from "../core/printable.js";
import type { Pair, Step } from "../model/conversation.js";
import { duration } from "./numbers.js";

export interface Row {
  readonly first: Step;
  readonly last: Step;
  readonly kind: string;
  /** Messages. */
  readonly count: number;
  readonly bytes: number;
  readonly chars: number;
  /** "kv 3 → ok in 12 ms"; empty where the step belongs to no pair. */
  readonly mark: string;
  /** The question was never answered, or the answer is an error. */
  readonly bad: boolean;
  readonly says: Words;
}

export interface FoldOptions {
  readonly all: boolean;
  readonly kind: (kind: string) => boolean;
}

export function foldSteps(steps: readonly Step[], options: FoldOptions): readonly Row[] {
  const answers = new Map<string, Step>();
  const asks = new Set<string>();
  for (const step of steps) {
    if (step.pair?.role === "answer") answers.set(pairKey(step.pair), step);
    else if (step.pair?.role === "ask") asks.add(pairKey(step.pair));
  }
  const shown = steps.filter((step) => options.kind(step.kind));
  if (options.all) return shown.map((step) => single(step, answers));
  const rows = shown.filter((step) => !hidesBehindAsk(step, asks)).map((step) => single(step, answers));
  return foldAlternating(mergeRuns(rows, answers));
}

function pairKey(pair: Pair): string {
  return `${pair.family}\n${pair.id}`;
}

const dullResult = /^(ok|found|result|set|done|acknowledged|ack)\b/;

function isDull(result: string | null): boolean {
  return result === null || dullResult.test(result);
}

/** An answer that only says "ok" is told by the mark on its question. */
function hidesBehindAsk(step: Step, asks: ReadonlySet<string>): boolean {
  const { pair } = step;
  return step.lane === "kv" && pair?.role === "answer" && isDull(pair.result) && asks.has(pairKey(pair));
}

function single(step: Step, answers: ReadonlyMap<string, Step>): Row {
  const { mark, bad } = pairMark(step, answers);
  const { kind, count, bytes, chars, says } = step;
  return { first: step, last: step, kind, count, bytes, chars, mark, bad, says };
}

function pairMark(step: Step, answers: ReadonlyMap<string, Step>): { mark: string; bad: boolean } {
  const { pair } = step;
  if (pair === null) return { mark: "", bad: false };
  const name = `${pair.family.replace(/_/g, " ")} ${shortId(pair.id)}`;
  if (pair.role === "answer") {
    const took = pair.afterMs === null ? "" : ` after ${duration(pair.afterMs)}`;
    return { mark: `${name} ← ${pair.result ?? "answer"}${took}`, bad: !isDull(pair.result) && isFailure(pair.result) };
  }
  const answer = answers.get(pairKey(pair))?.pair ?? null;
  if (answer === null) return { mark: `${name} → ${pair.result ?? "no answer seen"}`, bad: pair.result !== null };
  const took = answer.afterMs === null ? "" : ` in ${duration(answer.afterMs)}`;
  return { mark: `${name} → ${answer.result ?? "answered"}${took}`, bad: isFailure(answer.result) };
}

function isFailure(result: string | null): boolean {
  return result !== null && /error|fail|denied|reject|not.found|mismatch|unanswered|timeout/i.test(result);
}

export function shortId(id: string): string {
  return id.length <= 12 ? id : `…${id.slice(-5)}`;
}

/** Neighbours that say the same: good KV questions, and whatever became adjacent when answers went behind their questions. */
function mergeRuns(rows: readonly Row[], answers: ReadonlyMap<string, Step>): Row[] {
  const out: Row[] = [];
  let run: Row[] = [];
  const flush = () => {
    if (run.length > 0) out.push(run.length === 1 ? run[0]! : merged(run, answers));
    run = [];
  };
  for (const row of rows) {
    const last = run.at(-1);
    if (last !== undefined && !mergeable(last, row)) flush();
    run.push(row);
  }
  flush();
  return out;
}

function mergeable(a: Row, b: Row): boolean {
  if (a.kind !== b.kind || a.bad || b.bad) return false;
  if (a.first.direction !== b.first.direction || a.first.channel !== b.first.channel) return false;
  if (a.first.lane !== b.first.lane || a.first.flags !== b.first.flags) return false;
  if (a.first.lane === "kv") return a.first.pair !== null && b.first.pair !== null;
  return a.first.pair === null && b.first.pair === null && (a.first.lane === "model" || a.first.lane === "control");
}

function merged(run: readonly Row[], answers: ReadonlyMap<string, Step>): Row {
  const first = run[0]!;
  const last = run.at(-1)!;
  return {
    first: first.first,
    last: last.last,
    kind: first.kind,
    count: sum(run, (row) => row.count),
    bytes: sum(run, (row) => row.bytes),
    chars: sum(run, (row) => row.chars),
    mark: first.first.pair === null ? "" : runMark(run, answers),
    bad: false,
    says: first.first.pair === null && sameWords(run) ? first.says : [],
  };
}

function runMark(run: readonly Row[], answers: ReadonlyMap<string, Step>): string {
  const pairs = run.map((row) => row.first.pair!);
  const name = `${pairs[0]!.family.replace(/_/g, " ")} ${idRange(pairs.map((pair) => pair.id))}`;
  const found = pairs.map((pair) => (pair.role === "ask" ? (answers.get(pairKey(pair))?.pair ?? null) : pair));
  const answered = found.flatMap((pair) => (pair === null ? [] : [pair]));
  const results = [...new Set(answered.map((pair) => pair.result ?? "answered"))];
  const took = answered.flatMap((pair) => (pair.afterMs === null ? [] : [pair.afterMs]));
  const all =
    answered.length === pairs.length ? (pairs.length > 2 ? "all " : "") : `${answered.length} of ${pairs.length} `;
  if (answered.length === 0) return `${name} → no answer seen`;
  return `${name} → ${all}${results.join(", ")}${span(took)}`;
}

function span(took: readonly number[]): string {
  if (took.length === 0) return "";
  const least = Math.min(...took);
  const most = Math.max(...took);
  if (duration(least) === duration(most)) return ` in ${duration(most)}`;
  return most < 1000 ? ` in ${least}–${duration(most)}` : ` in ${duration(least)} to ${duration(most)}`;
}

function idRange(ids: readonly string[]): string {
  const numbers = ids.map(Number);
  const contiguous = numbers.every((value, i) => Number.isInteger(value) && (i === 0 || value === numbers[i - 1]! + 1));
  if (contiguous) return `${ids[0]}–${ids.at(-1)}`;
  return ids.length <= 3 ? ids.map(shortId).join(", ") : `${shortId(ids[0]!)} … ${shortId(ids.at(-1)!)}`;
}

function sameWords(run: readonly Row[]): boolean {
  const text = (row: Row) => row.says.map((word) => (typeof word === "string" ? word : "\0")).join("");
  return run.every((row) => text(row) === text(run[0]!)) && !text(run[0]!).includes("\0");
}

/** Text and token deltas that take turns become one row: "interaction_update.{text_delta ×8, token_delta ×7}". */
function foldAlternating(rows: readonly Row[]): readonly Row[] {
  const out: Row[] = [];
  let at = 0;
  while (at < rows.length) {
    const end = alternatingEnd(rows, at);
    if (end - at < 4) {
      out.push(rows[at]!);
      at++;
      continue;
    }
    out.push(alternating(rows.slice(at, end)));
    at = end;
  }
  return out;
}

function alternatingEnd(rows: readonly Row[], start: number): number {
  const kinds = new Set<string>();
  const first = rows[start]!;
  let end = start;
  for (; end < rows.length; end++) {
    const row = rows[end]!;
    const fits =
      (row.first.lane === "model" || row.first.lane === "control") &&
      row.first.pair === null &&
      !row.bad &&
      row.first.direction === first.first.direction &&
      row.first.channel === first.first.channel;
    if (!fits || (kinds.size === 3 && !kinds.has(row.kind))) break;
    kinds.add(row.kind);
  }
  // Kinds that come once each are a sequence worth reading, not an alternation.
  return end - start > kinds.size + 1 ? end : start;
}

function alternating(rows: readonly Row[]): Row {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(row.kind, (counts.get(row.kind) ?? 0) + row.count);
  const kinds = [...counts.keys()];
  const prefix = commonPrefix(kinds);
  const parts = kinds.map((kind) => `${kind.slice(prefix.length)} ×${counts.get(kind)}`);
  return {
    first: rows[0]!.first,
    last: rows.at(-1)!.last,
    kind: kinds.length === 1 ? kinds[0]! : `${prefix}{${parts.join(", ")}}`,
    count: kinds.length === 1 ? sum(rows, (row) => row.count) : 1,
    bytes: sum(rows, (row) => row.bytes),
    chars: sum(rows, (row) => row.chars),
    mark: "",
    bad: false,
    says: [],
  };
}

function commonPrefix(kinds: readonly string[]): string {
  const cut = kinds[0]!.lastIndexOf(".") + 1;
  const prefix = kinds[0]!.slice(0, cut);
  return kinds.every((kind) => kind.startsWith(prefix)) ? prefix : "";
}

function sum(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}
