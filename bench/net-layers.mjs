// MB/s of source + pcap + link + IP + TCP alone, with layers that do nothing: bulk data of several flows in packets of 1,448 bytes.
// usage: npx tsx bench/net-layers.mjs [megabytes=300] [flows=4]   (writes bench/data/net-layers.pcap, and removes it)
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ethernet, ipv4, pcap, tcp } from "../fixtures/net/make/packets.mjs";
import { captureFormats } from "../src/capture/index.ts";
import { openSource } from "../src/capture/source.ts";
import { defaultLimits } from "../src/core/limits.ts";
import { newIds } from "../src/model/exchange.ts";
import { netWith } from "../src/net/index.ts";

const megabytes = Number(process.argv[2] ?? 300);
const flowCount = Number(process.argv[3] ?? 4);
const path = fileURLToPath(new URL("data/net-layers.pcap", import.meta.url));

function write() {
  mkdirSync(new URL("data/", import.meta.url), { recursive: true });
  const fd = openSync(path, "w");
  writeSync(fd, pcap([]));
  const payload = Buffer.alloc(1448, 0x2e);
  const seqs = Array.from({ length: flowCount }, (_, flow) => flow * 1000);
  const record = (flow, up, seq, ack, flags, data, micros) => {
    const ends = up ? { from: 40000 + flow, to: 80 } : { from: 80, to: 40000 + flow };
    const [src, dst] = up ? ["192.0.2.1", "198.51.100.1"] : ["198.51.100.1", "192.0.2.1"];
    const bytes = ethernet(0x0800, ipv4({ src, dst }, tcp({ ...ends, seq, ack, flags }, data)));
    const head = Buffer.alloc(16);
    head.writeUInt32LE(1700000000 + Math.floor(micros / 1e6), 0);
    head.writeUInt32LE(micros % 1e6, 4);
    head.writeUInt32LE(bytes.length, 8);
    head.writeUInt32LE(bytes.length, 12);
    return Buffer.concat([head, bytes]);
  };
  let micros = 0;
  const batch = [];
  for (let flow = 0; flow < flowCount; flow++) {
    batch.push(
      record(flow, true, 99, 0, "S", [], micros++),
      record(flow, false, seqs[flow] - 1, 100, "SA", [], micros++),
    );
  }
  let written = 0;
  while (written < megabytes * 1e6) {
    for (let n = 0; n < 64; n++) {
      const flow = n % flowCount;
      batch.push(record(flow, false, seqs[flow], 100, "A", payload, micros++));
      seqs[flow] += payload.length;
      if (n % 8 === 7) batch.push(record(flow, true, 100, seqs[flow], "A", [], micros++));
    }
    const joined = Buffer.concat(batch);
    writeSync(fd, joined);
    written += joined.length;
    batch.length = 0;
  }
  closeSync(fd);
  return written;
}

const nothing = { bytes() {}, gap() {}, end() {}, info: () => null };
const layers = { tls: () => nothing, http1: () => nothing, http2: () => nothing, raw: () => nothing };

function run(wantHashes, hash) {
  const note = (diagnostic) => console.log(diagnostic);
  const keys = { find: () => undefined, knows: () => false, add() {}, size: 0 };
  const context = { limits: defaultLimits, note, sink() {}, ids: newIds(), keys, wantHashes };
  const started = process.hrtime.bigint();
  const cpu = process.cpuUsage();
  const source = openSource(path, { input: 0, hash, limits: defaultLimits, note });
  const format = captureFormats.find((each) => each.matches(source.head()));
  const net = netWith(context, layers);
  let peak = 0;
  for (const packet of format.read(source, { input: 0, limits: defaultLimits, note, keys })) {
    net.push(packet);
    if ((packet.index & 0xffff) === 0) peak = Math.max(peak, process.memoryUsage.rss());
  }
  net.end();
  source.close();
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  const used = process.cpuUsage(cpu);
  const cpuSeconds = (used.user + used.system) / 1e6;
  console.log(
    `${wantHashes ? "flow hashes, " : ""}${hash ? "file hash, " : ""}${net.counts.packets} packets: ${seconds.toFixed(2)} s wall, ` +
      `${cpuSeconds.toFixed(2)} s CPU, ${(source.rawBytes / 1e6 / seconds).toFixed(0)} MB/s, peak RSS ${(peak / 1048576).toFixed(0)} MiB`,
  );
}

try {
  console.log(`${(write() / 1e6).toFixed(0)} MB, ${flowCount} flows`);
  for (let n = 0; n < 3; n++) run(false, false);
  run(true, true);
} finally {
  rmSync(path, { force: true });
}
