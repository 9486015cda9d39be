/** The first thing that runs. `--version` answers before anything else is loaded. */
import { readFileSync, writeSync } from "node:fs";

/** Of package.json. */
export function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

export async function start(argv: readonly string[]): Promise<void> {
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    try {
      writeSync(1, `${version()}\n`);
      return;
    } catch {
      // Where it cannot be written, the long way says why.
    }
  }
  const { keepHeapSmall } = await import("./heap.js");
  keepHeapSmall();
  const { main } = await import("./main.js");
  const { processIo } = await import("./io.js");
  process.exitCode = await main(argv, processIo());
}
