// Agent traffic for benchmarks: turns of one or more conversations as a stream of exchanges, blobs hashed, checkpoints closed.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { envelope, int, len, message } from "./protobuf.mjs";
import { noisePool, random, textPool, uuid } from "./random.mjs";

const sha256 = (bytes) => createHash("sha256").update(bytes).digest();
const streamType = "application/connect+proto";

/** Frames of at least 1 KiB are compressed when that helps, as a real server does. */
function frame(payload) {
  if (payload.length < 1024) return envelope(0, payload);
  const packed = gzipSync(payload, { level: 1 });
  return packed.length < payload.length * 0.9 ? envelope(1, packed) : envelope(0, payload);
}

const serverFrame = (number, body) => frame(len(number, body));
const interaction = (number, body) => envelope(0, len(1, len(number, body)));

/**
 * Yields turns `{ index, requestId, run: { request, frames: Buffer[] }, appends: Buffer[] }`; `appends` are BidiAppendRequest bodies.
 * options: seed; deltas per turn; blobs: [count, textBytes, noiseBytes]; hex: appends as hex text; turnsPerConversation.
 */
export function* turns(options) {
  const next = random(options.seed ?? 1);
  const text = textPool(next);
  const noise = noisePool(next);
  let known = { roots: [], turns: [] };
  let stored = null;
  for (let index = 0; ; index++) {
    const ordinal = index % options.turnsPerConversation;
    if (ordinal === 0) {
      known = { roots: [], turns: [] };
      stored = null;
    }
    const conversation = uuid(0xc0, Math.floor(index / options.turnsPerConversation));
    const requestId = uuid(0xa0, index);
    const bidi = len(1, requestId);
    const append = (seqno, inner) =>
      message(
        options.hex ? len(1, inner.toString("hex")) : Buffer.alloc(0),
        len(2, bidi),
        int(3, seqno),
        options.hex ? Buffer.alloc(0) : len(4, inner),
      );
    const frames = [interaction(13, Buffer.alloc(0))];
    const appends = [];
    let seqno = 0;
    const action = len(1, len(1, message(len(1, text.slice(options.promptBytes ?? 400)), len(2, uuid(0xb0, index)))));
    // What the last checkpoint said.
    const state = stateOf(known);
    appends.push(
      append(seqno++, len(1, message(len(1, state), len(2, action), len(5, conversation), len(25, requestId)))),
    );
    const set = (content) => {
      const id = sha256(content);
      const kv = frames.kv ?? 0;
      frames.kv = kv + 1;
      frames.push(serverFrame(4, message(int(1, kv), len(3, message(len(1, id), len(2, content))))));
      appends.push(append(seqno++, len(3, message(int(1, kv), len(3, Buffer.alloc(0))))));
      return id;
    };
    const roots = [
      set(Buffer.from(JSON.stringify({ role: "user", content: text.slice(options.promptBytes ?? 400).toString() }))),
    ];
    for (let i = 0; i < (options.gets ?? 0) && stored !== null; i++) {
      const kv = frames.kv++;
      frames.push(serverFrame(4, message(int(1, kv), len(2, len(1, stored.id)))));
      appends.push(append(seqno++, len(3, message(int(1, kv), len(2, len(1, stored.content))))));
    }
    const streamed = [];
    for (let i = 0; i < options.deltas; i++) {
      const delta = text.slice(12 + Math.floor(next() * 40));
      streamed.push(delta);
      frames.push(interaction(1, len(1, delta)));
    }
    const user = set(message(len(1, "invented prompt"), len(2, uuid(0xb0, index))));
    const steps = [];
    for (let i = 0; i < (options.smallBlobs ?? 0); i++) steps.push(set(toolStep(text.slice(280))));
    if (options.stateBytes !== undefined) {
      const content = Buffer.from(
        JSON.stringify({ role: "system", content: `${index} ${text.slice(options.stateBytes)}` }),
      );
      stored = { content, id: set(content) };
      roots.push(stored.id);
    }
    for (let i = 0; i < options.textBlobs; i++) steps.push(set(toolStep(text.slice(options.textBytes))));
    steps.push(set(len(1, len(1, Buffer.concat(streamed)))));
    for (let i = 0; i < options.noiseBlobs; i++)
      roots.push(
        set(
          Buffer.from(
            JSON.stringify({
              role: "user",
              content: [{ type: "image", image: noise.slice(options.noiseBytes).toString("base64") }],
            }),
          ),
        ),
      );
    const turn = set(len(1, message(len(1, user), ...steps.map((id) => len(2, id)), len(3, requestId))));
    known = { roots: [...known.roots, ...roots], turns: [...known.turns, turn] };
    frames.push(interaction(14, message(int(1, 1000 + index), int(2, 50), int(3, 10))));
    frames.push(serverFrame(3, stateOf(known)));
    frames.push(envelope(2, Buffer.from("{}")));
    yield { index, conversation, requestId, run: { request: envelope(0, bidi), frames }, appends };
  }
}

/** A conversation state: prompt messages and turns so far. */
const stateOf = ({ roots, turns }) => message(...roots.map((id) => len(1, id)), ...turns.map((id) => len(8, id)));

/** A step that read a file. */
const toolStep = (content) =>
  len(2, len(8, message(len(1, len(1, "src/invented.ts")), len(2, len(1, len(1, content))))));

export const hosts = {
  authority: "agent.example.test",
  runPath: "/agent.v1.AgentService/RunSSE",
  appendPath: "/aiserver.v1.BidiService/BidiAppend",
};

/** Header lists of the four messages of a turn. */
export function headersOf(requestId) {
  const common = [
    ["user-agent", "connect-es/1.6.1"],
    ["connect-protocol-version", "1"],
    ["x-request-id", requestId],
    ["x-cursor-client-version", "bench-1.0.0"],
  ];
  return {
    runRequest: [
      ["content-type", streamType],
      ["connect-accept-encoding", "gzip"],
      ["connect-content-encoding", "gzip"],
      ...common,
    ],
    runResponse: [
      ["content-type", "text/event-stream"],
      ["connect-content-encoding", "gzip"],
      ["x-request-id", requestId],
    ],
    appendRequest: [["content-type", "application/proto"], ...common],
    appendResponse: [
      ["content-type", "application/proto"],
      ["content-length", "0"],
    ],
  };
}
