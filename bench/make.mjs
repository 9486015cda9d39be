// Makes the benchmark captures in bench/data: node bench/make.mjs NAME [megabytes]. Names: see `files` below.
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { http2Writes } from "./lib/http2.mjs";
import { keyLog, sealed } from "./lib/tls13.mjs";
import { turns } from "./lib/traffic.mjs";
import { writeHar } from "./lib/write-har.mjs";
import { writePackets } from "./lib/write-pcap.mjs";

export const dataFolder = join(dirname(fileURLToPath(import.meta.url)), "data");
const MB = 1_000_000;

// dense: short appends and deltas only, the dearest HAR there is per byte. heavy: attachments and long tool output dominate.
const dense = {
  turnsPerConversation: 20,
  deltas: 60,
  textBlobs: 6,
  textBytes: 2_000,
  noiseBlobs: 0,
  noiseBytes: 0,
  hex: true,
};
const heavy = {
  turnsPerConversation: 5,
  deltas: 200,
  textBlobs: 8,
  textBytes: 40_000,
  noiseBlobs: 4,
  noiseBytes: 900_000,
  hex: false,
};
// recorded: a turn as the recorded talks have them: 60 frames, ten sets (two above 1 KiB, packed about 3:1), one get answered in hex, 12 appends.
const recorded = {
  turnsPerConversation: 10,
  deltas: 45,
  smallBlobs: 4,
  textBlobs: 1,
  textBytes: 5_000,
  noiseBlobs: 0,
  noiseBytes: 0,
  stateBytes: 35_000,
  gets: 1,
  hex: true,
  promptBytes: 300,
};
// images: attachments that do not compress inside of gzip, the dearest traffic there is per byte.
const images = {
  turnsPerConversation: 10,
  deltas: 400,
  textBlobs: 10,
  textBytes: 8_000,
  noiseBlobs: 2,
  noiseBytes: 300_000,
  hex: true,
  promptBytes: 3_000,
};

export const files = {
  "many.har": { megabytes: 220, make: (path, bytes) => writeHar(path, turns(recorded), bytes) },
  "dense.har": { megabytes: 110, make: (path, bytes) => writeHar(path, turns(dense), bytes) },
  "heavy.har": { megabytes: 510, make: (path, bytes) => writeHar(path, turns(heavy), bytes) },
  "huge.har": { megabytes: 2_050, make: (path, bytes) => writeHar(path, turns(heavy), bytes) },
  "plain.pcap": {
    megabytes: 310,
    make: (path, bytes) => writePackets(path, "pcap", http2Writes(turns(recorded)), bytes),
  },
  "images.pcap": {
    megabytes: 310,
    make: (path, bytes) => writePackets(path, "pcap", http2Writes(turns(images)), bytes),
  },
  "tls.pcapng": {
    megabytes: 310,
    make: (path, bytes) => {
      writeFileSync(`${path}.keys`, keyLog);
      return writePackets(path, "pcapng", sealed(http2Writes(turns(recorded))), bytes);
    },
  },
};

/** Path of the named file, made unless it is there with about the wanted size. */
export function ensure(name, megabytes = files[name].megabytes, as = name) {
  mkdirSync(dataFolder, { recursive: true });
  const path = join(dataFolder, as);
  const there = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (there < megabytes * MB || there > megabytes * MB * 1.1) files[name].make(path, megabytes * MB);
  return path;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, megabytes] = process.argv.slice(2);
  if (!Object.hasOwn(files, name ?? "")) {
    console.error(`usage: node bench/make.mjs ${Object.keys(files).join("|")} [megabytes]`);
    process.exitCode = 2;
  } else console.log(ensure(name, megabytes === undefined ? undefined : Number(megabytes)));
}
