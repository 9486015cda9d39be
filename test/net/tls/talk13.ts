/** Writes TLS 1.3 connections record by record, for what no library can be made to send. Secrets are made up, records are real. */
import { type CipherGCMTypes, createCipheriv, createHash } from "node:crypto";
import { type Bytes, concat, hex, utf8Bytes } from "../../../src/core/bytes.js";
import type { Direction } from "../../../src/model/exchange.js";
import { nextTrafficSecret, trafficKeys } from "../../../src/net/tls/keys.js";
import { type Suite, suiteOf } from "../../../src/net/tls/suites.js";

export interface TalkOptions {
  readonly suite?: number;
  readonly alpn?: string;
  readonly sni?: string;
  readonly early?: boolean;
}

export class Talk13 {
  readonly clientRandom: Bytes;
  readonly suite: Suite;
  private readonly state: Record<Direction, { secret: Bytes; sequence: number; name: string; generation: number }>;
  private readonly lines: string[] = [];

  constructor(
    private readonly seed: string,
    private readonly options: TalkOptions = {},
  ) {
    this.suite = suiteOf(options.suite ?? 0x1301);
    this.clientRandom = this.random("client random");
    this.state = {
      up: { secret: this.secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET"), sequence: 0, name: "CLIENT", generation: -1 },
      down: { secret: this.secret("SERVER_HANDSHAKE_TRAFFIC_SECRET"), sequence: 0, name: "SERVER", generation: -1 },
    };
  }

  /** The key log, with the secrets used so far; `but`: without these labels. */
  keylog(but: readonly string[] = []): string {
    const lines = this.lines.filter((line) => !but.some((label) => line.startsWith(`${label} `)));
    return `${lines.join("\n")}\n`;
  }

  private random(name: string): Bytes {
    return new Uint8Array(createHash("sha256").update(`${this.seed} ${name}`).digest());
  }

  private secret(label: string): Bytes {
    const secret = new Uint8Array(createHash(this.suite.hash).update(`${this.seed} ${label}`).digest());
    this.lines.push(`${label} ${hex(this.clientRandom)} ${hex(secret)}`);
    return secret;
  }

  clientHello(): Bytes {
    const { sni, early } = this.options;
    const extensions = [extension(43, Uint8Array.of(2, 3, 4))];
    if (sni !== undefined) {
      extensions.push(extension(0, vector(2, concat([Uint8Array.of(0), vector(2, utf8Bytes(sni))]))));
    }
    if (early) extensions.push(extension(42, new Uint8Array(0)));
    const body = concat([
      Uint8Array.of(3, 3),
      this.clientRandom,
      vector(1, new Uint8Array(0)),
      vector(2, Uint8Array.of(this.suite.id >> 8, this.suite.id & 255)),
      vector(1, Uint8Array.of(0)),
      vector(2, concat(extensions)),
    ]);
    return record(22, message(1, body));
  }

  serverHello(): Bytes {
    const body = concat([
      Uint8Array.of(3, 3),
      this.random("server random"),
      vector(1, new Uint8Array(0)),
      Uint8Array.of(this.suite.id >> 8, this.suite.id & 255, 0),
      vector(2, extension(43, Uint8Array.of(3, 4))),
    ]);
    return record(22, message(2, body));
  }

  encryptedExtensions(earlyTaken = false): Bytes {
    const { alpn } = this.options;
    const list: Bytes[] = [];
    if (alpn !== undefined) list.push(extension(16, vector(2, vector(1, utf8Bytes(alpn)))));
    if (earlyTaken) list.push(extension(42, new Uint8Array(0)));
    return message(8, vector(2, concat(list)));
  }

  finished(): Bytes {
    return message(20, new Uint8Array(this.suite.hash === "sha384" ? 48 : 32));
  }

  /** The server's encrypted flight, one record. */
  serverFlight(earlyTaken = false): Bytes {
    const certificate = message(11, new Uint8Array(300));
    const flight = this.seal("down", 22, concat([this.encryptedExtensions(earlyTaken), certificate, this.finished()]));
    this.applicationKeys("down");
    return flight;
  }

  clientFlight(): Bytes {
    const flight = this.seal("up", 22, this.finished());
    this.applicationKeys("up");
    return flight;
  }

  /** Seals what follows with the early secret, until the client's flight. */
  earlyKeys(): void {
    this.state.up = { secret: this.secret("CLIENT_EARLY_TRAFFIC_SECRET"), sequence: 0, name: "CLIENT", generation: -1 };
  }

  handshakeKeys(direction: Direction): void {
    const { name } = this.state[direction];
    const secret = this.secret(`${name}_HANDSHAKE_TRAFFIC_SECRET`);
    this.state[direction] = { secret, sequence: 0, name, generation: -1 };
  }

  applicationKeys(direction: Direction): void {
    const { name } = this.state[direction];
    const secret = this.secret(`${name}_TRAFFIC_SECRET_0`);
    this.state[direction] = { secret, sequence: 0, name, generation: 0 };
  }

  /** A KeyUpdate record; what follows is under the next keys. */
  keyUpdate(direction: Direction): Bytes {
    const sealed = this.seal(direction, 22, message(24, Uint8Array.of(0)));
    const state = this.state[direction];
    state.secret = nextTrafficSecret(this.suite.hash, state.secret);
    state.sequence = 0;
    state.generation++;
    return sealed;
  }

  text(direction: Direction, text: string, padding = 0): Bytes {
    return this.seal(direction, 23, utf8Bytes(text), padding);
  }

  alert(direction: Direction, level: number, description: number): Bytes {
    return this.seal(direction, 21, Uint8Array.of(level, description));
  }

  /** RFC 8446 section 5.2. */
  seal(direction: Direction, type: number, content: Bytes, padding = 0): Bytes {
    const state = this.state[direction];
    const { cipher } = this.suite;
    if (cipher?.kind !== "aead") throw new Error("an AEAD suite is needed");
    const { key, iv } = trafficKeys(this.suite.hash, state.secret, cipher.keyBytes);
    const nonce = Buffer.from(iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ state.sequence++) >>> 0, 8);
    const inner = concat([content, Uint8Array.of(type), new Uint8Array(padding)]);
    const header = Uint8Array.of(23, 3, 3, (inner.length + 16) >> 8, (inner.length + 16) & 255);
    const sealer = createCipheriv(cipher.name as CipherGCMTypes, key, nonce, { authTagLength: 16 });
    sealer.setAAD(header, { plaintextLength: inner.length });
    const sealed = [sealer.update(inner), sealer.final()];
    return new Uint8Array(concat([header, ...sealed, sealer.getAuthTag()]));
  }
}

export function record(type: number, content: Bytes): Bytes {
  return concat([Uint8Array.of(type, 3, 3, content.length >> 8, content.length & 255), content]);
}

export function message(type: number, body: Bytes): Bytes {
  return concat([Uint8Array.of(type, body.length >> 16, (body.length >> 8) & 255, body.length & 255), body]);
}

function vector(sizeOfLength: 1 | 2, content: Bytes): Bytes {
  const length = sizeOfLength === 1 ? [content.length] : [content.length >> 8, content.length & 255];
  return concat([Uint8Array.from(length), content]);
}

function extension(type: number, data: Bytes): Bytes {
  return concat([Uint8Array.of(type >> 8, type & 255), vector(2, data)]);
}
