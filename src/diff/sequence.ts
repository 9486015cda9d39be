/** The messages of one direction and channel, reduced to their course, and where two courses part. */

import { by } from "../core/order.js";
import type { Divergence, KindCount } from "../model/diff.js";
import type { Direction } from "../model/exchange.js";
import type { TalkMessage } from "./talk.js";

export interface Leg {
  readonly kind: string;
  readonly fields: ReadonlySet<string>;
  readonly message: TalkMessage;
}

/** Longest pattern of kinds whose repetition says nothing (text, token, text, token, …). */
const longestCycle = 4;

/**
 * Runs of one kind become one leg, repeated patterns one pattern: how often a model spoke is no difference. Messages that each have an
 * exchange of their own (appends on several connections) arrive in any order: they are compared by kind.
 */
export function course(messages: readonly TalkMessage[]): readonly Leg[] {
  const ordered = isOrdered(messages);
  const list = ordered
    ? messages
    : [...messages].sort(
        by(
          (message) => message.kind,
          (message) => message.ordinal,
        ),
      );
  const legs: { kind: string; fields: Set<string>; message: TalkMessage }[] = [];
  for (const message of list) {
    const last = legs.at(-1);
    if (last !== undefined && last.kind === message.kind) for (const field of message.fields) last.fields.add(field);
    else legs.push({ kind: message.kind, fields: new Set(message.fields), message });
    if (ordered) dropCycle(legs);
  }
  return legs;
}

function isOrdered(messages: readonly TalkMessage[]): boolean {
  return messages.every((message) => message.exchange === messages[0]!.exchange);
}

function dropCycle(legs: { kind: string; fields: Set<string> }[]): void {
  for (let length = 2; length <= longestCycle; length++) {
    const from = legs.length - 2 * length;
    if (from < 0) return;
    let same = true;
    for (let i = 0; i < length && same; i++) same = legs[from + i]!.kind === legs[from + length + i]!.kind;
    if (!same) continue;
    for (let i = 0; i < length; i++) {
      for (const field of legs[from + length + i]!.fields) legs[from + i]!.fields.add(field);
    }
    legs.length -= length;
    return;
  }
}

export function firstDivergence(
  a: readonly TalkMessage[],
  b: readonly TalkMessage[],
): { divergence: Divergence; ordinal: number } | null {
  const lanes = new Map([...a, ...b].map((message) => [`${message.direction} ${message.channel}`, message]));
  const found = [...lanes.values()].flatMap(({ direction, channel }) => {
    const lane = (messages: readonly TalkMessage[]) =>
      messages.filter((message) => message.direction === direction && message.channel === channel);
    const one = parting(course(lane(a)), course(lane(b)), direction);
    return one === null ? [] : [{ ...one, ordered: isOrdered(lane(a)) && isOrdered(lane(b)) }];
  });
  // Where the order means something, "first" does too.
  found.sort(
    by(
      (row) => !row.ordered,
      (row) => row.ordinal,
    ),
  );
  return found[0] ?? null;
}

function parting(
  a: readonly Leg[],
  b: readonly Leg[],
  direction: Direction,
): { divergence: Divergence; ordinal: number } | null {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    if (a[i]!.kind !== b[i]!.kind) return otherKind(a, b, i, direction);
    const onlyA = [...a[i]!.fields].filter((field) => !b[i]!.fields.has(field));
    const onlyB = [...b[i]!.fields].filter((field) => !a[i]!.fields.has(field));
    if (onlyA.length + onlyB.length > 0) return made("fields", a[i], b[i], direction, onlyA, onlyB);
  }
  if (a.length > shared) return made("missing", a[shared], undefined, direction);
  return b.length > shared ? made("extra", undefined, b[shared], direction) : null;
}

function otherKind(a: readonly Leg[], b: readonly Leg[], at: number, direction: Direction) {
  const later = (legs: readonly Leg[], kind: string) => legs.slice(at + 1).some((leg) => leg.kind === kind);
  const bHasA = later(b, a[at]!.kind);
  const aHasB = later(a, b[at]!.kind);
  if (bHasA && aHasB) return made("order", a[at], b[at], direction);
  if (bHasA) return made("extra", undefined, b[at], direction);
  if (aHasB) return made("missing", a[at], undefined, direction);
  return made("kind", a[at], b[at], direction);
}

function made(
  what: Divergence["what"],
  a: Leg | undefined,
  b: Leg | undefined,
  direction: Direction,
  onlyA: readonly string[] = [],
  onlyB: readonly string[] = [],
): { divergence: Divergence; ordinal: number } {
  const message = (leg: Leg | undefined) => (leg === undefined ? null : { kind: leg.kind, place: leg.message.place });
  return {
    divergence: { direction, what, a: message(a), b: message(b), onlyA, onlyB },
    ordinal: (a ?? b)!.message.ordinal,
  };
}

/** How often these come depends on what the model said, never on the protocol. */
const spoken = /delta|token|progress|partial|chunk|output|stdout|stderr/i;

/**
 * For turns of one course whose facts differ in number: the first message that is one more of its kind than the other side has. A run of
 * one kind is a single leg of the course, so an added set or call shows only here.
 */
export function firstSurplus(
  a: readonly TalkMessage[],
  b: readonly TalkMessage[],
): { divergence: Divergence; ordinal: number } | null {
  const [inA, inB] = [byKind(a), byKind(b)];
  const found = [...new Set([...inA.keys(), ...inB.keys()])].flatMap((key) => {
    const [x, y] = [inA.get(key) ?? [], inB.get(key) ?? []];
    if (x.length === y.length) return [];
    const message = (x[y.length] ?? y[x.length])!;
    const leg: Leg = { kind: message.kind, fields: message.fields, message };
    return [
      x.length > y.length
        ? made("missing", leg, undefined, message.direction)
        : made("extra", undefined, leg, message.direction),
    ];
  });
  // An answer follows from its request: what the server began comes first.
  found.sort(
    by(
      (row) => row.divergence.direction === "up",
      (row) => row.ordinal,
    ),
  );
  return found[0] ?? null;
}

function byKind(messages: readonly TalkMessage[]): ReadonlyMap<string, readonly TalkMessage[]> {
  const kinds = new Map<string, TalkMessage[]>();
  for (const message of messages) {
    if (spoken.test(message.kind)) continue;
    const key = `${message.direction} ${message.kind}`;
    const list = kinds.get(key);
    if (list === undefined) kinds.set(key, [message]);
    else list.push(message);
  }
  return kinds;
}

/** Kinds that only the first list has. */
export function kindsMissing(a: readonly TalkMessage[], b: readonly TalkMessage[]): readonly KindCount[] {
  const there = new Set(b.map((message) => `${message.direction} ${message.kind}`));
  const counts = new Map<string, { direction: Direction; kind: string; count: number }>();
  for (const { direction, kind } of a) {
    const key = `${direction} ${kind}`;
    if (there.has(key)) continue;
    const row = counts.get(key) ?? { direction, kind, count: 0 };
    row.count++;
    counts.set(key, row);
  }
  return [...counts.values()];
}
