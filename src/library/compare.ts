/** `compare`: the first divergence of each turn of two captures, as `cursor-wire diff` finds it. */
import { diffTalks } from "../diff/index.js";
import { type Talk, TalkLog } from "../diff/talk.js";
import type { CaptureDiff } from "../model/diff.js";
import type { Analysis } from "../model/report.js";
import { diffText } from "../report/diff.js";
import type { AnalyzeOptions } from "./analyze.js";
import { frames } from "./frames.js";
import { type RenderOptions, viewOf } from "./render.js";

export interface Comparison extends CaptureDiff {
  /** As `cursor-wire diff` prints it. */
  text(options?: Pick<RenderOptions, "redact" | "width" | "all">): string;
}

/** Each side is one capture, or several that are one talk. Throws what `analyze` throws. */
export function compare(
  a: string | readonly string[],
  b: string | readonly string[],
  options: AnalyzeOptions = {},
): Comparison {
  const left = side(a, options);
  const right = side(b, options);
  const diff = diffTalks(left.talks, right.talks);
  const sides = { a: left.analysis, b: right.analysis };
  return {
    ...diff,
    text: (view = {}) => [...diffText(diff, sides, viewOf([sides.a, sides.b], view))].join(""),
  };
}

function side(
  paths: string | readonly string[],
  options: AnalyzeOptions,
): { analysis: Analysis; talks: readonly (readonly Talk[])[] } {
  const log = new TalkLog();
  const analysis = frames(paths, (frame) => log.add(frame), { steps: false, ...options });
  analysis.close();
  return { analysis, talks: log.talks(analysis.conversations) };
}
