/**
 * SQLite changes what it opens: reading a database that is in use writes beside it or into it. So only a private copy is opened: the
 * main file and what belongs to it, in a 0700 folder that is removed on every exit. The original and its folder stay untouched.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The write-ahead log holds rows of a database in use; a rollback journal undoes a write that did not end. */
const companions = ["-wal", "-journal"];
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** A writer may change the files while they are copied. */
const attempts = 4;

const folders = new Set<string>();
let guarding = false;

/** Runs `use` with the path of the copy. Throws what the copying or `use` throws. */
export function withPrivateCopy<T>(path: string, use: (copy: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "cursor-wire-"));
  guard(folder);
  try {
    const copy = join(folder, "store.sqlite");
    copyAll(path, copy);
    return use(copy);
  } finally {
    release(folder);
  }
}

function copyAll(path: string, copy: string): void {
  for (let attempt = 1; ; attempt++) {
    const before = stateOf(path);
    for (const suffix of ["", ...companions]) {
      rmSync(copy + suffix, { force: true });
      if (suffix === "" || existsSync(path + suffix)) copyIfThere(path + suffix, copy + suffix, suffix !== "");
    }
    if (before === stateOf(path) || attempt === attempts) return;
  }
}

function copyIfThere(from: string, to: string, optional: boolean): void {
  try {
    copyFileSync(from, to);
  } catch (error) {
    if (!optional || existsSync(from)) throw error;
  }
}

function stateOf(path: string): string {
  return ["", ...companions]
    .map((suffix) => {
      const stat = statSync(path + suffix, { throwIfNoEntry: false });
      return stat === undefined ? "-" : `${stat.size} ${stat.mtimeMs}`;
    })
    .join(" ");
}

function guard(folder: string): void {
  if (!guarding) {
    process.on("exit", removeAll);
    for (const signal of signals) process.on(signal, onSignal);
    guarding = true;
  }
  folders.add(folder);
}

function release(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
  // A signal that came while all this ran is delivered when the loop next polls, which is before the second of two immediates.
  if (folders.size === 0) setImmediate(() => setImmediate(unguard));
}

function unguard(): void {
  if (folders.size > 0 || !guarding) return;
  guarding = false;
  process.removeListener("exit", removeAll);
  for (const signal of signals) process.removeListener(signal, onSignal);
}

function removeAll(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

/** With no other listener the signal would have ended the process at once: it still does, after the folder is gone. */
function onSignal(signal: NodeJS.Signals): void {
  removeAll();
  process.removeListener(signal, onSignal);
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
}
