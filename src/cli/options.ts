/** Options that several commands share: their definition, their parsed form, and how texts become values. */
import { type Command, Option } from "commander";
import { CursorWireError } from "../core/errors.js";
import { parseSize } from "../core/limits.js";
import type { RedactLevel } from "../report/redact.js";

/** As commander hands them over; every value was checked while parsing. */
export interface Options {
  readonly keylog: readonly string[];
  readonly descriptors: readonly string[];
  readonly proto: readonly string[];
  readonly schema?: "none" | "builtin";
  readonly dialect?: string;
  readonly raw?: string;
  readonly limit: readonly string[];
  readonly conversation?: string;
  readonly request?: string;
  readonly turn?: number;
  readonly last?: number;
  readonly kind?: string;
  readonly format: string;
  readonly output?: string;
  readonly color: boolean;
  readonly quiet: boolean;
  readonly all: boolean;
  readonly maxBody?: number;
  readonly redact: RedactLevel | false;
  // check and store
  readonly failOn?: "error" | "warning" | "info";
  readonly rule: readonly string[];
  readonly strict?: boolean;
  readonly require: readonly string[];
  readonly store: readonly string[];
  readonly baseline?: string;
  readonly writeBaseline?: string;
  readonly allowEmpty?: boolean;
  readonly config?: string | false;
  readonly listRules?: boolean;
  readonly explain?: string;
  // one command each
  readonly brief?: boolean;
  readonly follow?: boolean;
  readonly id?: string;
  readonly decoded?: boolean;
  readonly exitCode?: boolean;
  readonly tree?: boolean;
}

/** Values of options that a command does not have. */
export const absentOptions = {
  keylog: [],
  descriptors: [],
  proto: [],
  limit: [],
  rule: [],
  require: [],
  store: [],
  format: "text",
  color: true,
  quiet: false,
  all: false,
  redact: "secrets",
} as const satisfies Options;

/** Collects the values of an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function positive(name: string): (text: string) => number {
  return (text) => {
    if (!/^[1-9]\d{0,8}$/.test(text)) {
      throw new CursorWireError("usage.number", `${name} "${text}" is no number: turns count from 1`);
    }
    return Number(text);
  };
}

/** Keys, schemas, bounds: how the capture is read. */
export function readingOptions(command: Command): Command {
  return command
    .optionsGroup("Reading:")
    .option("--keylog <file>", "TLS key log (NSS format); may be repeated. Default: $SSLKEYLOGFILE", collect)
    .option("--descriptors <file>", "protobuf FileDescriptorSet that extends the built-in schema", collect)
    .option("--proto <file>", ".proto file that extends the built-in schema", collect)
    .addOption(new Option("--schema <which>", '"none": show every field by number').choices(["none", "builtin"]))
    .option("--dialect <name>", "read everything as cursor, kimi or pi; never falls back")
    .option("--raw <spec>", "recorded byte stream: client=FILE,server=FILE[,index=FILE]")
    .option("--limit <name=size>", "change a bound of the reader, as messageBytes=128M", collect);
}

/** Which turns. */
export function selectionOptions(command: Command, kinds = true): Command {
  command
    .optionsGroup("Selection:")
    .option("--conversation <id>", "only this conversation (a unique prefix is enough)")
    .option("--request <id>", "only this request (a unique prefix is enough)")
    .option("--turn <n>", "only the nth turn of its conversation, counted from 1", positive("--turn"))
    .option("--last [n]", "only the last n turns (1 without a number)", positive("--last"));
  if (kinds) command.option("--kind <glob>", 'only messages of these kinds, as "kv_*,*.text_delta"');
  return command;
}

/** How it is written. */
export function outputOptions(command: Command, formats: readonly string[]): Command {
  command.optionsGroup("Output:");
  if (formats.length > 0) {
    command.addOption(new Option("--format <format>", "output format").choices([...formats]).default(formats[0]));
  }
  return command
    .option("-o, --output <file>", "write to a file instead of standard output")
    .addOption(
      new Option("--redact <what>", '"secrets" hides keys and tokens, "private" hides content and paths too')
        .choices(["secrets", "private"])
        .default("secrets"),
    )
    .option("--no-redact", "hide nothing")
    .option("--max-body <size>", "in JSON, longer values become their size, as 64K", parseSize)
    .option("--all", "fold nothing, leave nothing out")
    .option("--no-color", "no colour (NO_COLOR works too)")
    .option("--quiet", "no warnings and no progress on standard error");
}

export function redactLevel(options: Options): RedactLevel {
  return options.redact === false ? "none" : options.redact;
}

/** `--last` takes an optional number, so a capture behind it would be eaten as one: "--last a.har" means "--last=1 a.har". */
export function separateLast(argv: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i]!;
    if (arg === "--") return [...out, ...argv.slice(i)];
    if (arg !== "--last") out.push(arg);
    else if (/^\d+$/.test(argv[i + 1] ?? "")) out.push(`--last=${argv[++i]}`);
    else out.push("--last=1");
  }
  return out;
}

/** `client=FILE,server=FILE[,index=FILE]`. Throws CursorWireError `usage.raw`. */
export function parseRaw(spec: string): { client: string; server: string; index?: string } {
  const parts = new Map<string, string>();
  for (const part of spec.split(/,(?=(?:client|server|index)=)/)) {
    const at = part.indexOf("=");
    const name = part.slice(0, at);
    if (at <= 0 || !["client", "server", "index"].includes(name) || parts.has(name) || part.length === at + 1) {
      throw new CursorWireError("usage.raw", `--raw "${spec}": write client=FILE,server=FILE[,index=FILE]`);
    }
    parts.set(name, part.slice(at + 1));
  }
  const client = parts.get("client");
  const server = parts.get("server");
  const index = parts.get("index");
  if (client === undefined || server === undefined) {
    throw new CursorWireError("usage.raw", `--raw "${spec}": both client=FILE and server=FILE are needed`);
  }
  return { client, server, ...(index === undefined ? {} : { index }) };
}
