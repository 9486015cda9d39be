/** The recorders whose habits matter, told by the name under `log.creator`. */

/** untold: the file has not named its creator yet. */
export type ProducerKind = "chromium" | "playwright" | "http-toolkit" | "other" | "untold";

export function producerKind(name: string | null): ProducerKind {
  if (name === null) return "untold";
  if (/^Playwright/i.test(name)) return "playwright";
  if (/^HTTP Toolkit/i.test(name)) return "http-toolkit";
  // Chromium's creator is WebInspector; Safari's is "WebKit Web Inspector".
  return /webinspector|chrom|edge|devtools/i.test(name) ? "chromium" : "other";
}
