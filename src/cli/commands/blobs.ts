/** `blobs list|tree|cat|extract`. */
import { CursorWireError } from "../../core/errors.js";
import type { BlobLedger } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { blobListReports, blobTreeReports } from "../../report/blobs/index.js";
import { reportNamed } from "../../report/index.js";
import { jsonText } from "../../report/json-text.js";
import { many } from "../../report/numbers.js";
import { type Call, exitCodes } from "../call.js";
import { readCapture, reading } from "../capture.js";
import { complain, nothingRead } from "../complain.js";
import { openOutput } from "../output.js";
import { runReport } from "../run-report.js";
import { redactorOf, viewOf } from "../view.js";
import { extractBlobs } from "./blobs-extract.js";

const verbs = ["list", "tree", "cat", "extract"] as const;
type Verb = (typeof verbs)[number];

export function run(call: Call): Promise<number> {
  const verb = verbs.find((name) => name === call.args[0]);
  const rest: Call = verb === undefined ? call : { ...call, args: call.args.slice(1) };
  switch (verb) {
    case undefined:
    case "list":
      return list(rest);
    case "tree":
      return tree(rest);
    case "cat":
      return withLedger(rest, cat);
    case "extract":
      return withLedger(rest, extract);
  }
}

function list(call: Call): Promise<number> {
  refuse(call, "list", "mermaid");
  return runReport(call, {
    wants: {},
    report: reportNamed(blobListReports, call.options.format),
    showsDiagnostics: false,
  });
}

function tree(call: Call): Promise<number> {
  return runReport(call, {
    wants: {},
    report: reportNamed(blobTreeReports, call.options.format),
    showsDiagnostics: false,
  });
}

function refuse(call: Call, verb: Verb, format: string): void {
  if (call.options.format !== format) return;
  throw new CursorWireError("usage.format", `blobs ${verb} has no format ${format}; blobs tree does`);
}

async function withLedger(
  call: Call,
  use: (call: Call, ledger: BlobLedger, analysis: Analysis) => number,
): Promise<number> {
  const { blobId, args } = positionalId(call);
  const plainCall: Call = {
    ...call,
    args,
    options: { ...call.options, ...(blobId === undefined ? {} : { id: blobId }) },
  };
  const from = await reading(plainCall, args);
  const redactor = redactorOf(plainCall);
  const analysis = readCapture(plainCall, from, redactor, {});
  try {
    const code = complain(plainCall, analysis, viewOf(plainCall, redactor), { diagnosticsShown: true });
    if (nothingRead(analysis)) return code;
    if (analysis.blobs === null)
      throw new CursorWireError("usage.blob", "no blobs: nothing in this capture sets, gets or refers to one");
    return use(plainCall, analysis.blobs, analysis) || code;
  } finally {
    analysis.close();
  }
}

/** `blobs cat ID capture` means the same as `--id ID`: no capture is named by hex digits alone. */
function positionalId(call: Call): { blobId?: string; args: readonly string[] } {
  const [first, ...rest] = call.args;
  const isId = call.options.id === undefined && rest.length > 0 && first !== undefined && /^[0-9a-f]{6,}$/i.test(first);
  return isId ? { blobId: first, args: rest } : { args: call.args };
}

function cat(call: Call, ledger: BlobLedger): number {
  const id = wantedId(call, ledger);
  const bytes = ledger.content(id);
  if (bytes === undefined)
    throw new CursorWireError("usage.blob", `blob ${id} is referred to and never supplied: there is nothing to print`);
  const redactor = redactorOf(call);
  const output = openOutput(call.io, call.options.output, redactor, call.args);
  if (call.options.decoded) {
    const value = ledger.decoded(id);
    if (value === null)
      throw new CursorWireError(
        "usage.blob",
        `the type of blob ${id} is unknown: no field of this capture refers to it`,
      );
    const view = viewOf(call, redactor);
    output.write(`${jsonText(value, { redactor, names: [], maxBody: view.maxBody })}\n`);
  } else {
    if (!call.options.quiet) call.io.err("cursor-wire: bytes as they were sent, nothing is redacted\n");
    output.writeBytes(bytes);
  }
  output.close();
  return exitCodes.ok;
}

function wantedId(call: Call, ledger: BlobLedger): string {
  const { id } = call.options;
  if (id === undefined)
    throw new CursorWireError(
      "usage.blob",
      "which blob? give --id with a prefix of its id (cursor-wire blobs list shows them)",
    );
  const ids = [...new Set(ledger.rows.map((row) => row.id))];
  const found = ids.filter((candidate) => candidate.startsWith(id.toLowerCase()));
  if (found.length === 1) return found[0]!;
  if (found.includes(id.toLowerCase())) return id.toLowerCase();
  if (found.length === 0)
    throw new CursorWireError("usage.blob", `no blob begins with "${id}" (${many(ids.length, "blob")} here)`);
  const listed = found.slice(0, 6).map((candidate) => candidate.slice(0, 16));
  const more = found.length > listed.length ? ` and ${found.length - listed.length} more` : "";
  throw new CursorWireError("usage.blob", `--id "${id}" is ambiguous: it matches ${listed.join(", ")}${more}`);
}

function extract(call: Call, ledger: BlobLedger): number {
  const { output } = call.options;
  if (output === undefined || output === "-") {
    throw new CursorWireError("usage.output", "where to? give the folder with -o");
  }
  return extractBlobs(call, ledger, output);
}
