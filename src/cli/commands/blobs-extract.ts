/**
 * `blobs extract`: every blob as a file named by the SHA-256 of its bytes, which is computed here: no name comes from the wire, so
 * none can leave the folder. An existing file is never changed.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { CursorWireError } from "../../core/errors.js";
import type { BlobLedger } from "../../model/conversation.js";
import { terminal } from "../../report/escape.js";
import { many } from "../../report/numbers.js";
import { type Call, exitCodes } from "../call.js";
import { reason } from "../reason.js";

export function extractBlobs(call: Call, ledger: BlobLedger, folder: string): number {
  const { io, options } = call;
  const path = resolve(io.cwd, folder);
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new CursorWireError("usage.output", `cannot make the folder ${folder}: ${reason(error)}`, { cause: error });
  }
  const written = new Set<string>();
  let missing = 0;
  let refused = 0;
  for (const row of ledger.rows) {
    const bytes = ledger.content(row.id);
    if (bytes === undefined) missing++;
    else if (put(path, bytes, written) === "other") refused++;
  }
  const absent = missing > 0 ? `, ${many(missing, "blob")} never supplied` : "";
  if (!options.quiet) {
    io.err(
      `cursor-wire: ${many(written.size, "file")} in ${terminal(folder)}: bytes as they were sent, nothing is redacted${absent}\n`,
    );
  }
  if (refused > 0) io.err(`cursor-wire: ${many(refused, "existing file")} with other content left as they were\n`);
  return refused > 0 ? exitCodes.findings : exitCodes.ok;
}

function put(folder: string, bytes: Uint8Array, written: Set<string>): "ok" | "other" {
  const name = createHash("sha256").update(bytes).digest("hex");
  if (written.has(name)) return "ok";
  const path = join(folder, name);
  try {
    // "wx" neither follows a link nor opens what is there.
    writeFileSync(path, bytes, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw new CursorWireError("usage.output", `cannot write ${path}: ${reason(error)}`, { cause: error });
    }
    if (!sameContent(path, bytes)) return "other";
  }
  written.add(name);
  return "ok";
}

function sameContent(path: string, bytes: Uint8Array): boolean {
  try {
    return readFileSync(path).equals(bytes);
  } catch {
    return false;
  }
}
