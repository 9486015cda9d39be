/** `frames`: every message of a capture, decoded, as it is read. */
import type { FrameLine } from "../model/message.js";
import type { OpenAnalysis } from "../pipeline.js";
import { type AnalyzeOptions, read } from "./analyze.js";

/**
 * Calls `use` for every message in capture order and returns the analysis. A frame, and the bytes in it, are good until `use` returns:
 * the buffers are used again. Conversation ids may be learnt later than the first frame; the analysis has them all.
 * Throws what `analyze` throws.
 */
export function frames(
  paths: string | readonly string[],
  use: (frame: FrameLine) => void,
  options: AnalyzeOptions = {},
): OpenAnalysis {
  return read(paths, options, {
    frames: true,
    onEvent: (event) => {
      if (event.kind === "frame") use(event.frame);
      else options.onEvent?.(event);
    },
  });
}
