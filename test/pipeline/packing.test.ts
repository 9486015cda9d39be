import { readdirSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { analyze, render } from "../../src/index.js";

const folder = (path: string) => new URL(`../../fixtures/${path}`, import.meta.url).pathname;
const captures = ["cursor/", "cursor/recorded/"].flatMap((path) =>
  readdirSync(folder(path))
    .filter((name) => /\.(har|pcap|pcapng)$/.test(name))
    .map((name) => folder(path + name)),
);
const open: { close(): void }[] = [];
afterAll(() => {
  for (const each of open) each.close();
});

function outputs(paths: readonly string[], limits: object): readonly string[] {
  const analysis = analyze(paths, { limits });
  open.push(analysis);
  return (["text", "json", "sequence", "findings", "blobs"] as const).map((report) => render(analysis, report));
}

describe("what is packed away in between changes nothing that is printed", () => {
  it.each(captures)("%s", (path) => {
    expect(outputs([path], { conversationBytes: 0 })).toEqual(outputs([path], {}));
  });

  it("several captures in one", () => {
    expect(captures.length).toBeGreaterThan(2);
    expect(outputs(captures, { conversationBytes: 0 })).toEqual(outputs(captures, {}));
  });
});
