/**
 * The same battery for every dialect: one row per talk. A new dialect adds its captures here and gets all of it: cuts, noise, both
 * capture forms, determinism, redaction.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CursorWireError } from "../src/core/errors.js";
import { defaultLimits } from "../src/core/limits.js";
import { loadSchemas } from "../src/decode/schema.js";
import type { Analysis } from "../src/model/report.js";
import { type OpenAnalysis, runPipeline } from "../src/pipeline.js";

export interface Talk {
  readonly dialect: "cursor" | "kimi" | "pi";
  readonly path: string;
  /** The same talk in another form; undefined: there is none. */
  readonly twin?: Sources;
  /** What must never be printed by default. */
  readonly secrets: readonly string[];
}

export type Sources = {
  readonly paths: readonly string[];
  readonly raw?: { client: string; server: string; index?: string };
};

const pi = (name: string) => `fixtures/pi/recorded/basic.${name}`;

export const talks: readonly Talk[] = [
  {
    dialect: "cursor",
    path: "fixtures/cursor/three-turns.har",
    twin: { paths: ["fixtures/cursor/three-turns.pcap"] },
    secrets: ["invented-local-token-Fixture"],
  },
  { dialect: "cursor", path: "fixtures/cursor/three-turns.pcap", secrets: ["invented-local-token-Fixture"] },
  {
    dialect: "kimi",
    path: "fixtures/kimi/recorded/tool-turn.pcap",
    secrets: tokensOf("fixtures/kimi/recorded/tool-turn.pcap"),
  },
  {
    dialect: "kimi",
    path: "fixtures/kimi/recorded/ui-turn.devtools.har",
    twin: { paths: ["fixtures/kimi/recorded/ui-turn.playwright.har"] },
    secrets: tokensOf("fixtures/kimi/recorded/ui-turn.devtools.har"),
  },
  { dialect: "kimi", path: "fixtures/kimi/recorded/acp-turn.jsonl", secrets: [] },
  {
    dialect: "pi",
    path: pi("pcap"),
    twin: { paths: [], raw: { client: pi("client.bin"), server: pi("server.bin"), index: pi("index.jsonl") } },
    secrets: [],
  },
];

function tokensOf(path: string): readonly string[] {
  return [...new Set(readFileSync(path, "latin1").match(/invented-local-token-[A-Za-z0-9]+/g) ?? [])];
}

const schemas = loadSchemas({ limits: defaultLimits });

export function analyzeSources(sources: Sources): OpenAnalysis {
  return runPipeline({
    ...sources,
    keylogs: [],
    schemas,
    limits: defaultLimits,
    wantHashes: false,
    wantFrames: false,
    wantSteps: false,
  });
}

const folder = mkdtempSync(join(tmpdir(), "dialect-kit-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Analyses bytes as a file; an input that cannot be read at all gives null. */
export function analyzeBytes(bytes: Uint8Array): Analysis | null {
  const path = join(folder, "capture");
  writeFileSync(path, bytes);
  try {
    const analysis = analyzeSources({ paths: [path] });
    analysis.close();
    return analysis;
  } catch (error) {
    if (error instanceof CursorWireError && error.code.startsWith("input.")) return null;
    throw error;
  }
}

/** What must be the same in every form of a talk: who asked what, what came of it, and what was said. */
export function essence(analysis: Analysis): unknown {
  return analysis.turns.map((turn) => ({
    dialect: turn.dialect,
    conversation: turn.conversationId,
    request: turn.requestId,
    outcome: turn.outcome,
    prompt: turn.prompt,
    text: turn.text,
    thinking: turn.thinking,
    usage: turn.usage,
    open: turn.open.map(({ family, id }) => `${family} ${id}`),
  }));
}

/** Turns by request id; one whose id was lost names none and cannot be a wrong one. */
export function turnKeys(analysis: Analysis): ReadonlySet<string> {
  return new Set(
    analysis.turns.flatMap((turn) => (turn.requestId === null ? [] : [`${turn.dialect} ${turn.requestId}`])),
  );
}
