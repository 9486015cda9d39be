/** HTTP/1, HTTP/2 and WebSocket against tshark: decrypted DATA, header lists, bodies, payloads. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { pcap } from "../../fixtures/net/make/packets.mjs";
import { onEthernet, packet, syn, synAck } from "../../fixtures/net/make/talk.mjs";
import { keyLog } from "../../src/capture/keylog.js";
import { type Bytes, concat, hex, utf8 } from "../../src/core/bytes.js";
import { defaultLimits } from "../../src/core/limits.js";
import { type Direction, type Headers, type NeckEvent, newIds, type StreamEvent } from "../../src/model/exchange.js";
import { net } from "../../src/net/index.js";
import { data, headers, reset, Talk } from "../net/h2-frames.js";
import { down, type Step, up } from "../net/http-support.js";
import { readPackets } from "../net/run.js";
import { deflated, frame, handshake, masked } from "../net/websocket-frames.js";
import { describeWithTshark, tshark } from "./tshark.js";

interface Capture {
  readonly name: string;
  readonly file: Bytes;
  readonly args: readonly string[];
  readonly keys?: Bytes;
}

const fixture = (name: string) => new URL(`../../fixtures/${name}`, import.meta.url);
const bytesOf = (name: string) => new Uint8Array(readFileSync(fixture(name)));

function recorded(name: string, options: { keys?: string; args?: string[] } = {}): Capture {
  const { keys, args = [] } = options;
  const file = bytesOf(name);
  if (keys === undefined) return { name, file, args };
  return { name, file, args: [...args, "-o", `tls.keylog_file:${fileURLToPath(fixture(keys))}`], keys: bytesOf(keys) };
}

/** Steps of a talk as a capture: one TCP segment per step. */
function captured(name: string, steps: readonly Step[], protocol: "http" | "http2"): Capture {
  const at = { up: 0, down: 0 };
  const packets = [syn(), synAck()];
  for (const step of steps) {
    if (!("bytes" in step)) continue;
    for (let from = 0; from < step.bytes.length; from += 1400) {
      const piece = step.bytes.slice(from, from + 1400);
      const acked = step.dir === "up" ? at.down : at.up;
      packets.push(packet(step.dir === "up" ? "c" : "s", at[step.dir], piece, { acked }));
      at[step.dir] += piece.length;
    }
  }
  return { name, file: pcap(onEthernet(packets)), args: ["-d", `tcp.port==8080,${protocol}`] };
}

function read({ file, keys }: Capture): Exclude<NeckEvent, { kind: "flow" | "flow-end" }>[] {
  const events: StreamEvent[] = [];
  const note = () => {};
  const log = keyLog(note);
  if (keys !== undefined) log.add(keys);
  const packets = net({
    limits: defaultLimits,
    note,
    sink: (event) => {
      if (event.kind !== "flow" && event.kind !== "flow-end") events.push(event);
    },
    ids: newIds(),
    keys: log,
    wantHashes: false,
  });
  const { packets: all, secrets } = readPackets(file);
  for (const secret of secrets) log.add(secret);
  for (const each of all) packets.push(each);
  packets.end();
  return events;
}

type Table = Record<string, string[]>;

function add(table: Table, key: string, values: readonly string[]): void {
  table[key] ??= [];
  table[key].push(...values);
}

/** "50000>8080": who sent it. */
function sender({ exchange }: StreamEvent, direction: Direction): string {
  const port = (end: string) => end.slice(end.lastIndexOf(":") + 1);
  const [client, server] = [port(exchange.flow.client), port(exchange.flow.server)];
  return direction === "up" ? `${client}>${server}` : `${server}>${client}`;
}

/** Between the values of a field in one frame: no value holds it. */
const glue = "\u0001";

/** Prints these fields of every frame, with all their values. */
function all(...fields: string[]): string[] {
  const form = ["-T", "fields", "-E", "occurrence=a", "-E", `aggregator=${glue}`];
  return [...form, ...fields.flatMap((name) => ["-e", name])];
}

/** All values of a field by sender, in the capture's order. */
function theirs(capture: Capture, field: string, filter = field): Table {
  const fields = all("tcp.srcport", "tcp.dstport", field);
  const options = [...capture.args, "-o", "http.decompress_body:FALSE", "-Y", filter, ...fields];
  const table: Table = {};
  for (const line of tshark(capture.file, options).split("\n")) {
    const [from, to, values = ""] = line.split("\t");
    if (to !== undefined) add(table, `${from}>${to}`, values.split(glue));
  }
  return table;
}

const isTwo = ({ exchange }: StreamEvent) => exchange.request?.version === "2";
const lines = (headers: Headers) => headers.map(({ name, value }) => `${name}: ${value}`);

/** Body bytes of one stream as hex: [up, down]. */
type Bodies = readonly [string, string];

/** DATA of every HTTP/2 stream by connection ("50000>8080"), padding removed, as "Follow HTTP/2 stream" shows its frames. */
function followed(capture: Capture): Record<string, Bodies[]> {
  const rows = tshark(capture.file, [...capture.args, "-Y", "http2", ...all("tcp.stream", "http2.streamid")]).split(
    "\n",
  );
  const streams = new Set(
    rows.flatMap((row) => {
      const [connection, ids = ""] = row.split("\t");
      return ids.split(glue).flatMap((id) => (id === "0" || id === "" ? [] : [`${connection},${id}`]));
    }),
  );
  const taps = [...streams].flatMap((stream) => ["-z", `follow,http2,raw,${stream}`]);
  const table: Record<string, Bodies[]> = {};
  for (const part of tshark(capture.file, [...capture.args, "-q", ...taps])
    .split(/^Follow: /m)
    .slice(1)) {
    const port = (node: number) => new RegExp(`^Node ${node}: .*:(\\d+)$`, "m").exec(part)![1];
    const frames = part.split("\n").filter((line) => /^\t?[0-9a-f]+$/.test(line));
    const side = (mine: boolean) =>
      frames
        .flatMap((line) => (line.startsWith("\t") === mine ? [] : [dataOf(Buffer.from(line.trim(), "hex"))]))
        .join("");
    const key = `${port(0)}>${port(1)}`;
    table[key] ??= [];
    table[key].push([side(true), side(false)]);
  }
  return table;
}

/** Content of a DATA frame as hex; other lines are header lists, whose fourth byte is not 0. */
function dataOf(frame: Buffer): string {
  if (frame[3] !== 0 || frame.length !== 9 + frame.readUIntBE(0, 3)) return "";
  const padded = (frame[4]! & 8) !== 0;
  return frame.toString("hex", padded ? 10 : 9, padded ? frame.length - frame[9]! : frame.length);
}

const http2: readonly Capture[] = [
  recorded("net/recorded/e-h2c.pcap", { args: ["-d", "tcp.port==20827,http"] }),
  recorded("net/recorded/e-tls.pcapng", { keys: "http/recorded/e-tls.keys" }),
  recorded("http/recorded/a-web.pcapng", { keys: "http/recorded/a-web.keys" }),
  captured("nghttp2", nghttp2Talk(), "http2"),
  captured("made", madeTalk(), "http2"),
];

function nghttp2Talk(): Step[] {
  const { packets } = JSON.parse(readFileSync(fixture("http/h2.json"), "utf8")) as { packets: [Direction, string][] };
  return packets.map(([dir, text]) => ({ dir, bytes: new Uint8Array(Buffer.from(text, "base64")) }));
}

/** What real clients rarely send: CONTINUATION, padding, priority, trailers, informational heads, RST_STREAM. */
function madeTalk(): Step[] {
  const t = new Talk();
  return [
    ...Talk.start(),
    up(t.ask(1, "/long", { cuts: [1, 9], pad: 5, priority: true, more: [["x-same", "again"]] })),
    up(concat([data(1, "padded", { pad: 30 }), t.ask(3, "/second", { end: true, more: [["x-same", "again"]] })])),
    up(headers(1, t.client.block([["x-up-trailer", "1"]]), { end: true })),
    down(concat([t.answer(3, 103, { more: [["link", "</x>"]] }), t.answer(3), data(3, "three "), t.answer(1)])),
    down(concat([data(1, "one"), data(3, "and more", { pad: 0 }), t.trailers(1, [["grpc-status", "0"]])])),
    up(reset(3)),
    up(t.ask(5, "/third", { more: [["x-same", "again"]] })),
    up(data(5, "x".repeat(5000), { end: true })),
    down(concat([t.answer(5, 204, { end: true })])),
  ];
}

describeWithTshark("HTTP/2 as tshark has it", () => {
  it.each(http2.map((capture) => [capture.name, capture] as const))("DATA: %s", (_, capture) => {
    const bodies = new Map<number, { connection: string; up: string; down: string }>();
    for (const event of read(capture)) {
      if (!isTwo(event)) continue;
      if (event.kind === "open") bodies.set(event.exchange.id, { connection: sender(event, "up"), up: "", down: "" });
      if (event.kind === "bytes") bodies.get(event.exchange.id)![event.direction] += hex(event.bytes);
    }
    const ours: Record<string, Bodies[]> = {};
    for (const { connection, up: sent, down: received } of bodies.values()) {
      ours[connection] ??= [];
      ours[connection].push([sent, received]);
    }
    const reference = followed(capture);
    expect(Object.keys(ours).toSorted()).toEqual(Object.keys(reference).toSorted());
    for (const key of Object.keys(ours)) expect(ours[key]!.toSorted()).toEqual(reference[key]!.toSorted());
  });

  it.each(http2.map((capture) => [capture.name, capture] as const))("header lists: %s", (_, capture) => {
    const ours: Table = {};
    const starts: Table = {};
    for (const event of read(capture)) {
      if (!isTwo(event)) continue;
      if (event.kind === "open") {
        const { method, authority, scheme, path, headers: list } = event.exchange.request!;
        add(starts, sender(event, "up"), [
          `:method: ${method}`,
          `:authority: ${authority}`,
          `:scheme: ${scheme}`,
          `:path: ${path}`,
        ]);
        add(ours, sender(event, "up"), lines(list));
      } else if (event.kind === "head") {
        add(starts, sender(event, "down"), [`:status: ${event.head.status}`]);
        add(ours, sender(event, "down"), lines(event.head.headers));
      } else if (event.kind === "trailers") add(ours, sender(event, event.direction), lines(event.headers));
    }
    const names = theirs(capture, "http2.header.name", "http2.header.name");
    const values = theirs(capture, "http2.header.value", "http2.header.name");
    const pseudo: Table = {};
    const plain: Table = {};
    for (const [key, list] of Object.entries(names))
      list.forEach((name, i) => {
        add(name.startsWith(":") ? pseudo : plain, key, [`${name}: ${values[key]![i]}`]);
      });
    expect(Object.keys(starts).length).toBeGreaterThan(0);
    expect(ours).toEqual(plain);
    const sorted = (table: Table) =>
      Object.fromEntries(Object.entries(table).map(([key, list]) => [key, list.toSorted()]));
    expect(sorted(starts)).toEqual(sorted(pseudo));
  });
});

const agreed = handshake("permessage-deflate");
const webSockets: readonly Capture[] = [
  recorded("http/recorded/deflate-relay.pcap", { args: ["-d", "tcp.port==39412,http"] }),
  captured(
    "made",
    [
      up(agreed.request),
      down(agreed.response),
      up(masked(1, "masked text")),
      down(concat([frame(9, ""), frame(1, "x".repeat(3000)), frame(1, deflated("compressed text "), { rsv: 4 })])),
      up(concat([masked(1, "one"), masked(1, "two"), masked(10, "")])),
      down(frame(1, "last")),
    ],
    "http",
  ),
];

describeWithTshark("WebSocket as tshark has it", () => {
  it.each(webSockets.map((capture) => [capture.name, capture] as const))("text messages: %s", (_, capture) => {
    const ours: Table = {};
    for (const event of read(capture))
      if (event.kind === "frame" && event.opcode === 1) add(ours, sender(event, event.direction), [utf8(event.bytes)]);
    expect(Object.keys(ours)).toHaveLength(2);
    expect(ours).toEqual(theirs(capture, "websocket.payload.text"));
  });
});

const http1: readonly Capture[] = [
  recorded("http/recorded/c.upstream.pcap", { args: ["-d", "tcp.port==21487,http"] }),
  captured(
    "made",
    [
      up("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"),
      down("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nworld\r\n3\r\n!!!\r\n0\r\nT: 1\r\n\r\n"),
      up("PUT /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n"),
      down("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"),
      up("HEAD /c HTTP/1.1\r\nHost: h\r\n\r\n"),
      down("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
    ],
    "http",
  ),
];

describeWithTshark("HTTP/1 as tshark has it", () => {
  it.each(http1.map((capture) => [capture.name, capture] as const))(
    "requests, statuses and bodies: %s",
    (_, capture) => {
      const ours = { methods: {} as Table, paths: {} as Table, statuses: {} as Table };
      const bodies = new Map<string, Bytes[]>();
      for (const event of read(capture)) {
        if (event.kind === "open") {
          add(ours.methods, sender(event, "up"), [event.exchange.request!.method]);
          add(ours.paths, sender(event, "up"), [event.exchange.request!.path]);
        } else if (event.kind === "head") add(ours.statuses, sender(event, "down"), [String(event.head.status)]);
        else if (event.kind === "bytes") {
          const key = `${event.exchange.id} ${sender(event, event.direction)}`;
          bodies.set(key, [...(bodies.get(key) ?? []), event.bytes]);
        }
      }
      expect(ours).toEqual({
        methods: theirs(capture, "http.request.method"),
        paths: theirs(capture, "http.request.uri"),
        statuses: theirs(capture, "http.response.code"),
      });
      expect([...bodies.values()].map((parts) => hex(concat(parts))).toSorted()).toEqual(fileData(capture).toSorted());
    },
  );
});

/** Bodies without transfer coding, as hex. Only PDML has their bytes: as a field they are text. */
function fileData(capture: Capture): string[] {
  const text = tshark(capture.file, [...capture.args, "-o", "http.decompress_body:FALSE", "-T", "pdml"]);
  return [...text.matchAll(/<field name="http\.file_data"[^>]* value="([0-9a-f]+)"/g)].map((match) => match[1]!);
}
