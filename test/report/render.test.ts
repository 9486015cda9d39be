import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { html } from "../../src/report/escape.js";
import { diagramReports } from "../../src/report/mermaid/index.js";
import { analysis, hostile, render, turn, view } from "./sample.js";

const browser = ["chromium", "chromium-browser"].find((name) => spawnSync(name, ["--version"]).status === 0);
const library = createRequire(import.meta.url).resolve("mermaid/dist/mermaid.min.js");

/** Draws each text in a page of its own and gives the page as the browser ended up with it. */
function draw(texts: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "cursor-wire-draw-"));
  try {
    const page = join(folder, "page.html");
    const figures = texts.map((text) => `<pre class="mermaid">${html(text).replace(/↵/g, "\n")}</pre>`).join("\n");
    const script = `<script src="${pathToFileURL(library).href}"></script>`;
    writeFileSync(page, `<!DOCTYPE html><meta charset="utf-8">${figures}${script}`);
    const run = spawnSync(
      browser!,
      [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--virtual-time-budget=30000",
        "--dump-dom",
        pathToFileURL(page).href,
      ],
      { encoding: "utf8", timeout: 110_000, maxBuffer: 1 << 28 },
    );
    return run.stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe.skipIf(browser === undefined && process.env.CI !== "true")("diagrams in a browser", () => {
  it("draws every kind, with what came from the wire as text", () => {
    const sample = analysis([turn({ prompt: `${hostile} <img src=x>`, model: hostile })]);
    const texts = diagramReports.map((report) => render(report.render(sample, view())));
    const page = draw(texts);
    const drawings = page.match(/<svg[^>]*id="mermaid-/g) ?? [];
    expect(drawings).toHaveLength(texts.length);
    expect(page).not.toContain("Syntax error");
    expect(page).not.toContain("<img");
    expect(page).toContain("set_blob_args");
  });
});
