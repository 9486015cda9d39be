// The console blocks of Markdown pages: each "$ " line is a command, what follows it is exactly what the command prints. A block behind
// `<!-- file: PATH -->` is that file.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** Fenced blocks of a page: language, first line of the content (0-based) and the lines. */
export function fences(text) {
  const lines = text.split("\n");
  const found = [];
  let open = null;
  for (const [i, line] of lines.entries()) {
    if (open === null && line.startsWith("```")) open = { language: line.slice(3).trim(), start: i + 1, lines: [] };
    else if (open !== null && line === "```") {
      found.push(open);
      open = null;
    } else open?.lines.push(line);
  }
  if (open !== null) throw new Error(`the block at line ${open.start} is never closed`);
  return found;
}

/** Commands of the console blocks, in the page's order; `line` counts from 1. */
export function commands(text) {
  return fences(text)
    .filter((fence) => fence.language === "console")
    .flatMap((fence) => {
      const rows = [];
      for (const [i, line] of fence.lines.entries()) {
        if (line.startsWith("$ ")) rows.push({ command: line.slice(2), line: fence.start + i + 1, output: [] });
        else if (rows.length === 0) throw new Error(`line ${fence.start + i + 1}: a console block begins with "$ "`);
        else rows.at(-1).output.push(line);
      }
      return rows.map((row) => ({ ...row, output: row.output.map((line) => `${line}\n`).join("") }));
    });
}

/**
 * Runs commands in one scratch folder that holds the repository's fixtures and examples, with `cursor-wire` on the PATH. Gives what each
 * printed, standard error included, as a terminal shows it.
 */
export function runner(root) {
  const folder = mkdtempSync(join(tmpdir(), "cursor-wire-docs-"));
  const bin = join(folder, ".bin");
  mkdirSync(bin);
  const shim = join(bin, "cursor-wire");
  writeFileSync(shim, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "bin", "cursor-wire.js")}" "$@"\n`);
  chmodSync(shim, 0o755);
  for (const name of ["fixtures", "examples"]) symlinkSync(join(root, name), join(folder, name));
  const { SSLKEYLOGFILE: _, ...rest } = process.env;
  const env = { ...rest, PATH: `${bin}${delimiter}${process.env.PATH}` };
  return {
    run(command) {
      const ran = spawnSync("sh", ["-c", `exec 2>&1\n${command}`], { cwd: folder, env, encoding: "utf8" });
      if (ran.error) throw ran.error;
      return ran.stdout;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The page with every console block's output as the commands print it now, and `<!-- file: PATH -->` blocks as the files are. */
export function refreshed(page, run, read) {
  const text = withFiles(page, read);
  const lines = text.split("\n");
  const outputs = new Map(commands(text).map(({ command, line }) => [line, run(command)]));
  const out = [];
  let inConsole = false;
  for (const [i, line] of lines.entries()) {
    if (line.startsWith("```")) inConsole = line === "```console";
    const output = outputs.get(i + 1);
    if (output !== undefined) out.push(line, ...(output === "" ? [] : output.replace(/\n$/, "").split("\n")));
    else if (!inConsole || line.startsWith("```")) out.push(line);
  }
  return out.join("\n");
}

function withFiles(text, read) {
  return text.replace(
    /(<!-- file: (\S+) -->\n\n```\w+\n)[\s\S]*?(?<=\n)```(?=\n)/g,
    (_, head, path) => `${head}${read(path)}\`\`\``,
  );
}
