/** Runs talks through framing and the pi session, and gives back what came out. */

import { type Chunk, chunks, type Talk } from "../../../fixtures/pi/make/talk.mjs";
import { DiagnosticLog, type DiagnosticRow } from "../../../src/core/diagnostic.js";
import { defaultLimits } from "../../../src/core/limits.js";
import type { Mark } from "../../../src/core/mark.js";
import type { Printable, Words } from "../../../src/core/printable.js";
import { exactly, millis } from "../../../src/core/time.js";
import { bodyReader } from "../../../src/decode/bodies.js";
import { pi } from "../../../src/dialects/pi/index.js";
import type { Verdict, Violation } from "../../../src/model/check.js";
import type { DialectResult, SessionEvent } from "../../../src/model/dialect.js";
import type { Direction, Exchange, GapReason } from "../../../src/model/exchange.js";
import type { FrameLine, Framing } from "../../../src/model/message.js";
import type { Schemas } from "../../../src/model/schema.js";
import { judged } from "../verdicts.js";

export interface Outcome {
  readonly result: DialectResult;
  readonly frames: readonly FrameLine[];
  readonly diagnostics: readonly DiagnosticRow[];
  readonly violations: readonly Violation[];
  readonly verdicts: readonly Verdict[];
  // biome-ignore lint/suspicious/noExplicitAny: a JSON object, looked into by tests
  readonly connection: any;
}

export interface Piece {
  readonly direction: Direction;
  readonly ms: number;
  readonly bytes?: Uint8Array;
  /** Opcode of a WebSocket message; absent: raw bytes. */
  readonly opcode?: number;
  readonly gap?: { readonly length: number | undefined; readonly why: GapReason };
  readonly end?: "complete" | "reset" | "capture-ended";
}

export interface RunOptions {
  readonly framing?: Framing;
  readonly rolesBy?: "syn" | "port" | "raw";
  readonly untimed?: boolean;
}

const directions = { client: "up", server: "down" } as const;

export function piecesOf(made: Talk): Piece[] {
  const list: Piece[] = chunks(made).map(({ side, ms, bytes }: Chunk) => ({ direction: directions[side], ms, bytes }));
  for (const side of ["client", "server"] as const) {
    const ms = made.ends[side];
    list.push({ direction: directions[side], ms: ms ?? 1e6, end: ms === null ? "capture-ended" : "complete" });
  }
  return list;
}

export function exchangeOf(id: number, options: RunOptions = {}, ms = 0): Exchange {
  const webSocket = options.framing === "websocket";
  return {
    kind: webSocket ? "http" : "bytes",
    id,
    flow: { id, input: 0, client: "192.0.2.1:50000", server: "192.0.2.2:7000", rolesBy: options.rolesBy ?? "syn" },
    request: webSocket
      ? {
          method: "GET",
          authority: "192.0.2.2:7000",
          scheme: "http",
          path: "/pi",
          version: "1.1",
          headers: [{ name: "Upgrade", value: "websocket" }],
        }
      : null,
    opened: options.untimed ? exactly(0n) : exactly(millis(ms + 1)),
    mark: markAt(0, ms + 1, options),
    recorder: options.rolesBy === "raw" ? "log" : "packets",
    durationMs: null,
  };
}

function markAt(packet: number, ms: number, options: RunOptions = {}): Mark {
  return { input: 0, first: packet, last: packet, when: exactly(options.untimed ? 0n : millis(1000 + ms)) };
}

export function run(talks: readonly (readonly Piece[])[], options: RunOptions = {}): Outcome {
  const log = new DiagnosticLog(8);
  const events: SessionEvent[] = [];
  const session = pi.session({
    limits: defaultLimits,
    note: log.note,
    schemas: undefined as unknown as Schemas,
    blobs: { put: () => 0, get: () => new Uint8Array() },
    wantFrames: true,
    wantSteps: true,
    emit: (event) => events.push(event),
  });
  let packet = 0;
  talks.forEach((pieces, id) => {
    const exchange = exchangeOf(id, options);
    session.push({ kind: "open", exchange });
    const readers = new Map(
      (["up", "down"] as const).map((direction) => [
        direction,
        bodyReader({
          exchange,
          direction,
          framing: options.framing ?? "length-prefix",
          headers: [],
          limits: defaultLimits,
          note: log.note,
          hash: false,
          out: (input) => session.push(input),
        }),
      ]),
    );
    for (const piece of pieces) {
      const mark = markAt(packet++, piece.ms, options);
      const { direction, bytes, opcode } = piece;
      const reader = readers.get(direction)!;
      if (bytes !== undefined && opcode !== undefined) {
        const shared = { exchange, direction, bytes, mark, evidence: "exact" } as const;
        reader.push({ kind: "frame", opcode, compressed: false, wireBytes: bytes.length, ...shared });
      } else if (bytes !== undefined) {
        reader.push({ kind: "bytes", exchange, direction, bytes, evidence: "exact", contentDecoded: true, mark });
      }
      if (piece.gap) reader.push({ kind: "gap", exchange, direction, ...piece.gap, mark });
      if (piece.end) reader.push({ kind: "end", exchange, direction, reason: piece.end, by: null, mark });
    }
  });
  const result = session.finish();
  const verdicts = judged(result);
  return {
    result,
    frames: events.flatMap((event) => (event.kind === "frame" ? [event.frame] : [])),
    diagnostics: log.list(),
    verdicts,
    violations: verdicts.filter((verdict) => verdict.verdict === "violated"),
    connection: (result.extra.pi as unknown as { connections: readonly Printable[] } | undefined)?.connections[0],
  };
}

export function runTalk(made: Talk, options: RunOptions = {}): Outcome {
  return run([piecesOf(made)], options);
}

export function severityOf(violation: Violation): string {
  return violation.severity ?? pi.rules.find((rule) => rule.id === violation.rule)!.severity;
}

export function textOf(words: Words): string {
  return words.map((word) => (typeof word === "string" ? word : String(word.value))).join("");
}

/** Marks taken off, for comparing values. */
export function plainOf(value: unknown): unknown {
  if (value === null || typeof value !== "object") return value;
  if ("sensitivity" in value) return (value as unknown as { value: unknown }).value;
  if (Array.isArray(value)) return value.map(plainOf);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainOf(item)]));
}
