/**
 * Files beside an input that it names itself (body files of a HAR), and second looks at an input. Names come from a hostile file:
 * only regular files whose real path lies inside the input's own folder are read, and only up to a limit.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, resolve, sep } from "node:path";
import { type Bytes, noBytes } from "../core/bytes.js";

export type Sibling =
  | { readonly ok: true; readonly bytes: Bytes }
  /** A sentence part: "it is not there". */
  | { readonly ok: false; readonly why: string };

export interface SiblingReader {
  /** `name` is relative to the input's folder. A name that begins with 40 hex digits is the content's SHA-1, as is `sha1` where given. */
  read(name: string, sha1?: string): Sibling;
}

/** `path`: the input as given; standard input ("-") has no folder. */
export function siblingReader(path: string, maxBytes: number): SiblingReader {
  let folder: string | undefined;
  return {
    read(name, sha1) {
      if (path === "-") return refuse("standard input has no folder to look in");
      try {
        folder ??= realpathSync(dirname(resolve(path)));
      } catch {
        return refuse("the folder of the input cannot be resolved");
      }
      return readInside(folder, name, sha1 ?? /^[0-9a-f]{40}(?=\.|$)/i.exec(basename(name))?.[0], maxBytes);
    },
  };
}

function readInside(folder: string, name: string, sha1: string | undefined, maxBytes: number): Sibling {
  if (name === "" || name.includes("\0") || isAbsolute(name) || /^[a-z]:|^[\\/]/i.test(name)) {
    return refuse("its name is no path inside the folder of the input");
  }
  let real: string;
  try {
    real = realpathSync(resolve(folder, name));
  } catch {
    return refuse(isInside(folder, resolve(folder, name)) ? "it is not there" : outside);
  }
  if (!isInside(folder, real)) return refuse(outside);
  let fd: number;
  try {
    if (!statSync(real).isFile()) return refuse("it is no regular file");
    fd = openSync(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return refuse("it cannot be opened");
  }
  try {
    return readAll(fd, sha1, maxBytes);
  } catch {
    return refuse("it cannot be read");
  } finally {
    closeSync(fd);
  }
}

const outside = "it lies outside the folder of the input";

function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function readAll(fd: number, sha1: string | undefined, maxBytes: number): Sibling {
  const stat = fstatSync(fd);
  if (!stat.isFile()) return refuse("it is no regular file");
  if (stat.size > maxBytes) return refuse(`its ${stat.size} bytes are over the limit of ${maxBytes}`);
  const bytes = stat.size === 0 ? noBytes : Buffer.allocUnsafe(stat.size);
  let at = 0;
  while (at < bytes.length) {
    const got = readSync(fd, bytes, at, bytes.length - at, at);
    if (got === 0) break;
    at += got;
  }
  const whole = bytes.subarray(0, at);
  if (sha1 !== undefined && createHash("sha1").update(whole).digest("hex") !== sha1.toLowerCase()) {
    return refuse("its content does not have the SHA-1 that names it");
  }
  return { ok: true, bytes: whole };
}

function refuse(why: string): Sibling {
  return { ok: false, why };
}

/** Whether the input can be opened a second time and gives the same bytes: a plain file, not a pipe or device. */
export function isPlainFile(path: string): boolean {
  if (path === "-") return false;
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * How often `needle` occurs in the file's raw bytes right after `before`, at most `enough`. The search is native and looks for the
 * needle's first byte, which should be a rare one; 0 when the file cannot be read.
 */
export function countInFile(path: string, before: Bytes, needle: Bytes, enough: number): number {
  const block = Buffer.allocUnsafe(1024 * 1024);
  const context = before.length + needle.length - 1;
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    return 0;
  }
  try {
    let count = 0;
    let kept = 0;
    for (;;) {
      const got = readSync(fd, block, kept, block.length - kept, null);
      if (got <= 0) return count;
      const filled = block.subarray(0, kept + got);
      for (let at = filled.indexOf(needle); at >= 0; at = filled.indexOf(needle, at + 1)) {
        const start = at - before.length;
        if (start >= 0 && filled.compare(before, 0, before.length, start, at) === 0 && ++count >= enough) return count;
      }
      // What straddles two blocks starts in the kept part; that is too short to hold a whole occurrence, so none counts twice.
      kept = Math.min(context, filled.length);
      block.copyWithin(0, filled.length - kept, filled.length);
    }
  } catch {
    return 0;
  } finally {
    closeSync(fd);
  }
}
