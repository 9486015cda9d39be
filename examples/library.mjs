import { analyze, frames, gate, render } from "cursor-wire";

const capture = analyze("fixtures/cursor/wrong-hash.har");
for (const turn of capture.turns) console.log(turn.index + 1, turn.outcome, turn.durationMs, turn.prompt);
console.log(gate(capture).why);
console.log(render(capture, "brief", { redact: "private" }));

const kinds = new Map();
frames("fixtures/cursor/three-turns.pcap", ({ kind }) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1));
console.log(kinds.get("kv_server_message.set_blob_args"), "blobs set");
