/** Reads fixtures, runs a TLS layer over chunks and gathers what it hands inward. */
import { readdirSync, readFileSync } from "node:fs";
import { type KeyLog, keyLog } from "../../../src/capture/keylog.js";
import { type Bytes, concat, latin1, utf8Bytes } from "../../../src/core/bytes.js";
import type { Diagnostic, DiagnosticCode } from "../../../src/core/diagnostic.js";
import { defaultLimits, type Limits } from "../../../src/core/limits.js";
import type { Mark } from "../../../src/core/mark.js";
import { exactly } from "../../../src/core/time.js";
import type { Direction, TlsInfo } from "../../../src/model/exchange.js";
import type { Duplex, LayerContext } from "../../../src/net/duplex.js";
import { type TlsLayer, tlsLayer } from "../../../src/net/tls/index.js";

const folder = new URL("../../../fixtures/tls/", import.meta.url);

export interface Fixture {
  readonly says: {
    readonly version: string;
    readonly cipher: string;
    readonly sni: string;
    readonly alpn: string | null;
    readonly resumed: boolean;
  };
  readonly keylog: string;
  readonly up: string;
  readonly down: string;
  readonly chunks: readonly Chunk[];
}

export type Chunk = readonly [Direction, Bytes];

export const fixtureNames = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => name.slice(0, -".json".length));

export function fixture(name: string): Fixture {
  const raw = JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) as Omit<Fixture, "chunks"> & {
    chunks: [Direction, string][];
  };
  return {
    ...raw,
    chunks: raw.chunks.map(([direction, text]) => [direction, new Uint8Array(Buffer.from(text, "base64"))]),
  };
}

export function markOf(packet: number): Mark {
  return { input: 0, first: packet, last: packet, when: exactly(BigInt(packet) * 1_000_000n) };
}

export interface Handed {
  readonly direction: Direction;
  readonly text: string;
  readonly mark: Mark;
}

export class Run {
  readonly diagnostics: Diagnostic[] = [];
  readonly handed: Handed[] = [];
  /** "gap up 12 tcp-gap", "end down complete", in order. */
  readonly events: string[] = [];
  readonly alpns: (string | null)[] = [];
  readonly keys: KeyLog;
  readonly layer: TlsLayer;
  private packet = 0;

  constructor(keylog: string | KeyLog, limits: Partial<Limits> = {}) {
    const note = (diagnostic: Diagnostic) => {
      this.diagnostics.push(diagnostic);
    };
    this.keys = typeof keylog === "string" ? keysOf(keylog) : keylog;
    const context: LayerContext = {
      flow: { id: 0, input: 0, client: "192.0.2.1:50000", server: "192.0.2.2:443", rolesBy: "syn" },
      limits: { ...defaultLimits, ...limits },
      note,
      sink: () => {},
      ids: { flow: () => 0, exchange: () => 0 },
      protocol: () => {},
      inner: () => this.inner(),
    };
    this.layer = tlsLayer(context, this.keys, (alpn) => {
      this.alpns.push(alpn);
      return this.inner();
    });
  }

  private inner(): Duplex {
    return {
      bytes: (direction, bytes, mark) => {
        this.handed.push({ direction, text: latin1(bytes), mark });
        this.events.push(`bytes ${direction}`);
      },
      gap: (direction, length, why) => this.events.push(`gap ${direction} ${length} ${why}`),
      end: (direction, reason) => this.events.push(`end ${direction} ${reason}`),
    };
  }

  bytes(direction: Direction, bytes: Bytes): this {
    this.layer.bytes(direction, bytes, markOf(this.packet++));
    return this;
  }

  gap(direction: Direction, length: number | undefined): this {
    this.layer.gap(direction, length, "tcp-gap", markOf(this.packet));
    return this;
  }

  feed(chunks: Iterable<Chunk>): this {
    for (const [direction, bytes] of chunks) this.bytes(direction, bytes);
    return this;
  }

  end(reason: "complete" | "reset" | "capture-ended" = "complete"): this {
    this.layer.end("up", reason, null, markOf(this.packet));
    this.layer.end("down", reason, null, markOf(this.packet));
    return this;
  }

  text(direction: Direction): string {
    return this.handed
      .filter((item) => item.direction === direction)
      .map((item) => item.text)
      .join("");
  }

  get info(): TlsInfo {
    return this.layer.info();
  }

  get codes(): DiagnosticCode[] {
    return this.diagnostics.map((diagnostic) => diagnostic.code);
  }

  /** Events without the bytes. */
  get gapsAndEnds(): string[] {
    return this.events.filter((event) => !event.startsWith("bytes"));
  }
}

export function keysOf(text: string): KeyLog {
  const keys = keyLog(() => {});
  keys.add(utf8Bytes(text));
  return keys;
}

/** All bytes of one direction. */
export function stream(chunks: readonly Chunk[], direction: Direction): Bytes {
  return concat(chunks.filter(([from]) => from === direction).map(([, bytes]) => bytes));
}

/** The records of one direction's bytes. */
export function records(bytes: Bytes): Bytes[] {
  const out: Bytes[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 5 + ((bytes[at + 3]! << 8) | bytes[at + 4]!);
    out.push(bytes.subarray(at, end));
    at = end;
  }
  return out;
}
