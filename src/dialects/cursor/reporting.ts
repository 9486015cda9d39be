/** What the capture lacks of a turn, said as diagnostics: what was on the wire and is not in the output is always named. */
import { plural } from "./format.js";
import type { Intake } from "./intake.js";
import type { CursorTurn } from "./turn.js";

export function reportEpoch(turn: CursorTurn, intake: Intake): void {
  const { call, uplink, epoch } = turn;
  const request = turn.requestId ?? "without id";
  const { note } = intake;
  if (turn.requestId === null && call === null && uplink.length > 0)
    note({ code: "cursor.append-without-request-id", place: uplink[0]!.place });
  if (call === null) {
    const appends = plural(uplink.length + epoch.lost.length, "append");
    note({ code: "cursor.downlink-missing", place: turn.place, detail: { request, appends } });
    note({ code: "cursor.inner-type-guessed", place: turn.place, detail: { request } });
  } else if (call.uplink === null && uplink.length === 0 && epoch.lost.length === 0) {
    note({ code: "cursor.uplink-missing", place: call.place, detail: { request } });
  }
  kinds(turn, intake);
  stray(turn, intake);
}

function kinds(turn: CursorTurn, intake: Intake): void {
  const { note } = intake;
  const faults = turn.call?.downlink.faults;
  for (const unknown of [...(faults?.branches.list ?? []), ...(faults?.newer.list ?? [])]) {
    if (unknown.kind.includes("unknown:"))
      note({ code: "cursor.unknown-branch", place: unknown.place, detail: { kind: unknown.kind } });
  }
  for (const { place, kind, faults: found } of faults?.decoding.list ?? []) {
    const first = found[0]!;
    note({ code: "cursor.undecodable", place, detail: { type: kind, fault: `${first.what} at byte ${first.offset}` } });
  }
  let unknownFields = faults?.unknown.count ?? 0;
  for (const item of turn.uplink) {
    if (item.kind.includes("unknown:"))
      note({ code: "cursor.unknown-branch", place: item.place, detail: { kind: item.kind } });
    const first = item.faults[0];
    if (first !== undefined)
      note({
        code: "cursor.undecodable",
        place: item.place,
        detail: { type: item.kind, fault: `${first.what} at byte ${first.offset}` },
      });
    if (item.unknownFields > 0) unknownFields++;
  }
  if (unknownFields > 0) note({ code: "cursor.unknown-fields", place: turn.place, detail: { count: unknownFields } });
}

/** An answer to what the capture does not hold; where the downlink is whole, a rule says so. */
function stray(turn: CursorTurn, intake: Intake): void {
  if (turn.call === null) return;
  for (const item of turn.pairs.stray) {
    const { detail } = item;
    if (detail.type !== "kv" && detail.type !== "exec" && detail.type !== "control" && detail.type !== "response")
      continue;
    const family = detail.type === "control" ? "exec" : detail.type === "response" ? "interaction" : detail.type;
    intake.note({ code: "cursor.answer-without-ask", place: item.place, detail: { family, id: detail.id } });
  }
}
