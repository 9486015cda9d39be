// Writes of one connection -> Ethernet/IPv4/TCP packets in a classic pcap or a pcapng, MSS 1448, an ACK for every second segment.
import { closeSync, openSync, writeSync } from "node:fs";

const mss = 1448;
const flush = 1 << 22;

class PacketFile {
  constructor(path, format, keyLog) {
    this.fd = openSync(path, "w");
    this.format = format;
    this.parts = [];
    this.held = 0;
    this.size = 0;
    this.micros = Date.UTC(2026, 0, 1) * 1000;
    if (format === "pcap") {
      const head = Buffer.alloc(24);
      head.writeUInt32LE(0xa1b2c3d4, 0);
      head.writeUInt16LE(2, 4);
      head.writeUInt16LE(4, 6);
      head.writeUInt32LE(262144, 16);
      head.writeUInt32LE(1, 20);
      this.put(head);
    } else {
      this.block(0x0a0d0d0a, Buffer.from("4d3c2b1a01000000ffffffffffffffff", "hex"));
      this.block(1, Buffer.from("0100000000000400", "hex"));
      if (keyLog !== undefined) {
        const head = Buffer.alloc(8);
        head.writeUInt32LE(0x544c534b, 0);
        head.writeUInt32LE(keyLog.length, 4);
        this.block(10, Buffer.concat([head, Buffer.from(keyLog)]));
      }
    }
  }

  put(bytes) {
    this.parts.push(bytes);
    this.held += bytes.length;
    this.size += bytes.length;
    if (this.held >= flush) this.drain();
  }

  drain() {
    const all = Buffer.concat(this.parts);
    let at = 0;
    while (at < all.length) at += writeSync(this.fd, all, at);
    this.parts = [];
    this.held = 0;
  }

  block(type, body) {
    const padded = (body.length + 3) & ~3;
    const out = Buffer.alloc(padded + 12);
    out.writeUInt32LE(type, 0);
    out.writeUInt32LE(padded + 12, 4);
    body.copy(out, 8);
    out.writeUInt32LE(padded + 12, padded + 8);
    this.put(out);
  }

  packet(bytes) {
    this.micros += 3;
    if (this.format === "pcap") {
      const head = Buffer.alloc(16);
      head.writeUInt32LE(Math.floor(this.micros / 1e6), 0);
      head.writeUInt32LE(this.micros % 1e6, 4);
      head.writeUInt32LE(bytes.length, 8);
      head.writeUInt32LE(bytes.length, 12);
      this.put(head);
      this.put(bytes);
      return;
    }
    const head = Buffer.alloc(20);
    head.writeUInt32LE(Math.floor(this.micros / 4294967296), 4);
    head.writeUInt32LE((this.micros % 4294967296) >>> 0, 8);
    head.writeUInt32LE(bytes.length, 12);
    head.writeUInt32LE(bytes.length, 16);
    this.block(6, Buffer.concat([head, bytes]));
  }

  close() {
    this.drain();
    closeSync(this.fd);
  }
}

function segment(up, ports, seq, ack, flags, payload) {
  const out = Buffer.alloc(54 + payload.length);
  out.write(up ? "020000000002020000000001" : "020000000001020000000002", 0, "hex");
  out.writeUInt16BE(0x0800, 12);
  out[14] = 0x45;
  out.writeUInt16BE(40 + payload.length, 16);
  out[22] = 64;
  out[23] = 6;
  out.write(up ? "c0000201c0000202" : "c0000202c0000201", 26, "hex");
  out.writeUInt16BE(up ? ports[0] : ports[1], 34);
  out.writeUInt16BE(up ? ports[1] : ports[0], 36);
  out.writeUInt32BE(seq >>> 0, 38);
  out.writeUInt32BE(ack >>> 0, 42);
  out[46] = 0x50;
  out[47] = flags;
  out.writeUInt16BE(0xffff, 48);
  payload.copy(out, 54);
  return out;
}

/** Writes until the file has `bytes`, then closes the connection cleanly; returns the true size. */
export function writePackets(path, format, writes, bytes, options = {}) {
  const file = new PacketFile(path, format, options.keyLog);
  const ports = options.ports ?? [50_000, 8443];
  const seq = { up: 1000, down: 9000 };
  const send = (direction, flags, payload) => {
    const up = direction === "up";
    file.packet(segment(up, ports, seq[direction], seq[up ? "down" : "up"], flags, payload));
    seq[direction] = (seq[direction] + payload.length + (flags & 3 ? 1 : 0)) >>> 0;
  };
  const none = Buffer.alloc(0);
  send("up", 2, none);
  send("down", 18, none);
  send("up", 16, none);
  let segments = 0;
  for (const write of writes) {
    file.micros += write.gapMs * 1000;
    for (let at = 0; at < write.bytes.length; at += mss) {
      send(write.direction, 24, write.bytes.subarray(at, at + mss));
      if (++segments % 2 === 0) send(write.direction === "up" ? "down" : "up", 16, none);
    }
    if (file.size >= bytes) break;
  }
  for (const direction of ["up", "down"]) send(direction, 17, none);
  file.close();
  return file.size;
}
