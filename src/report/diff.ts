/** `diff` as text and JSON. */
import { placeText } from "../core/place.js";
import type { Printable } from "../core/printable.js";
import type { Turn } from "../model/conversation.js";
import type { CaptureDiff, Divergence, DivergentMessage, KindCount, TurnDiff } from "../model/diff.js";
import type { Analysis } from "../model/report.js";
import { wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { document, lazily } from "./json.js";
import { turnLabel } from "./labels.js";
import { many } from "./numbers.js";
import type { View } from "./report.js";

export const diffSchema = "cursor-wire/diff@1";

export interface DiffSides {
  readonly a: Analysis;
  readonly b: Analysis;
}

const factsShown = 8;
const kindsShown = 6;

export function* diffText(diff: CaptureDiff, sides: DiffSides, view: View): Generator<string> {
  for (const line of lines(diff, sides, view)) yield `${line}\n`;
}

function* lines(diff: CaptureDiff, sides: DiffSides, view: View): Generator<string> {
  const names = (analysis: Analysis) => analysis.inputs.map((input) => terminal(input.path)).join(" + ");
  yield `a  ${view.paint.strong(names(sides.a))}`;
  yield `b  ${view.paint.strong(names(sides.b))}`;
  yield "";
  for (const turn of diff.turns) {
    if (turn.same && !view.all) continue;
    yield* turnLines(turn, sides, view);
  }
  yield* summaryLines(diff, view);
}

function* turnLines(turn: TurnDiff, sides: DiffSides, view: View): Generator<string> {
  yield view.paint.strong(pairTitle(turn, sides));
  if (turn.same) yield "  the same";
  if (turn.first !== null) for (const line of divergenceLines(turn.first, sides, view)) yield `  ${line}`;
  yield* kindLines("only in a", turn.missing, view);
  yield* kindLines("only in b", turn.extra, view);
  const shown = view.all ? turn.facts : turn.facts.slice(0, factsShown);
  for (const fact of shown) {
    const text = `${fact.path}: ${fact.a} in a, ${fact.b} in b`;
    for (const line of wrap(terminal(view.redactor.scrub(text)), view.width - 2)) yield `  ${line}`;
  }
  if (shown.length < turn.facts.length)
    yield `  … ${many(turn.facts.length - shown.length, "more fact")} differ (--all shows them)`;
  yield "";
}

function pairTitle(turn: TurnDiff, sides: DiffSides): string {
  const label = (side: Turn | null, analysis: Analysis) => (side === null ? null : turnLabel(side, analysis));
  const a = label(turn.a, sides.a);
  const b = label(turn.b, sides.b);
  if (a === null && b === null) return "outside turns";
  if (a === null) return `only in b: ${b}`;
  if (b === null) return `only in a: ${a}`;
  return a === b ? a : `${a} in a, ${b} in b`;
}

function divergenceLines(first: Divergence, sides: DiffSides, view: View): string[] {
  const arrow = first.direction === "up" ? "↑" : "↓";
  const a = messageText(first.a, sides.a);
  const b = messageText(first.b, sides.b);
  const texts: Readonly<Record<Divergence["what"], string>> = {
    missing: `b lacks ${a}`,
    extra: `b has ${b}, which a has not at this point`,
    order: `another order: a has ${a} first, b ${b}`,
    kind: `a has ${a}, b has ${b}`,
    fields: `other fields in ${a} than in ${b}${fieldText(first)}`,
  };
  const [head, ...rest] = wrap(
    terminal(view.redactor.scrub(`${arrow} first divergence: ${texts[first.what]}`)),
    view.width - 4,
  );
  return [view.paint.warn(head!), ...rest.map((line) => `  ${line}`)];
}

function fieldText(first: Divergence): string {
  const list = (fields: readonly string[]) =>
    fields.slice(0, kindsShown).join(", ") +
    (fields.length > kindsShown ? ` and ${fields.length - kindsShown} more` : "");
  const parts = [
    first.onlyA.length > 0 ? `only in a: ${list(first.onlyA)}` : "",
    first.onlyB.length > 0 ? `only in b: ${list(first.onlyB)}` : "",
  ];
  return `; ${parts.filter((part) => part !== "").join("; ")}`;
}

function messageText(message: DivergentMessage | null, analysis: Analysis): string {
  return message === null ? "nothing" : `${message.kind} (${placeText(message.place, analysis.inputNames)})`;
}

function* kindLines(title: string, kinds: readonly KindCount[], view: View): Generator<string> {
  if (kinds.length === 0) return;
  const shown = kinds
    .slice(0, kindsShown)
    .map((row) => `${row.direction === "up" ? "↑" : "↓"} ${row.kind} ×${row.count}`);
  const more = kinds.length > shown.length ? ` and ${kinds.length - shown.length} more` : "";
  for (const line of wrap(terminal(view.redactor.scrub(`${title}: ${shown.join(", ")}${more}`)), view.width - 2))
    yield `  ${line}`;
}

function* summaryLines(diff: CaptureDiff, view: View): Generator<string> {
  const turns = diff.turns.filter((turn) => turn.a !== null || turn.b !== null);
  const onlyA = turns.filter((turn) => turn.b === null).length;
  const onlyB = turns.filter((turn) => turn.a === null).length;
  const same = turns.filter((turn) => turn.same).length;
  const other = turns.length - same - onlyA - onlyB;
  if (diff.same) {
    yield view.paint.good(`the same course in ${many(turns.length, "turn")}`);
    return;
  }
  const parts = [
    other > 0 ? `${many(other, "turn")} differ${other === 1 ? "s" : ""}` : "",
    onlyA > 0 ? `${onlyA} only in a` : "",
    onlyB > 0 ? `${onlyB} only in b` : "",
    same > 0 ? `${same} the same` : "",
  ];
  yield parts.filter((part) => part !== "").join(", ") || "only what belongs to no turn differs";
}

export function* diffJson(diff: CaptureDiff, sides: DiffSides, view: View): Generator<string> {
  const index = (analysis: Analysis) => new Map(analysis.turns.map((turn, i) => [turn, i]));
  const [inA, inB] = [index(sides.a), index(sides.b)];
  const of = (map: ReadonlyMap<Turn, number>, turn: Turn | null) => (turn === null ? null : (map.get(turn) ?? null));
  yield* document(
    [
      ["schema", diffSchema],
      ["a", sides.a.inputs.map((input) => input.path)],
      ["b", sides.b.inputs.map((input) => input.path)],
      ["same", diff.same],
      [
        "turns",
        lazily(diff.turns, (turn) => ({
          a: of(inA, turn.a),
          b: of(inB, turn.b),
          same: turn.same,
          first: divergenceJson(turn.first, sides),
          missing: turn.missing.map((row) => ({ ...row })),
          extra: turn.extra.map((row) => ({ ...row })),
          facts: turn.facts.map((fact) => ({ ...fact })),
        })),
      ],
    ],
    { redactor: view.redactor, names: [], maxBody: view.maxBody },
  );
}

function divergenceJson(first: Divergence | null, sides: DiffSides): Printable {
  if (first === null) return null;
  const message = (side: DivergentMessage | null, analysis: Analysis) =>
    side === null ? null : { kind: side.kind, place: placeText(side.place, analysis.inputNames) };
  return {
    direction: first.direction,
    what: first.what,
    a: message(first.a, sides.a),
    b: message(first.b, sides.b),
    onlyA: first.onlyA,
    onlyB: first.onlyB,
  };
}
