/** Runs the command line in this process, with a made-up terminal, and gives what it wrote. */
import type { Io } from "../../src/cli/io.js";
import { main } from "../../src/cli/main.js";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly bytes: Buffer;
}

export async function cursorWire(args: readonly string[], over: Partial<Io> = {}): Promise<Ran> {
  const out: Buffer[] = [];
  let err = "";
  const io: Io = {
    out: (data) => {
      out.push(typeof data === "string" ? Buffer.from(data, "utf8") : Buffer.from(data));
      return true;
    },
    err: (text) => {
      err += text;
    },
    outTty: false,
    errTty: false,
    columns: undefined,
    rows: undefined,
    env: {},
    cwd: process.cwd(),
    now: () => 0,
    ...over,
  };
  const code = await main(args, io);
  const bytes = Buffer.concat(out);
  return { code, out: bytes.toString("utf8"), err, bytes };
}
