/** Which conversation and which turn of one capture answers to which of the other. */
import type { Talk } from "./talk.js";

type Pair<T> = readonly [T | null, T | null];

/** Equal ids first (one talk recorded twice), then in order, per dialect. */
export function alignConversations(
  a: readonly (readonly Talk[])[],
  b: readonly (readonly Talk[])[],
): readonly Pair<readonly Talk[]>[] {
  const idOf = (talks: readonly Talk[]) => talks[0]?.turn?.conversationId ?? null;
  const dialectOf = (talks: readonly Talk[]) => talks[0]?.turn?.dialect ?? null;
  const free = new Set(b);
  const partner = new Map<readonly Talk[], readonly Talk[]>();
  const byId = new Map(b.flatMap((talks) => (idOf(talks) === null ? [] : [[idOf(talks), talks] as const])));
  for (const talks of a) {
    const other = idOf(talks) === null ? undefined : byId.get(idOf(talks));
    if (other === undefined || !free.has(other)) continue;
    partner.set(talks, other);
    free.delete(other);
  }
  for (const talks of a) {
    if (partner.has(talks)) continue;
    const other = [...free].find((candidate) => dialectOf(candidate) === dialectOf(talks));
    if (other === undefined) continue;
    partner.set(talks, other);
    free.delete(other);
  }
  const pairs: Pair<readonly Talk[]>[] = a.map((talks) => [talks, partner.get(talks) ?? null]);
  return [...pairs, ...[...free].map((talks): Pair<readonly Talk[]> => [null, talks])];
}

/** Above this many comparisons turns are paired by their ordinal. */
const alignLimit = 4_000_000;

/** By request id where both have it, else by what was asked (longest common subsequence), else by ordinal. */
export function alignTurns(a: readonly Talk[], b: readonly Talk[]): readonly Pair<Talk>[] {
  if (a.length === b.length || a.length * b.length > alignLimit) return byOrdinal(a, b);
  return closeGaps(byQuestion(a, b));
}

/** Between two pairs that match, what is left on both sides is paired in order: another question in the same place. */
function closeGaps(pairs: readonly Pair<Talk>[]): readonly Pair<Talk>[] {
  const out: Pair<Talk>[] = [];
  let onlyA: Talk[] = [];
  let onlyB: Talk[] = [];
  const flush = () => {
    out.push(...byOrdinal(onlyA, onlyB));
    onlyA = [];
    onlyB = [];
  };
  for (const pair of pairs) {
    const [one, other] = pair;
    if (one !== null && other !== null) {
      flush();
      out.push(pair);
    } else if (one !== null) onlyA.push(one);
    else if (other !== null) onlyB.push(other);
  }
  flush();
  return out;
}

function byOrdinal(a: readonly Talk[], b: readonly Talk[]): readonly Pair<Talk>[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i): Pair<Talk> => [a[i] ?? null, b[i] ?? null]);
}

function question({ turn }: Talk): string {
  return `${turn?.requestId ?? ""}\n${turn?.action ?? ""}\n${turn?.prompt ?? ""}`;
}

function alike(a: Talk, b: Talk): boolean {
  if (a.turn !== null && b.turn !== null && a.turn.requestId !== null && a.turn.requestId === b.turn.requestId)
    return true;
  return question(a).replace(/^.*\n/, "") === question(b).replace(/^.*\n/, "");
}

function byQuestion(a: readonly Talk[], b: readonly Talk[]): readonly Pair<Talk>[] {
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = alike(a[i]!, b[j]!)
        ? best[(i + 1) * width + j + 1]! + 1
        : Math.max(best[(i + 1) * width + j]!, best[i * width + j + 1]!);
    }
  }
  const pairs: Pair<Talk>[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && alike(a[i]!, b[j]!)) pairs.push([a[i++]!, b[j++]!]);
    else if (j >= b.length || (i < a.length && best[(i + 1) * width + j]! >= best[i * width + j + 1]!))
      pairs.push([a[i++]!, null]);
    else pairs.push([null, b[j++]!]);
  }
  return pairs;
}
