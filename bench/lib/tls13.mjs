// Wraps the writes of one connection into TLS 1.3 (AES-128-GCM, invented secrets) and gives the key log that opens it.
import { createCipheriv, createHmac } from "node:crypto";

const u16 = (value) => Buffer.from([value >> 8, value & 255]);
const u24 = (value) => Buffer.from([value >> 16, (value >> 8) & 255, value & 255]);
const vector = (size, body) =>
  Buffer.concat([size === 1 ? Buffer.from([body.length]) : size === 2 ? u16(body.length) : u24(body.length), body]);
const extension = (type, body) => Buffer.concat([u16(type), vector(2, body)]);
const handshake = (type, body) => Buffer.concat([Buffer.from([type]), vector(3, body)]);
const record = (type, body) => Buffer.concat([Buffer.from([type, 3, 3]), u16(body.length), body]);
const secret = (fill) => Buffer.alloc(32, fill);

// RFC 8446 7.1, HKDF-Expand-Label with one block of output (32 bytes are enough for every key here).
function expand(key, label, length) {
  const info = Buffer.concat([u16(length), vector(1, Buffer.from(`tls13 ${label}`)), vector(1, Buffer.alloc(0))]);
  return createHmac("sha256", key)
    .update(Buffer.concat([info, Buffer.from([1])]))
    .digest()
    .subarray(0, length);
}

class Sealer {
  constructor(trafficSecret) {
    this.key = expand(trafficSecret, "key", 16);
    this.iv = expand(trafficSecret, "iv", 12);
    this.sequence = 0n;
  }

  seal(type, body) {
    const nonce = Buffer.from(this.iv);
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(this.sequence++);
    for (let i = 0; i < 8; i++) nonce[4 + i] ^= counter[i];
    const head = Buffer.from([23, 3, 3, 0, 0]);
    head.writeUInt16BE(body.length + 17, 3);
    const cipher = createCipheriv("aes-128-gcm", this.key, nonce);
    cipher.setAAD(head);
    return Buffer.concat([
      head,
      cipher.update(body),
      cipher.update(Buffer.from([type])),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
  }
}

const clientRandom = Buffer.alloc(32, 0xc1);

export const keyLog = [
  ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", 1],
  ["SERVER_HANDSHAKE_TRAFFIC_SECRET", 2],
  ["CLIENT_TRAFFIC_SECRET_0", 3],
  ["SERVER_TRAFFIC_SECRET_0", 4],
]
  .map(([label, fill]) => `${label} ${clientRandom.toString("hex")} ${secret(fill).toString("hex")}\n`)
  .join("");

function clientHello() {
  const name = Buffer.from("agent.example.test");
  const share = Buffer.concat([u16(29), vector(2, Buffer.alloc(32, 9))]);
  const extensions = Buffer.concat([
    extension(0, vector(2, Buffer.concat([Buffer.from([0]), vector(2, name)]))),
    extension(10, vector(2, u16(29))),
    extension(13, vector(2, u16(0x0804))),
    extension(16, vector(2, vector(1, Buffer.from("h2")))),
    extension(43, vector(1, u16(0x0304))),
    extension(51, vector(2, share)),
  ]);
  return handshake(
    1,
    Buffer.concat([
      u16(0x0303),
      clientRandom,
      vector(1, Buffer.alloc(32, 7)),
      vector(2, u16(0x1301)),
      vector(1, Buffer.from([0])),
      vector(2, extensions),
    ]),
  );
}

function serverHello() {
  const share = Buffer.concat([u16(29), vector(2, Buffer.alloc(32, 8))]);
  const extensions = Buffer.concat([extension(43, u16(0x0304)), extension(51, share)]);
  return handshake(
    2,
    Buffer.concat([
      u16(0x0303),
      Buffer.alloc(32, 0x5e),
      vector(1, Buffer.alloc(32, 7)),
      u16(0x1301),
      Buffer.from([0]),
      vector(2, extensions),
    ]),
  );
}

/** The same writes, sealed: the handshake first, then every write in records of at most 16 KiB. */
export function* sealed(writes) {
  const hs = { up: new Sealer(secret(1)), down: new Sealer(secret(2)) };
  const app = { up: new Sealer(secret(3)), down: new Sealer(secret(4)) };
  yield { direction: "up", bytes: record(22, clientHello()), gapMs: 1 };
  const encrypted = handshake(8, vector(2, extension(16, vector(2, vector(1, Buffer.from("h2"))))));
  yield {
    direction: "down",
    bytes: Buffer.concat([
      record(22, serverHello()),
      hs.down.seal(22, Buffer.concat([encrypted, handshake(20, Buffer.alloc(32, 1))])),
    ]),
    gapMs: 1,
  };
  yield { direction: "up", bytes: hs.up.seal(22, handshake(20, Buffer.alloc(32, 2))), gapMs: 1 };
  for (const write of writes) {
    const records = [];
    for (let at = 0; at < write.bytes.length; at += 16_384)
      records.push(app[write.direction].seal(23, write.bytes.subarray(at, at + 16_384)));
    yield { ...write, bytes: Buffer.concat(records) };
  }
}
