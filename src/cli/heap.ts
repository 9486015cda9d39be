/**
 * How much room V8 takes beside what is in use. A capture is read in one pass that leaves little behind; left alone, the heap grows to
 * four times of what is in use before V8 looks for it, and the space for new objects to what a server would like.
 */
import { statSync } from "node:fs";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Collecting at one and a half times of what is in use costs no time that can be measured and keeps the peak low. */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=40");
}

/** Below this the space for new objects stays small by itself. */
const largeBytes = 32 * 1024 * 1024;

/** Before inputs that are large are read. */
export function prepareFor(paths: readonly string[]): void {
  let bytes = 0;
  for (const path of paths) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes >= largeBytes) keepYoungSmall();
}

/** Both halves of the space for new objects. */
const youngBytes = 16 * 1024 * 1024;
const triesAtMost = 4;

/**
 * Twice as much makes no run faster and each peak 30 MB higher. V8 takes the bound only before it starts, so the space is grown to the
 * wanted size here, and then told to grow by a factor of one.
 */
function keepYoungSmall(): void {
  for (let tries = 0; tries < triesAtMost && young() < youngBytes; tries++) {
    const before = young();
    setFlagsFromString(`--semi-space-growth-factor=${Math.max(2, Math.floor(youngBytes / before))}`);
    fill(before);
  }
  setFlagsFromString("--semi-space-growth-factor=1");
}

function young(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? youngBytes;
}

/** Objects that stay, until the space that they outgrow has grown. */
function fill(before: number): void {
  const held: object[] = [];
  while (held.length < 1_000_000 && young() === before) for (let i = 0; i < 1000; i++) held.push({ i });
}
