// Turns -> HTTP/2 frames of one connection, both directions, as an ordered list of writes.
import hpack from "hpack.js";
import { headersOf, hosts } from "./traffic.mjs";

const maxFrame = 16_384;

function h2frame(type, flags, stream, payload) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header blocks of one direction: repeated fields by index, other texts in Huffman code where that is shorter, as real clients send them. */
function headerBlocks() {
  const compressor = hpack.compressor.create({ table: { maxSize: 4096, protocolMaxSize: 4096 } });
  return (fields) => {
    compressor.write(fields.map(([name, value]) => ({ name, value, incremental: name !== ":path" })));
    return compressor.read();
  };
}

function* data(stream, body, end) {
  for (let at = 0; at < body.length || at === 0; at += maxFrame) {
    const part = body.subarray(at, at + maxFrame);
    yield h2frame(0, end && at + maxFrame >= body.length ? 1 : 0, stream, part);
    if (body.length === 0) return;
  }
}

const request = (path, headers) => [
  [":method", "POST"],
  [":scheme", "https"],
  [":authority", hosts.authority],
  [":path", path],
  ...headers,
];
const response = (headers) => [[":status", "200"], ...headers];

/** Yields `{ direction: "up" | "down", bytes, gapMs }`. */
export function* http2Writes(turns) {
  const requestBlock = headerBlocks();
  const responseBlock = headerBlocks();
  yield {
    direction: "up",
    bytes: Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2frame(4, 0, 0, Buffer.alloc(0))]),
    gapMs: 1,
  };
  yield {
    direction: "down",
    bytes: Buffer.concat([h2frame(4, 0, 0, Buffer.alloc(0)), h2frame(4, 1, 0, Buffer.alloc(0))]),
    gapMs: 1,
  };
  let stream = 1;
  for (const turn of turns) {
    const headers = headersOf(turn.requestId);
    const run = stream;
    stream += 2;
    yield {
      direction: "up",
      bytes: Buffer.concat([
        h2frame(1, 4, run, requestBlock(request(hosts.runPath, headers.runRequest))),
        ...data(run, turn.run.request, true),
      ]),
      gapMs: 1,
    };
    yield { direction: "down", bytes: h2frame(1, 4, run, responseBlock(response(headers.runResponse))), gapMs: 1 };
    const appends = [...turn.appends];
    const append = function* () {
      const body = appends.shift();
      if (body === undefined) return;
      const id = stream;
      stream += 2;
      yield {
        direction: "up",
        bytes: Buffer.concat([
          h2frame(1, 4, id, requestBlock(request(hosts.appendPath, headers.appendRequest))),
          ...data(id, body, true),
        ]),
        gapMs: 1,
      };
      yield { direction: "down", bytes: h2frame(1, 5, id, responseBlock(response(headers.appendResponse))), gapMs: 1 };
    };
    yield* append();
    const frames = turn.run.frames;
    for (const [i, frame] of frames.entries()) {
      if (i === frames.length - 3) while (appends.length > 0) yield* append();
      yield {
        direction: "down",
        bytes: Buffer.concat([...data(run, frame, i === frames.length - 1)]),
        gapMs: frame.length > 1000 ? 2 : 20,
      };
    }
  }
}
