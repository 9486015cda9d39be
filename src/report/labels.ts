/** Short names for conversations and turns, the same in every report, and accepted by --conversation and --turn. */
import type { Conversation, Outcome, Turn } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { terminal } from "./escape.js";
import type { View } from "./report.js";

const cache = new WeakMap<readonly Conversation[], ReadonlyMap<string, string>>();

/** Shortest unique prefix of at least 8 characters behind any `word_` in front; "unknown" for null. */
export function conversationLabel(id: string | null, analysis: Analysis): string {
  if (id === null) return "unknown";
  let labels = cache.get(analysis.conversations);
  if (labels === undefined) {
    labels = uniquePrefixes(analysis.conversations.flatMap((row) => (row.id === null ? [] : [row.id])));
    cache.set(analysis.conversations, labels);
  }
  return labels.get(id) ?? id;
}

export function uniquePrefixes(ids: readonly string[]): ReadonlyMap<string, string> {
  const sorted = [...new Set(ids)].sort();
  const out = new Map<string, string>();
  sorted.forEach((id, i) => {
    const lead = /^[a-z]+[_-]/i.exec(id)?.[0].length ?? 0;
    const shared = Math.max(common(id, sorted[i - 1]), common(id, sorted[i + 1]));
    out.set(id, id.slice(0, Math.max(shared + 1, 8, lead > 0 && lead < 12 ? lead + 8 : 0)));
  });
  return out;
}

function common(a: string, b: string | undefined): number {
  let i = 0;
  while (b !== undefined && i < a.length && a[i] === b[i]) i++;
  return i;
}

/** "turn 2", with its conversation in front where there are several. */
export function turnLabel(turn: Turn, analysis: Analysis): string {
  const number = `turn ${turn.index + 1}`;
  if (analysis.conversations.length <= 1) return number;
  return `${terminal(conversationLabel(turn.conversationId, analysis))} ${number}`;
}

export function outcomePaint(outcome: Outcome, text: string, view: View): string {
  if (outcome === "completed") return view.paint.good(text);
  return outcome === "failed" ? view.paint.bad(text) : view.paint.warn(text);
}
