/** A talk of Node's own HTTP/2 (nghttp2), as recorded by fixtures/http/make/h2.mjs, against what its two sides say they did. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { http2Layer } from "../../src/net/http2.js";
import { byteByByte, down, fins, gap, run, type Step, uncut, up, type View } from "./http-support.js";

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly up: string;
  readonly down: string;
  readonly status: number | null;
  readonly answer: Readonly<Record<string, string | number>>;
  readonly trailers: Readonly<Record<string, string>>;
}

const talk = JSON.parse(readFileSync(new URL("../../fixtures/http/h2.json", import.meta.url), "utf8")) as {
  packets: readonly (readonly ["up" | "down", string])[];
  truth: readonly Asked[];
};
const packets: readonly Step[] = talk.packets.map(([dir, text]) => {
  const bytes = new Uint8Array(Buffer.from(text, "base64"));
  return dir === "up" ? up(bytes) : down(bytes);
});
const play = (steps: readonly Step[], rolesBy: "syn" | "port" = "syn") =>
  run((context) => http2Layer(context, { secure: false }), [...steps, ...fins], { rolesBy });
const whole = play(packets);

const lines = (headers: Asked["headers"] | Asked["answer"]) =>
  Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(":") ? [] : (Array.isArray(value) ? value : [value]).map((each) => `${name}: ${each}`),
  );

describe("a recorded talk of nghttp2", () => {
  test("every exchange, its bodies, heads and trailers", () => {
    expect(whole.codes).toEqual([]);
    expect(whole.views).toHaveLength(talk.truth.length);
    for (const asked of talk.truth) {
      const view = whole.views.find(({ request }) => request === `${asked.method} ${asked.path}`);
      expect(view).toBeDefined();
      expect(view).toMatchObject({ authority: "h2.test:80", up: asked.up, down: asked.down });
      expect(view!.headers.toSorted()).toEqual(lines(asked.headers).toSorted());
      expect(view!.responseHeaders).toEqual(lines(asked.answer));
      expect(view!.heads.at(-1)).toBe(asked.status === null ? undefined : String(asked.status));
      expect(view!.trailers).toEqual(lines(asked.trailers).map((line) => `down ${line}`));
    }
    const ends = (path: string) => whole.views.find(({ request }) => request.endsWith(path))!.ends;
    expect(ends("/sse")).toEqual(["up complete", "down complete"]);
    expect(ends("/hang")).toEqual(["up complete", "down reset by client"]);
    expect(ends("/refuse")).toContain("down reset by server");
  });

  test("byte by byte", () => {
    expect(uncut(play(byteByByte(packets)).views)).toEqual(uncut(whole.views));
  });

  test("started at every packet: nothing is invented", () => {
    const known = new Set(whole.views.map(({ request }) => request));
    for (let from = 1; from < packets.length; from++) {
      const { views } = play(packets.slice(from), "port");
      for (const view of views) expect(known.has(view.request) || isPartOf(view, known)).toBe(true);
    }
  });

  test("every packet dropped in turn: nothing is invented, and the loss is told", () => {
    const known = new Set(whole.views.map(({ request }) => request));
    packets.forEach((packet, lost) => {
      if (!("bytes" in packet)) return;
      const { views, codes } = play([
        ...packets.slice(0, lost),
        gap(packet.dir, packet.bytes.length),
        ...packets.slice(lost + 1),
      ]);
      for (const view of views) expect(known.has(view.request) || isPartOf(view, known)).toBe(true);
      const same = JSON.stringify(uncut(views)) === JSON.stringify(uncut(whole.views));
      const told = same || codes.length > 0 || views.some(({ gaps }) => gaps.length > 0);
      expect([lost, told]).toEqual([lost, true]);
    });
  });
});

/** A request of which only some pseudo-headers are known. */
function isPartOf(view: View, known: ReadonlySet<string>): boolean {
  const [method = "", path = ""] = view.request.split(" ");
  return [...known].some((request) => request.startsWith(method) && (path === "" || request.endsWith(path)));
}
