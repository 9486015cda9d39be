/** The commands: name, arguments, options, examples. What runs is loaded only when its command is called. */
import { type Command, Option } from "commander";
import type { Run } from "./call.js";
import { collect, outputOptions, readingOptions, selectionOptions } from "./options.js";

export interface CommandRow {
  readonly name: string;
  /** As the help shows them. */
  readonly args: string;
  /** As commander is told, where that differs. */
  readonly commanderArgs?: readonly string[];
  readonly about: string;
  readonly examples: readonly string[];
  options(command: Command): Command;
  load(): Promise<{ readonly run: Run }>;
}

const captures = "[capture...]";

function ruleOptions(command: Command): Command {
  return command
    .optionsGroup("Rules:")
    .option("--rule <id=level>", "set a rule to off, info, warning or error; may be repeated", collect)
    .option("--config <file>", "settings file; default: cursor-wire.config.json in the working folder")
    .option("--no-config", "use no settings file");
}

function gateOptions(command: Command): Command {
  return ruleOptions(command)
    .addOption(
      new Option("--fail-on <severity>", "least severity that fails; default: error").choices([
        "error",
        "warning",
        "info",
      ]),
    )
    .option("--strict", "findings on damaged evidence count too")
    .option("--require <id>", "a rule that must be checkable; may be repeated", collect)
    .option("--baseline <file>", "accept the findings of this file")
    .option("--write-baseline <file>", "accept all findings of this run from now on");
}

export const commandTable: readonly CommandRow[] = [
  {
    name: "analyze",
    args: captures,
    about: "everything at a glance: conversations, one block per turn, blobs, findings, what is missing",
    examples: [
      "analyze session.har",
      "analyze session.pcapng --keylog keys.log --last 2",
      "analyze day.pcapng --brief",
      "analyze session.har --format json | jq '.turns[].outcome'",
      "tcpdump -i any -U -w - tcp port 443 | cursor-wire analyze --follow --keylog keys.log -",
    ],
    options: (command) =>
      ruleOptions(
        outputOptions(selectionOptions(readingOptions(command)), ["text", "json", "markdown"])
          .option("--brief", "one line per turn")
          .option("--follow", "print turns as they happen"),
      ),
    load: () => import("./commands/analyze.js"),
  },
  {
    name: "frames",
    args: captures,
    about: "one line or JSON object per envelope, frame or message, decoded",
    examples: [
      "frames session.har --kind '*.set_blob_args'",
      "frames session.pcapng --turn 2 --format ndjson | jq .message",
      "frames service.har --descriptors image.binpb",
    ],
    options: (command) => outputOptions(selectionOptions(readingOptions(command)), ["text", "ndjson"]),
    load: () => import("./commands/frames.js"),
  },
  {
    name: "diagram",
    args: captures,
    about: "Mermaid: sequence, gantt, timeline or state",
    examples: ["diagram session.har --turn 1 > turn.mmd", "diagram session.pcapng --kind gantt"],
    options: (command) =>
      outputOptions(
        selectionOptions(readingOptions(command), false).addOption(
          new Option("--kind <kind>", "which diagram")
            .choices(["sequence", "gantt", "timeline", "state"])
            .default("sequence"),
        ),
        [],
      ),
    load: () => import("./commands/diagram.js"),
  },
  {
    name: "check",
    args: captures,
    about: "findings, with an exit code for CI",
    examples: [
      "check session.har",
      "check fixtures/*.har --fail-on warning --format junit -o report.xml",
      "check session.har --write-baseline known.json",
      "check session.har --baseline known.json",
      "check --list-rules",
      "check --explain cursor/K06",
    ],
    options: (command) =>
      gateOptions(
        outputOptions(selectionOptions(readingOptions(command), false), ["text", "json", "junit", "sarif", "github"]),
      )
        .option("--store <file>", "session store that resolves blobs the capture never showed", collect)
        .option("--allow-empty", "a capture without a turn passes")
        .option("--list-rules", "list the rules")
        .option("--explain <id>", "explain a rule"),
    load: () => import("./commands/check.js"),
  },
  {
    name: "blobs",
    args: "[list|tree|cat|extract] [capture...]",
    commanderArgs: ["[capture...]"],
    about: "the blob ledger; the graph of a checkpoint; one blob; all blobs into a folder",
    examples: [
      "blobs session.har",
      "blobs tree session.har --last",
      "blobs cat session.har --id 3f2a > blob.bin",
      "blobs cat session.har --id 3f2a --decoded",
      "blobs extract session.har -o blobs/",
    ],
    options: (command) =>
      outputOptions(selectionOptions(readingOptions(command), false), ["text", "json", "mermaid"])
        .option("--id <hex>", "cat: which blob (a unique prefix is enough)")
        .option("--decoded", "cat: by the type of the field that refers to it, as JSON"),
    load: () => import("./commands/blobs.js"),
  },
  {
    name: "diff",
    args: "<a> <b>",
    commanderArgs: ["<a>", "<b>"],
    about: "the first divergence of each turn of two captures",
    examples: ["diff good.har bad.har", "diff before.pcapng after.pcapng --exit-code --format json"],
    options: (command) =>
      outputOptions(selectionOptions(readingOptions(command)), ["text", "json"]).option(
        "--exit-code",
        "exit 1 where there is a difference",
      ),
    load: () => import("./commands/diff.js"),
  },
  {
    name: "flows",
    args: captures,
    about: "the transport: flows, gaps, TLS, protocols, exchanges",
    examples: ["flows session.pcapng --keylog keys.log", "flows any.pcap --format json | jq '.flows[].tls'"],
    options: (command) => outputOptions(readingOptions(command), ["text", "json"]),
    load: () => import("./commands/flows.js"),
  },
  {
    name: "show",
    args: "<capture> <place>",
    commanderArgs: ["[capture...]"],
    about: "hex, envelope, fields and meaning of one place that a report printed",
    examples: ["show session.har 'session.har#7/response@1234..1298'", "show session.pcapng '#412-415'"],
    options: (command) => outputOptions(readingOptions(command), ["text", "json"]),
    load: () => import("./commands/show.js"),
  },
  {
    name: "store",
    args: "<file...>",
    about: "ledger and checks of session stores on disk (SQLite)",
    examples: ["store ~/.pi/sessions", "store session.sqlite --tree"],
    options: (command) =>
      gateOptions(outputOptions(command, ["text", "json"])).option("--tree", "draw the entry tree of each session"),
    load: () => import("./commands/store.js"),
  },
];
