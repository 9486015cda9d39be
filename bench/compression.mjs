// Where fflate and Node's zlib meet: microseconds per message to undo gzip and deflate, checksums included, by compressed size. The result is
// `fflateBytes` in src/decode/compression.ts. Run: node bench/compression.mjs
import { crc32, deflateSync, gunzipSync, gzipSync, inflateSync as zlibInflateSync } from "node:zlib";
import { inflateSync } from "fflate";

/** Text like agent traffic: JSON with prose and code in it. */
function sample(size) {
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state / 4294967296;
  };
  const words = Array.from({ length: 400 }, () =>
    Array.from({ length: 2 + next() * 9 }, () => String.fromCharCode(97 + next() * 26)).join(""),
  );
  let text = '{"role":"assistant","content":"';
  while (text.length < size)
    text += `${words[Math.floor(next() * words.length)]} ${next() < 0.1 ? `${Math.floor(next() * 1e6)} ` : ""}`;
  return Buffer.from(text.slice(0, size));
}

function adler32(bytes) {
  let a = 1;
  let b = 0;
  for (let i = 0; i < bytes.length; ) {
    const stop = Math.min(bytes.length, i + 3800);
    for (; i < stop; i++) {
      a += bytes[i];
      b += a;
    }
    a %= 65521;
    b %= 65521;
  }
  return ((b << 16) | a) >>> 0;
}

function micros(run, bytes) {
  const rounds = Math.max(20, Math.min(4000, Math.floor(4e6 / bytes)));
  let best = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < 7; repeat++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < rounds; i++) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1000 / rounds);
  }
  return best;
}

const scratch = new Uint8Array(2_000_000);
const inflate = (raw) => inflateSync(raw, { out: scratch }).slice();

const row = (...cells) => console.log(cells.map((cell) => String(cell).padStart(12)).join(""));
row("plain", "compressed", "gzip fflate", "gzip zlib", "defl. fflate", "defl. zlib");
const repeated = (size) => Buffer.from('{"a":1,"bb":"text"},'.repeat(size / 20));
const sizes = [200, 500, 1000, 2000, 4000, 8000, 16_000, 64_000, 256_000, 1_000_000];
for (const plain of [...sizes.map(sample), ...sizes.slice(0, 8).map(repeated)]) {
  const size = plain.length;
  const gzip = new Uint8Array(gzipSync(plain));
  const deflate = new Uint8Array(deflateSync(plain));
  const times = [
    () => crc32(inflate(gzip.subarray(10, -8))),
    () => gunzipSync(gzip),
    () => adler32(inflate(deflate.subarray(2, -4))),
    () => zlibInflateSync(deflate),
  ].map((run) => micros(run, size).toFixed(1));
  row(size, gzip.length, ...times);
}
