// Records a JSON-RPC conversation over stdio, line by line:  node record-stdio.mjs LOG.jsonl COMMAND [ARGUMENT...]
// Give this command to the client in place of the agent's own; cursor-wire reads the log.
import { spawn } from "node:child_process";
import { openSync, writeSync } from "node:fs";

const [path, command, ...args] = process.argv.slice(2);
if (command === undefined) {
  console.error("usage: record-stdio.mjs LOG.jsonl COMMAND [ARGUMENT...]");
  process.exit(2);
}
const log = openSync(path, "wx", 0o600);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });

function relay(from, to, dir) {
  let held = Buffer.alloc(0);
  from.on("data", (chunk) => {
    to.write(chunk);
    held = Buffer.concat([held, chunk]);
    for (let end = held.indexOf(10); end >= 0; end = held.indexOf(10)) {
      const text = held.subarray(0, end).toString("utf8").replace(/\r$/, "");
      held = held.subarray(end + 1);
      if (text !== "") writeSync(log, `${JSON.stringify({ at_ms: Date.now(), dir, text })}\n`);
    }
  });
  from.on("end", () => to.end());
  to.on("error", () => {});
}

relay(process.stdin, agent.stdin, "client_to_agent");
relay(agent.stdout, process.stdout, "agent_to_client");
agent.on("error", (error) => {
  console.error(`record-stdio: cannot start ${command}: ${error.message}`);
  process.exit(127);
});
agent.on("close", (code) => process.exit(code ?? 1));
