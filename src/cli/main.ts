/** The command line as a function: arguments in, exit code out. Prints one sentence for every error and never a stack trace. */
import { Command, CommanderError } from "commander";
import { CursorWireError } from "../core/errors.js";
import { terminal } from "../report/escape.js";
import { type Call, exitCodes } from "./call.js";
import type { Io } from "./io.js";
import { absentOptions, type Options, separateLast } from "./options.js";
import { version } from "./start.js";
import { type CommandRow, commandTable } from "./table.js";

export async function main(argv: readonly string[], io: Io): Promise<number> {
  let code: number = exitCodes.ok;
  const program = programFor(io, async (row, call) => {
    const { run } = await row.load();
    code = await run(call);
  });
  try {
    if (argv.length === 0) {
      program.outputHelp();
      return exitCodes.usage;
    }
    await program.parseAsync(separateLast(argv), { from: "user" });
    return code;
  } catch (error) {
    return failure(error, io);
  }
}

function failure(error: unknown, io: Io): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof CursorWireError) {
    io.err(`cursor-wire: ${terminal(error.message)}\n`);
    if (error.code.startsWith("usage.")) return exitCodes.usage;
    return error.code.startsWith("input.") ? exitCodes.unreadable : exitCodes.internal;
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  io.err(`cursor-wire: internal error, please report it: ${terminal(message)}\n`);
  if (io.env.CURSOR_WIRE_DEBUG && error instanceof Error) io.err(`${error.stack}\n`);
  return exitCodes.internal;
}

function programFor(io: Io, run: (row: CommandRow, call: Call) => Promise<void>): Command {
  const program = new Command("cursor-wire")
    .description("Reads captured traffic of AI coding agents (HAR, pcap, pcapng, logs) offline and says what happened.")
    .version(version())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.out(text),
      writeErr: (text) => io.err(text),
      outputError: (text, write) => write(text.replace(/^error:/, "cursor-wire:")),
      getOutHelpWidth: () => io.columns ?? 120,
      getErrHelpWidth: () => io.columns ?? 120,
    })
    .showHelpAfterError("(cursor-wire --help lists the commands)")
    .addHelpText(
      "after",
      examplesText(["analyze session.har", "check session.pcapng --keylog keys.log", "help analyze"]),
    );
  for (const row of commandTable) {
    const command = row
      .options(new Command(row.name))
      .description(row.about)
      .copyInheritedSettings(program)
      .showHelpAfterError(`(cursor-wire ${row.name} --help shows the options)`)
      .addHelpText("after", examplesText(row.examples));
    // Commands sort out their arguments themselves: a place, or the verb of `blobs`, stands among the captures.
    for (const arg of row.commanderArgs ?? [row.args]) command.argument(arg);
    if (row.commanderArgs !== undefined) command.usage(`[options] ${row.args}`);
    command.action((...given: unknown[]) => {
      const args = given.slice(0, -2).flat() as string[];
      return run(row, { args, options: { ...absentOptions, ...(given.at(-2) as Partial<Options>) }, io });
    });
    program.addCommand(command);
  }
  return program;
}

function examplesText(examples: readonly string[]): string {
  const lines = examples.map((example) =>
    example.includes("cursor-wire") ? `  ${example}` : `  cursor-wire ${example}`,
  );
  return `\nExamples:\n${lines.join("\n")}`;
}
