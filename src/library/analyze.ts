/** `analyze`: captures in, the typed model out. What the command line does, without printing, exiting or reading the environment. */
import { resolveLevels } from "../check/levels.js";
import type { Bytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import { defaultLimits, type Limits } from "../core/limits.js";
import { loadSchemas } from "../decode/schema.js";
import type { SessionEvent } from "../model/dialect.js";
import { allRules } from "../pipeline/catalogue.js";
import { type OpenAnalysis, runPipeline } from "../pipeline.js";
import { Redactor } from "../report/redact.js";
import { learnSecrets, rememberSecrets } from "./secrets.js";

export interface AnalyzeOptions {
  /** TLS key logs (NSS format). `SSLKEYLOGFILE` is not looked at. */
  readonly keylogs?: readonly string[];
  /** Instead of, or beside, captures: a recorded byte stream, one file per direction, and a chunk index with times. */
  readonly raw?: { readonly client: string; readonly server: string; readonly index?: string };
  /** "cursor", "kimi" or "pi": everything is read as this one. */
  readonly dialect?: string;
  /** Changes single bounds of `defaultLimits`; whole numbers, zero means zero. */
  readonly limits?: Partial<Limits>;
  /** FileDescriptorSets (binary or JSON) or buf images; they win over the built-in schema. `parseProtos` makes one of .proto texts. */
  readonly descriptors?: readonly Bytes[];
  /** "none": every field is shown by number. */
  readonly schema?: "builtin" | "none";
  /** Rule id, or a prefix that ends in `*`, and its level; later ones win. */
  readonly rules?: Readonly<Record<string, "off" | "info" | "warning" | "error">>;
  /** Session stores that resolve blobs the capture never showed. */
  readonly stores?: readonly string[];
  /** Timelines of the turns. Default true; false saves the work for them where nothing else needs it. */
  readonly steps?: boolean;
  /** SHA-256 of inputs, flows and bodies. Default true. */
  readonly hashes?: boolean;
  /** Steps and ends of turns as they are read. What it throws ends the analysis. */
  onEvent?(event: SessionEvent): void;
  /** Bytes read of one input so far. */
  onProgress?(progress: { readonly path: string; readonly bytes: number }): void;
}

/**
 * Several captures are one talk, merged by time. `close()` of the result frees blob bodies and messages that went to temporary files
 * because they are more than `limits.conversationBytes`; the end of the process does too.
 *
 * Throws CursorWireError: `usage.*` for options that do not fit, `input.*` for a key log that cannot be read and where no input at all
 * could be; those that could not are otherwise listed as `unreadable`. Damage inside a capture never throws: it is in `diagnostics`.
 */
export function analyze(paths: string | readonly string[], options: AnalyzeOptions = {}): OpenAnalysis {
  return read(paths, options, { frames: false, ...(options.onEvent && { onEvent: options.onEvent }) });
}

export interface Listener {
  readonly frames: boolean;
  onEvent?(event: SessionEvent): void;
}

/** What `analyze` and `frames` share. */
export function read(paths: string | readonly string[], options: AnalyzeOptions, listener: Listener): OpenAnalysis {
  const list = typeof paths === "string" ? [paths] : paths;
  if (list.length === 0 && options.raw === undefined) {
    throw new CursorWireError("usage.capture", "name at least one capture");
  }
  const limits = limitsOf(options.limits);
  const redactor = new Redactor("secrets");
  const { raw, dialect, stores, rules, onProgress } = options;
  const { onEvent } = listener;
  const analysis = runPipeline({
    paths: list,
    keylogs: options.keylogs ?? [],
    ...(raw && { raw }),
    ...(dialect !== undefined && { dialect }),
    schemas: loadSchemas({ descriptors: options.descriptors ?? [], none: options.schema === "none", limits }),
    limits,
    wantHashes: options.hashes ?? true,
    wantFrames: listener.frames,
    wantSteps: options.steps ?? true,
    ...(rules && { checks: { levels: resolveLevels(Object.entries(rules), allRules()) } }),
    ...(stores && { stores }),
    ...(onEvent && { onEvent }),
    ...(onProgress && { onProgress }),
    onNeck: (event) => learnSecrets(redactor, event),
  });
  rememberSecrets(analysis, redactor);
  refuseNothing(analysis);
  return analysis;
}

/** One input is no bound on the others, but an analysis of nothing is none. */
function refuseNothing(analysis: OpenAnalysis): void {
  const captures = analysis.inputs.filter((input) => input.format !== "keylog");
  const [first] = analysis.unreadable;
  if (first === undefined || captures.some((input) => input.format !== "unreadable")) return;
  analysis.close();
  throw new CursorWireError("input.unreadable", analysis.unreadable.map((row) => row.message).join("; "));
}

function limitsOf(changes: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(defaultLimits, name) || !Number.isSafeInteger(value) || value < 0) {
      const names = Object.keys(defaultLimits).join(", ");
      throw new CursorWireError(
        "usage.limit",
        `limit ${name}=${value}: the limits are whole numbers, and these: ${names}`,
      );
    }
  }
  return Object.freeze({ ...defaultLimits, ...changes });
}
