/** TLS secrets from key log files (NSS format) and pcapng decryption-secrets blocks. */
import { type Bytes, fromHex, latin1 } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";

export interface KeyLog {
  /**
   * Secret for a client random (hex, lower case) and NSS label ("CLIENT_RANDOM", "CLIENT_TRAFFIC_SECRET_0", …). Two labels go by
   * something else: "RSA" by the first eight bytes of the encrypted premaster secret, "SESSION_ID" by the session id.
   */
  find(clientRandom: string, label: string): Bytes | undefined;
  /** Whether any secret of this client random is known. */
  knows(clientRandom: string): boolean;
  /** Adds the lines of a key log text. */
  add(text: Bytes): void;
  /** Number of distinct secrets; grows whenever something new is learnt. */
  readonly size: number;
  /** How many of them are premaster secrets, from which the master secret is still to be made. */
  readonly premasters: number;
}

export function keyLog(note: Note): KeyLog {
  return new Secrets(note);
}

interface Label {
  /** Hex digits of the name that the secret goes by. */
  readonly name: RegExp;
  readonly secret: RegExp;
}

const random: RegExp = /^[0-9a-f]{64}$/;
const traffic: Label = { name: random, secret: /^(?:[0-9a-f]{64}|[0-9a-f]{96})$/ };

const labels: ReadonlyMap<string, Label> = new Map([
  ["CLIENT_RANDOM", { name: random, secret: /^[0-9a-f]{96}$/ }],
  ["PMS_CLIENT_RANDOM", { name: random, secret: /^(?:[0-9a-f]{2}){1,1024}$/ }],
  ["RSA", { name: /^[0-9a-f]{16}$/, secret: /^[0-9a-f]{96}$/ }],
  ["CLIENT_EARLY_TRAFFIC_SECRET", traffic],
  ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", traffic],
  ["SERVER_HANDSHAKE_TRAFFIC_SECRET", traffic],
]);

const applicationLabel = /^(?:CLIENT|SERVER)_TRAFFIC_SECRET_\d{1,9}$/;
/** As `openssl s_client` prints it, joined to one line. */
const sessionLine = /^RSA Session-ID:([0-9a-f]{2,64}) Master-Key:([0-9a-f]{96})$/i;
/** Any line of the format; those whose label is not for us (EXPORTER_SECRET, QUIC_…, ECH_…) are passed over. */
const line = /^([A-Z][A-Z0-9_]*)\s+([0-9a-f]+)\s+([0-9a-f]+)$/i;

class Secrets implements KeyLog {
  private readonly secrets = new Map<string, Bytes>();
  private readonly names = new Set<string>();
  private learnt = 0;
  private fromPremaster = 0;

  constructor(private readonly note: Note) {}

  get size(): number {
    return this.learnt;
  }

  get premasters(): number {
    return this.fromPremaster;
  }

  find(clientRandom: string, label: string): Bytes | undefined {
    return this.secrets.get(`${label} ${clientRandom}`);
  }

  knows(clientRandom: string): boolean {
    return this.names.has(clientRandom);
  }

  add(text: Bytes): void {
    for (let at = 0; at < text.length; ) {
      const newline = text.indexOf(0x0a, at);
      const end = newline < 0 ? text.length : newline;
      this.addLine(text.subarray(at, Math.min(end, at + maxLineBytes)));
      at = end + 1;
    }
  }

  private addLine(bytes: Bytes): void {
    const text = latin1(bytes)
      .replace(/^\u00ef\u00bb\u00bf/, "")
      .trim();
    if (text === "" || text.startsWith("#")) return;
    const session = sessionLine.exec(text);
    if (session !== null) return this.set("SESSION_ID", session[1]!.toLowerCase(), session[2]!);
    const match = line.exec(text);
    if (match === null) return this.note({ code: "keylog.bad-line" });
    const name = match[2]!.toLowerCase();
    const secret = match[3]!.toLowerCase();
    const label = labels.get(match[1]!) ?? (applicationLabel.test(match[1]!) ? traffic : undefined);
    if (label === undefined) return;
    if (!label.name.test(name) || !label.secret.test(secret)) return this.note({ code: "keylog.bad-line" });
    this.set(match[1]!, name, secret);
  }

  /** A line that says something else than one before it replaces it: that one may have been half a line of a growing file. */
  private set(label: string, name: string, secret: string): void {
    const key = `${label} ${name}`;
    const value = fromHex(secret);
    const before = this.secrets.get(key);
    if (before !== undefined && Buffer.compare(before, value) === 0) return;
    this.secrets.set(key, value);
    this.names.add(name);
    this.learnt++;
    if (label === "RSA" || label === "PMS_CLIENT_RANDOM") this.fromPremaster++;
  }
}

/** More than any line of the format has; the rest of a longer one is not looked at. */
const maxLineBytes = 4096;
