/** From options to an analysis: schemas, keys, limits, the redactor that learns from every head, the progress bar. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { CheckOptions } from "../check/index.js";
import { CursorWireError } from "../core/errors.js";
import { defaultLimits, type Limits, withLimits } from "../core/limits.js";
import { loadSchemas } from "../decode/schema.js";
import type { SessionEvent } from "../model/dialect.js";
import type { NeckEvent } from "../model/exchange.js";
import type { Schemas } from "../model/schema.js";
import { type OpenAnalysis, type PipelineOptions, runPipeline } from "../pipeline.js";
import type { Redactor } from "../report/redact.js";
import type { Call } from "./call.js";
import { prepareFor } from "./heap.js";
import { type Options, parseRaw } from "./options.js";
import { progressBar } from "./progress.js";
import { reason } from "./reason.js";

export interface Wants {
  readonly hashes?: boolean;
  readonly frames?: boolean;
  readonly steps?: boolean;
  readonly live?: boolean;
  readonly checks?: CheckOptions;
  readonly stores?: readonly string[];
  onEvent?(event: SessionEvent): void;
  onNeck?(event: NeckEvent): void;
}

/** What `readCapture` needs and is the same in every pass over the same inputs. */
export interface Reading {
  readonly paths: readonly string[];
  readonly schemas: Schemas;
  readonly limits: Limits;
}

/** Throws CursorWireError for options that do not fit together. */
export async function reading(call: Call, paths: readonly string[]): Promise<Reading> {
  const { options } = call;
  if (paths.length === 0 && options.raw === undefined) {
    throw new CursorWireError(
      "usage.capture",
      "name at least one capture (HAR, pcap, pcapng or log), or - for standard input",
    );
  }
  if (paths.filter((path) => path === "-").length > 1) {
    throw new CursorWireError("usage.capture", "standard input (-) can be read only once");
  }
  const limits = withLimits(defaultLimits, options.limit);
  return {
    paths: paths.map((path) => resolvePath(call, path)),
    schemas: await schemasOf(options, call, limits),
    limits,
  };
}

/** Paths are printed as given; tests run in another folder than the process. */
function resolvePath(call: Call, path: string): string {
  return path === "-" || call.io.cwd === process.cwd() ? path : resolve(call.io.cwd, path);
}

export function readCapture(call: Call, from: Reading, redactor: Redactor, wants: Wants): OpenAnalysis {
  const { options, io } = call;
  const progress = progressBar(io, options.quiet);
  const learn = (event: NeckEvent) => {
    if (event.kind === "open") redactor.learnHead(event.exchange.request?.headers ?? [], event.exchange.request?.path);
    else if (event.kind === "head") redactor.learnHead(event.head.headers);
    else if (event.kind === "trailers") redactor.learnHead(event.headers);
    wants.onNeck?.(event);
  };
  const { SSLKEYLOGFILE } = io.env;
  const settings: PipelineOptions = {
    paths: from.paths,
    keylogs: options.keylog.map((path) => resolvePath(call, path)),
    ...(options.raw === undefined ? {} : { raw: parseRaw(options.raw) }),
    ...(SSLKEYLOGFILE ? { sslkeylogfile: SSLKEYLOGFILE } : {}),
    ...(options.dialect === undefined ? {} : { dialect: options.dialect }),
    schemas: from.schemas,
    limits: from.limits,
    wantHashes: wants.hashes ?? false,
    wantFrames: wants.frames ?? false,
    wantSteps: wants.steps ?? false,
    live: wants.live ?? false,
    ...(wants.checks === undefined ? {} : { checks: wants.checks }),
    ...(wants.stores === undefined || wants.stores.length === 0 ? {} : { stores: wants.stores }),
    ...(wants.onEvent === undefined ? {} : { onEvent: wants.onEvent }),
    onNeck: learn,
    onProgress: (at) => progress.update(at),
  };
  prepareFor(from.paths);
  try {
    return runPipeline(settings);
  } finally {
    progress.clear();
  }
}

async function schemasOf(options: Options, call: Call, limits: Limits): Promise<Schemas> {
  const descriptors = options.descriptors.map((path) => readUserFile(call, path, "--descriptors"));
  if (options.proto.length > 0) {
    const { parseProtos } = await import("../decode/proto-text.js");
    const files = options.proto.map((path) => ({
      name: path,
      text: Buffer.from(readUserFile(call, path, "--proto")).toString("utf8"),
    }));
    descriptors.push(await parseProtos(files));
  }
  return loadSchemas({ descriptors, none: options.schema === "none", limits });
}

/** Throws CursorWireError `usage.file`. */
export function readUserFile(call: Call, path: string, what: string): Uint8Array {
  try {
    return readFileSync(resolve(call.io.cwd, path));
  } catch (error) {
    throw new CursorWireError("usage.file", `${what}: cannot read ${path}: ${reason(error)}`, { cause: error });
  }
}
