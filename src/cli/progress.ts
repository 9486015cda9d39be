/** A bar on standard error for inputs that take longer than a second; only on a terminal. */
import { statSync } from "node:fs";
import { terminal } from "../report/escape.js";
import { count } from "../report/numbers.js";
import type { Io } from "./io.js";

const showAfterMs = 1000;
const everyMs = 100;
const barWidth = 24;

export interface Progress {
  update(progress: { readonly path: string; readonly bytes: number }): void;
  clear(): void;
}

export function progressBar(io: Io, quiet: boolean): Progress {
  if (quiet || !io.errTty) return { update: () => {}, clear: () => {} };
  return new Bar(io);
}

class Bar implements Progress {
  private readonly sizes = new Map<string, number | null>();
  private readonly started: number;
  private drawn = 0;
  private visible = false;

  constructor(private readonly io: Io) {
    this.started = io.now();
  }

  update({ path, bytes }: { readonly path: string; readonly bytes: number }): void {
    const now = this.io.now();
    if (now - this.started < showAfterMs || now - this.drawn < everyMs) return;
    this.drawn = now;
    this.visible = true;
    const total = this.size(path);
    const read = `${count(Math.round(bytes / 1e6))} MB`;
    const name = terminal(path.split("/").at(-1) ?? path).slice(0, 32);
    const share = total === null ? null : Math.min(1, bytes / Math.max(1, total));
    const bar = share === null ? "" : ` [${"#".repeat(Math.round(share * barWidth)).padEnd(barWidth, ".")}]`;
    const percent = share === null ? "" : ` ${Math.floor(share * 100)} %`;
    this.io.err(`\r\u001b[2K${name}${bar}${percent} ${read}`);
  }

  clear(): void {
    if (this.visible) this.io.err("\r\u001b[2K");
    this.visible = false;
  }

  private size(path: string): number | null {
    let size = this.sizes.get(path);
    if (size === undefined) {
      try {
        size = statSync(path).size;
      } catch {
        size = null;
      }
      this.sizes.set(path, size);
    }
    return size;
  }
}
