/** Labels of diagrams: redacted, cut, then escaped, so that no cut ever falls into an entity. */
import type { Turn } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { mermaid } from "../escape.js";
import { conversationLabel } from "../labels.js";
import { duration } from "../numbers.js";
import type { View } from "../report.js";

export function label(text: string, most: number, view: View): string {
  const safe = view.redactor.scrub(text);
  const shown = [...safe.slice(0, most * 2)].slice(0, most).join("");
  return mermaid(shown.length < safe.length ? `${shown}…` : shown).trim() || "–";
}

/** "turn 2 · completed in 3.010 s" */
export function turnTitle(turn: Turn, analysis: Analysis): string {
  const several = analysis.conversations.length > 1;
  const name = several ? `${conversationLabel(turn.conversationId, analysis)} turn` : "turn";
  const took = turn.durationMs === null ? "" : ` in ${duration(turn.durationMs)}`;
  return `${name} ${turn.index + 1} · ${turn.outcome}${took}`;
}

export function diagramTitle(analysis: Analysis): string {
  const conversations = new Set(analysis.turns.map((turn) => turn.conversationId));
  if (conversations.size === 1) {
    const turn = analysis.turns[0]!;
    return `${turn.dialect} conversation ${conversationLabel(turn.conversationId, analysis)}`;
  }
  return analysis.inputNames.join(" + ");
}
