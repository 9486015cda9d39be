/**
 * Which `log` counts when the top-level object has several? The last one that has entries; JSON.parse would take the last, streaming
 * meets the first. Entries go on to the neck as they are read and cannot be taken back, so the choice is made before reading:
 *
 * - Raw bytes `"log"` can stand only where a JSON string of just these letters does: inside strings quotes are escaped. A native
 *   search for them costs a small part of reading, and in nearly every file finds one. Then there is nothing to choose.
 * - Small files (and the front of large ones) are held in memory while they are searched. Larger plain files are searched on disk,
 *   compressed ones by unpacking them twice.
 * - Where the bytes occur again, the structure is gone through once without capturing anything, and counts the entries of each log.
 * - A pipe with more than the held part cannot be read twice: logs are then read as they come. That is right unless two of them have
 *   entries, which gets its own diagnostic.
 * A key spelt with escapes ("\u006cog") is a log all the same, but is not searched for: two of those are treated like a pipe's.
 */
import { countInFile, isPlainFile } from "../capture/sibling.js";
import { openSource, type Source } from "../capture/source.js";
import { asBuffer, type Bytes } from "../core/bytes.js";
import type { Limits } from "../core/limits.js";
import { EntrySplitter } from "./entry-splitter.js";
import { type TextEncodingName, TextInput } from "./text-input.js";

export interface LogChoice {
  /** Ordinal of the log to read, or "all": there is one, or they are read as they come. */
  readonly wanted: number | "all";
  /** The text from its beginning. */
  readonly blocks: Iterable<Bytes>;
}

const heldBytes = 8 * 1024 * 1024;
const needle = Buffer.from('"log"', "latin1");

export function chooseLog(source: Source, text: TextInput, limits: Limits): LogChoice {
  const blocks = text.blocks();
  const held: Bytes[] = [];
  let size = 0;
  let ended = false;
  while (size < heldBytes) {
    const next = blocks.next();
    if (next.done === true) {
      ended = true;
      break;
    }
    held.push(next.value);
    size += next.value.length;
  }
  const all = drain(held, blocks);
  if (ended) return { wanted: occurs(held) > 1 ? survey(held, limits) : "all", blocks: all };
  if (!isPlainFile(source.path)) return { wanted: "all", blocks: all };
  return { wanted: chooseOnDisk(source, text, limits), blocks: all };
}

function* drain(held: Bytes[], rest: Iterable<Bytes>): Generator<Bytes> {
  for (let i = 0; i < held.length; i++) {
    const block = held[i]!;
    held[i] = new Uint8Array(0);
    yield block;
  }
  yield* rest;
}

function chooseOnDisk(source: Source, text: TextInput, limits: Limits): number | "all" {
  if (source.compression === null) {
    const raw = (characters: string) => inEncoding(characters, text.detected.encoding);
    // Quotes are everywhere in JSON: they are looked at only where the rest is found.
    if (countInFile(source.path, raw('"'), raw('log"'), 2) < 2) return "all";
  }
  const again = openSource(source.path, { input: 0, hash: false, limits, note: () => {} });
  try {
    const blocks = new TextInput(again).blocks();
    if (source.compression === null) return survey(blocks, limits);
    return occurs(blocks) < 2 ? "all" : surveyAgain(source, limits);
  } finally {
    again.close();
  }
}

function inEncoding(characters: string, encoding: TextEncodingName): Buffer {
  if (encoding === "UTF-8") return Buffer.from(characters, "latin1");
  const little = Buffer.from(characters, "utf16le");
  return encoding === "UTF-16LE" ? little : little.swap16();
}

function surveyAgain(source: Source, limits: Limits): number | "all" {
  const again = openSource(source.path, { input: 0, hash: false, limits, note: () => {} });
  try {
    return survey(new TextInput(again).blocks(), limits);
  } finally {
    again.close();
  }
}

/** How often the needle occurs, at most 2. */
function occurs(blocks: Iterable<Bytes>): number {
  let count = 0;
  let tail = Buffer.alloc(0);
  for (const bytes of blocks) {
    const block = asBuffer(bytes);
    // Across the seam: no more than one, since the tail is shorter than the needle.
    if (Buffer.concat([tail, block.subarray(0, needle.length - 1)]).includes(needle)) count++;
    for (let at = block.indexOf(needle); at >= 0 && count < 2; at = block.indexOf(needle, at + needle.length)) count++;
    if (count >= 2) return count;
    const joined = block.length >= needle.length - 1 ? block : Buffer.concat([tail, block]);
    tail = Buffer.from(joined.subarray(Math.max(0, joined.length - needle.length + 1)));
  }
  return count;
}

/** Counts the entries of each log. */
function survey(blocks: Iterable<Bytes>, limits: Limits): number | "all" {
  const counts: number[] = [];
  const splitter = new EntrySplitter(
    {
      log: (ordinal, isObject) => {
        if (isObject) counts[ordinal] = 0;
      },
      entries: () => {},
      entry: (entry) => {
        counts[entry.log] = (counts[entry.log] ?? 0) + 1;
      },
      field: () => {},
      stray: () => {},
    },
    { limits, capture: "none" },
  );
  for (const block of blocks) splitter.push(block);
  const withEntries = counts.flatMap((count, ordinal) => (count > 0 ? [ordinal] : []));
  return withEntries.length > 1 ? withEntries[withEntries.length - 1]! : "all";
}
