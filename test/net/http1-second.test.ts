/** http-parser-js as second opinion on generated HTTP/1 talks. */
import fc from "fast-check";
import { HTTPParser } from "http-parser-js";
import { describe, expect, test } from "vitest";
import { type Bytes, concat, latin1 } from "../../src/core/bytes.js";
import { http1Layer } from "../../src/net/http1.js";
import { down, fins, run, up } from "./http-support.js";

interface Message {
  readonly line: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
  /** Chunk sizes; empty: Content-Length. */
  readonly chunks: readonly number[];
  readonly trailer: boolean;
}

const token = fc
  .stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/)
  .filter(
    (name) =>
      !/^(content-length|transfer-encoding|connection|upgrade|host|trailer|expect|proxy-connection)$/i.test(name),
  );
const value = fc.stringMatching(/^([!-~]([ -~]{0,30}[!-~])?)?$/);
const message = (line: fc.Arbitrary<string>): fc.Arbitrary<Message> =>
  fc.record({
    line,
    fields: fc.array(fc.tuple(token, value), { maxLength: 5 }),
    body: fc.string({ unit: "binary-ascii", maxLength: 300 }),
    chunks: fc.array(fc.integer({ min: 1, max: 80 }), { maxLength: 4 }),
    trailer: fc.boolean(),
  });
const request = message(
  fc
    .tuple(fc.constantFrom("GET", "POST", "PUT"), fc.stringMatching(/^\/[a-z0-9?=&%/.]{0,30}$/))
    .map(([method, path]) => `${method} ${path} HTTP/1.1`),
);
const response = message(fc.constantFrom("HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.1 500 "));

function wire({ line, fields, body, chunks, trailer }: Message): Bytes {
  const head = (more: string) =>
    `${line}\r\n${fields.map(([name, text]) => `${name}: ${text}\r\n`).join("")}${more}\r\n\r\n`;
  if (chunks.length === 0) return bytes(`${head(`Content-Length: ${body.length}`)}${body}`);
  let text = head("Transfer-Encoding: chunked");
  let rest = body;
  for (let i = 0; rest !== ""; i++) {
    const part = rest.slice(0, chunks[i % chunks.length]);
    rest = rest.slice(part.length);
    text += `${part.length.toString(16)}${i % 2 === 0 ? "" : ";x=y"}\r\n${part}\r\n`;
  }
  return bytes(`${text}0\r\n${trailer ? "X-Trailer: t\r\n" : ""}\r\n`);
}

function bytes(text: string): Bytes {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

interface Parsed {
  line: string;
  headers: string[];
  body: string;
  trailers: string[];
}

function secondOpinion(kind: "REQUEST" | "RESPONSE", stream: Bytes): Parsed[] {
  const all: Parsed[] = [];
  const pairs = (list: readonly string[]) =>
    list.flatMap((text, i) => (i % 2 === 0 ? [`${text}: ${list[i + 1]}`] : []));
  const parser = new HTTPParser(kind);
  parser[HTTPParser.kOnHeadersComplete] = (info) => {
    const line = kind === "REQUEST" ? `${HTTPParser.methods[info.method]} ${info.url}` : `${info.statusCode}`;
    all.push({ line, headers: pairs(info.headers), body: "", trailers: [] });
  };
  parser[HTTPParser.kOnBody] = (chunk: Buffer, offset: number, length: number) => {
    all.at(-1)!.body += chunk.toString("latin1", offset, offset + length);
  };
  parser[HTTPParser.kOnHeaders] = (list: string[]) => {
    all.at(-1)!.trailers.push(...pairs(list));
  };
  parser.execute(Buffer.from(stream));
  return all;
}

describe("http-parser-js as second opinion", () => {
  test("generated talks, cut anywhere, pipelined", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(request, response), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 6 }),
        (talk, sizes) => {
          const asked = concat(talk.map(([each]) => wire(each)));
          const answered = concat(talk.map(([, each]) => wire(each)));
          const { events, codes } = run(
            (context) => http1Layer(context, false),
            [...cut(asked, sizes).map(up), ...cut(answered, sizes).map(down), ...fins],
          );
          const ours = { up: [] as Parsed[], down: [] as Parsed[] };
          const byId = new Map<number, { up: Parsed; down: Parsed }>();
          for (const event of events) {
            if (event.kind === "flow" || event.kind === "flow-end") continue;
            const { exchange } = event;
            if (event.kind === "open") {
              const made = {
                up: parsed(`${exchange.request!.method} ${exchange.request!.path}`, exchange.request!.headers),
                down: parsed("", []),
              };
              byId.set(exchange.id, made);
              ours.up.push(made.up);
              ours.down.push(made.down);
            }
            const both = byId.get(exchange.id)!;
            if (event.kind === "head") Object.assign(both.down, parsed(String(event.head.status), event.head.headers));
            if (event.kind === "bytes") both[event.direction].body += latin1(event.bytes);
            if (event.kind === "trailers")
              both[event.direction].trailers.push(...event.headers.map(({ name, value: text }) => `${name}: ${text}`));
          }
          expect(ours.up).toEqual(secondOpinion("REQUEST", asked));
          expect(ours.down).toEqual(secondOpinion("RESPONSE", answered));
          expect(codes).toEqual([]);
        },
      ),
    );
  });
});

function parsed(line: string, headers: readonly { readonly name: string; readonly value: string }[]): Parsed {
  return { line, headers: headers.map(({ name, value: text }) => `${name}: ${text}`), body: "", trailers: [] };
}

function cut(all: Bytes, sizes: readonly number[]): Bytes[] {
  const pieces: Bytes[] = [];
  for (let at = 0, i = 0; at < all.length; i++) {
    const size = sizes[i % sizes.length]!;
    pieces.push(all.slice(at, at + size));
    at += size;
  }
  return pieces;
}
