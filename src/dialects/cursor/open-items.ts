/** What nobody answered when a turn ended: why it hung. */
import type { OpenItem } from "../../model/conversation.js";
import { execAnswer, type Pairs, toolTimes } from "./pairs.js";

/** Of a direction that was lost in part nothing is called open: the answer may have been in it. */
export function openItems(pairs: Pairs, upLost: boolean, downLost: boolean): OpenItem[] {
  const out: OpenItem[] = [];
  if (!upLost) {
    for (const op of pairs.kv) {
      if (op.answers.length === 0)
        out.push({ family: "kv", id: String(op.id), what: `${op.op}_blob_args`, place: op.item.place });
    }
    for (const call of pairs.exec) {
      if (execAnswer(call).settled === null)
        out.push({ family: "exec", id: String(call.id), what: call.kind, place: call.item.place });
    }
    for (const query of pairs.queries) {
      if (query.answers.length === 0)
        out.push({ family: "interaction", id: String(query.id), what: query.branch, place: query.item.place });
    }
  }
  if (downLost) return out;
  for (const life of pairs.tools) {
    const times = toolTimes(life);
    if (life.scope === "" && times.started && !times.completed)
      out.push({ family: "tool_call", id: life.callId, what: life.tool, place: life.events[0]!.item.place });
  }
  return out;
}
