import { describe, expect, test } from "vitest";
import { http1Layer } from "../../src/net/http1.js";
import { byteByByte, down, end, everyCut, fins, gap, run, type Step, uncut, up, type View } from "./http-support.js";

const make = (context: Parameters<typeof http1Layer>[0]) => http1Layer(context, false);
const play = (steps: readonly Step[], options = {}) => run(make, steps, options);

interface Row {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly want: readonly Partial<View>[];
  readonly codes?: readonly string[];
}

const get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const post = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const done = ["up complete", "down complete"];

/** Rows in which nothing is lost: every cut gives the same. */
const sound: readonly Row[] = [
  {
    name: "RFC 9112 2.1 one request, one response",
    steps: [up(post), down(ok), ...fins],
    want: [
      {
        request: "POST /p",
        authority: "h",
        scheme: "http",
        version: "1.1",
        heads: ["200"],
        up: "hello",
        down: "ok",
        ends: done,
      },
    ],
  },
  {
    name: "RFC 9112 9.3 keep-alive",
    steps: [up(get), down(ok), up(post), down(ok), ...fins],
    want: [
      { request: "GET /a", down: "ok", ends: done },
      { request: "POST /p", up: "hello", down: "ok", ends: done },
    ],
  },
  {
    name: "RFC 9112 9.3.2 pipelining",
    steps: [up(get + post + get), down(`${ok}HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx${ok}`), ...fins],
    want: [
      { request: "GET /a", heads: ["200"], down: "ok" },
      { request: "POST /p", heads: ["404"], down: "x", up: "hello" },
      { request: "GET /a", heads: ["200"], down: "ok" },
    ],
  },
  {
    name: "RFC 9112 7.1 chunked with extensions and trailers",
    steps: [
      up(get),
      down(
        `${chunked}5;name=value\r\nhello\r\n00A ; x\r\n0123456789\r\n0;last\r\nX-Sum: 1\r\nY: 2\r\n\r\n${ok.replace("200", "201")}`,
      ),
      ...fins,
    ],
    want: [{ down: "hello0123456789", trailers: ["down X-Sum: 1", "down Y: 2"], ends: done }],
    codes: ["http1.response-without-request"],
  },
  {
    name: "RFC 9112 7.1 chunked request",
    steps: [
      up("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
      down(ok),
      ...fins,
    ],
    want: [{ up: "abc", ends: done }],
  },
  {
    name: "RFC 9110 10.1.1 100-continue, 15.2 other informational heads",
    steps: [
      up("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
      down("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
      up("hi"),
      down(ok),
      ...fins,
    ],
    want: [{ heads: ["(100)", "(103)", "200"], up: "hi", down: "ok", ends: done }],
  },
  {
    name: "RFC 9112 6.3 no body after HEAD, 204 and 304",
    steps: [
      up(get.replace("GET", "HEAD") + get + get + get),
      down(
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 204 None\r\nContent-Length: 9\r\n\r\nHTTP/1.1 304 Same\r\nTransfer-Encoding: chunked\r\n\r\n",
      ),
      down(ok),
      ...fins,
    ],
    want: [
      { heads: ["200"], down: "" },
      { heads: ["204"], down: "" },
      { heads: ["304"], down: "" },
      { heads: ["200"], down: "ok" },
    ],
  },
  {
    name: "RFC 9112 6.3 body until the connection closes",
    steps: [
      up("GET / HTTP/1.0\r\n\r\n"),
      down("HTTP/1.0 200 OK\r\n\r\nall of it"),
      down(", and more"),
      end("down"),
      end("up"),
    ],
    want: [{ version: "1.0", down: "all of it, and more", ends: ["up complete", "down complete by server"] }],
  },
  {
    name: "RFC 9112 6.3 Content-Length and Transfer-Encoding: the latter wins and it is said",
    steps: [
      up(get),
      down("HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
      ...fins,
    ],
    want: [{ down: "x", ends: done }],
    codes: ["http1.length-and-chunked"],
  },
  {
    name: "RFC 9112 6.3 equal and different Content-Length values",
    steps: [
      up(get + get),
      down(
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
      ),
      ...fins,
    ],
    want: [{ down: "ok" }, { down: "abc", ends: done }],
    codes: ["http1.lengths-differ"],
  },
  {
    name: "RFC 9112 6.2 a Content-Length that is none",
    steps: [up(get), down("HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok"), ...fins],
    want: [{ down: "ok", ends: ["up complete", "down complete by client"] }],
    codes: ["http1.bad-length"],
  },
  {
    name: "RFC 9112 6.1 a transfer coding that is not chunked stays on",
    steps: [up(get), down("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nzz\r\n0\r\n\r\n"), ...fins],
    want: [{ down: "zz" }],
    codes: ["http1.transfer-coding"],
  },
  {
    name: "RFC 9112 5.2 obs-fold, 5.1 space before the colon, 2.2 bare LF and empty lines in front",
    steps: [
      up("\r\n\r\nGET /a HTTP/1.1\nHost: h\nX-Long: one\n  two\n\tthree\nX-Sp : v\n\n"),
      down(ok.replaceAll("\r\n", "\n")),
      ...fins,
    ],
    want: [{ request: "GET /a", headers: ["Host: h", "X-Long: one two three", "X-Sp: v"], down: "ok", ends: done }],
  },
  {
    name: "RFC 9112 5 lines that are no fields are left out and counted",
    steps: [up("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n: no name\r\n\r\n"), down(ok), ...fins],
    want: [{ headers: ["Host: h"], down: "ok" }],
    codes: ["http1.bad-header-line"],
  },
  {
    name: "RFC 9112 3.2.2 absolute-form, 3.2.4 asterisk-form",
    steps: [
      up("GET https://u:p@x.test:8443?q HTTP/1.1\r\nHost: other\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"),
      down(ok + ok),
      ...fins,
    ],
    want: [
      { request: "GET /?q", authority: "x.test:8443", scheme: "https" },
      { request: "OPTIONS *", authority: "h", scheme: "http" },
    ],
  },
  {
    name: "RFC 9110 5.5 header values in UTF-8 and in ISO 8859-1",
    steps: [
      up(new Uint8Array(Buffer.from("GET /\xc3\xa9 HTTP/1.1\r\nA: \xc3\xa9\r\nB: \xe9\r\n\r\n", "latin1"))),
      down(ok),
      ...fins,
    ],
    want: [{ request: "GET /é", headers: ["A: é", "B: é"] }],
  },
  {
    name: "RFC 9110 15.5.9 a response before any request opens an exchange without method",
    steps: [down("HTTP/1.1 408 Too late\r\nContent-Length: 0\r\n\r\n"), end("down"), end("up")],
    want: [{ request: " ", heads: ["408"], gaps: ["up ? at 0"], ends: ["up capture-ended", "down complete"] }],
    codes: ["http1.response-without-request"],
  },
  {
    name: "an early response while the request goes on",
    steps: [
      up("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab"),
      down("HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n"),
      up("cd"),
      ...fins,
    ],
    want: [{ up: "abcd", heads: ["413"], ends: ["down complete", "up complete"] }],
  },
  {
    name: "an unfinished stream at the end of the capture gives what it has",
    steps: [up(get), down(`${chunked}5\r\nhel`), end("up", "capture-ended"), end("down", "capture-ended")],
    want: [{ down: "hel", ends: ["up complete", "down capture-ended"] }],
  },
  {
    name: "the client closes inside a response: the close names it",
    steps: [up(get), down(`${chunked}5\r\nhello\r\n`), end("up"), end("down", "reset", "server")],
    want: [{ down: "hello", ends: ["up complete", "down reset by client"] }],
  },
  {
    name: "the server closes inside a response",
    steps: [up(get), down(`${chunked}5\r\nhello\r\n`), end("down"), end("up")],
    want: [{ down: "hello", ends: ["up complete", "down reset by server"] }],
  },
  {
    name: "a reset inside a request",
    steps: [
      up("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"),
      end("up", "reset", "client"),
      end("down", "reset", "client"),
    ],
    want: [{ up: "ab", ends: ["up reset by client", "down reset by client"] }],
  },
];

describe("HTTP/1 messages", () => {
  test.each(sound.map((row) => [row.name, row] as const))("%s", (_name, { steps, want, codes = [] }) => {
    const { views, codes: got } = play(steps);
    expect(views.slice(0, want.length)).toMatchObject(want);
    expect(got).toEqual(codes);
  });

  test.each(sound.map((row) => [row.name, row] as const))("every cut: %s", (_name, { steps }) => {
    const whole = play(steps);
    for (const cut of everyCut(steps)) {
      const { views, codes } = play(cut.steps);
      expect({ at: cut.name, views: uncut(views), codes }).toEqual({
        at: cut.name,
        views: uncut(whole.views),
        codes: whole.codes,
      });
    }
    expect(uncut(play(byteByByte(steps)).views)).toEqual(uncut(whole.views));
  });

  test("times and packets: opened at the head's first byte, marked with all of its packets", () => {
    const { views, events } = play([
      up("GET /a HT"),
      up("TP/1.1\r\nHost: h\r\n"),
      up("\r\n"),
      down("HTTP/1.1 200 OK\r\n"),
      down("\r\nbody"),
      ...fins,
    ]);
    expect(views[0]).toMatchObject({ opened: 0, packets: [0, 2] });
    const head = events.find((event) => event.kind === "head");
    expect(head).toMatchObject({ mark: { first: 3, last: 4 } });
    expect(events.find((event) => event.kind === "bytes")).toMatchObject({
      mark: { first: 4, last: 4 },
      contentDecoded: false,
    });
  });

  test("body bytes are views of the packet that carried them", () => {
    const packet = down(ok);
    const { events } = play([up(get), packet, ...fins]);
    const body = events.find((event) => event.kind === "bytes");
    expect(body?.kind === "bytes" && "bytes" in packet && body.bytes.buffer === packet.bytes.buffer).toBe(true);
  });
});

describe("HTTP/1 pairing", () => {
  test("a response read before its request waits for it", () => {
    const { views, codes } = play([down(ok), up(get), ...fins]);
    expect(views).toMatchObject([{ request: "GET /a", down: "ok", ends: done }]);
    expect(codes).toEqual([]);
  });

  test("a capture that starts between request and response", () => {
    const { views, codes } = play([down(ok), up(post), down(ok), ...fins], { rolesBy: "port" });
    expect(views).toMatchObject([
      { request: "POST /p", down: "ok" },
      { request: " ", down: "ok" },
    ]);
    expect(codes).toEqual(["http1.response-without-request"]);
  });

  test("a capture that starts inside a response", () => {
    const { views, codes } = play([down("ore text\r\n0\r\n\r\n"), up(get), down(ok), ...fins], { rolesBy: "port" });
    expect(views).toMatchObject([{ request: "GET /a", down: "ok" }]);
    expect(codes).toEqual(["http1.skipped"]);
  });

  test("responses only", () => {
    const { views, codes } = play([down(ok), down(ok.replace("ok", "no")), end("down"), end("up")]);
    expect(views).toMatchObject([
      { request: " ", down: "ok" },
      { request: " ", down: "no" },
    ]);
    expect(codes).toEqual(["http1.response-without-request", "http1.response-without-request"]);
  });

  test("so many response bytes that no request is waited for", () => {
    const body = "x".repeat(5000);
    const { views } = run(make, [down(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${body}`), down(ok)], {
      limits: { headBytes: 4096 },
    });
    expect(views).toMatchObject([
      { request: " ", down: body },
      { request: " ", down: "ok" },
    ]);
  });

  test("requests only, and no more of them open than can be answered", () => {
    const { views, codes } = play([...Array.from({ length: 1030 }, () => up(get)), ...fins]);
    expect(views).toHaveLength(1030);
    expect(views[0]).toMatchObject({ ends: ["up complete", "down capture-ended"] });
    expect(views[1029]).toMatchObject({ ends: ["up complete", "down reset by client"] });
    expect(codes.filter((code) => code === "http.response-lost")).toHaveLength(6);
  });

  test("a request lost in a gap: its response is nobody's, the next pair fits again", () => {
    const { views, codes } = play([
      up(get),
      down(ok),
      gap("up", 30),
      down(ok.replace("ok", "B!")),
      up(post),
      down(ok),
      ...fins,
    ]);
    expect(views.map(({ request, down: text }) => [request, text])).toEqual([
      ["GET /a", "ok"],
      ["POST /p", "ok"],
      [" ", "B!"],
    ]);
    expect(codes).toEqual(["http1.response-without-request"]);
  });

  test("a response lost in a gap: the next one answers the request sent last", () => {
    const { views, codes } = play([up(get), gap("down", 40), up(post), down(ok), ...fins]);
    expect(views).toMatchObject([
      { request: "GET /a", heads: [], gaps: ["down ? at 0"], ends: ["up complete", "down capture-ended"] },
      { request: "POST /p", heads: ["200"], down: "ok" },
    ]);
    expect(codes).toEqual(["http.response-lost"]);
  });

  test("after a gap in a pipelined answer the next request is the next one", () => {
    const more = `${chunked}5\r\nhello\r\n`;
    const { views } = play([up(get + get + post), down(ok), down(more), gap("down"), down(ok), ...fins]);
    expect(views).toMatchObject([
      { down: "ok" },
      { down: "hello", gaps: ["down ? at 5"] },
      { request: "POST /p", down: "ok" },
    ]);
  });
});

describe("HTTP/1 gaps", () => {
  test("inside a body of known length the body goes on", () => {
    const { views, codes } = play([
      up(get),
      down("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"),
      gap("down", 4),
      down("ghij"),
      up(get),
      down(ok),
      ...fins,
    ]);
    expect(views).toMatchObject([{ down: "abghij", gaps: ["down 4 at 2"], ends: done }, { down: "ok" }]);
    expect(codes).toEqual([]);
  });

  test("up to the very end of a body", () => {
    const { views } = play([
      up(get),
      down("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"),
      gap("down", 8),
      up(get),
      down(ok),
      ...fins,
    ]);
    expect(views).toMatchObject([{ down: "ab", gaps: ["down 8 at 2"], ends: done }, { down: "ok" }]);
  });

  test("over the end of a body: the next head is found", () => {
    const { views } = play([
      up(get),
      down("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"),
      gap("down", 30),
      down("rest\r\n"),
      up(post),
      down(ok),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { down: "ab", gaps: ["down 8 at 2"], ends: done },
      { request: "POST /p", down: "ok" },
    ]);
  });

  test("in a chunk", () => {
    const { views, codes } = play([
      up(get),
      down(`${chunked}a\r\nab`),
      gap("down", 4),
      down("ghij\r\n0\r\n\r\n"),
      ...fins,
    ]);
    expect(views).toMatchObject([{ down: "abghij", gaps: ["down 4 at 2"], ends: done }]);
    expect(codes).toEqual([]);
  });

  test.each([0, 1, 2, 3, 4])("over the end of a chunk by %i bytes of CRLF and size line", (over) => {
    const rest = "\r\n3\r\nxyz\r\n0\r\n\r\n";
    const { views } = play([
      up(get),
      down(`${chunked}5\r\nab`),
      gap("down", 3 + over),
      down(rest.slice(over)),
      ...fins,
    ]);
    const exact = over < 3; // with 3 the size line itself is gone
    expect(views[0]).toMatchObject({
      down: exact ? "abxyz" : "ab",
      gaps: [exact ? "down 3 at 2" : "down ? at 2"],
    });
  });

  test("over chunk borders: the body goes on at the next chunk that a segment begins with", () => {
    const { views, codes } = play([
      up(get),
      down(`${chunked}5\r\nhello\r\n`),
      gap("down", 20),
      down("3\r\nxyz\r\n"),
      down("0\r\n\r\n"),
      ...fins,
    ]);
    expect(views).toMatchObject([{ down: "helloxyz", gaps: ["down ? at 5"], ends: done }]);
    expect(codes).toEqual([]);
  });

  test("over chunk borders: a chunk behind the end of another one", () => {
    const { views, codes } = play([
      up(get),
      down(`${chunked}5\r\nhello\r\n`),
      gap("down", 20),
      down("tail of chunk\r\n3\r\nxyz\r\n0\r\n\r\n"),
      ...fins,
    ]);
    expect(views).toMatchObject([{ down: "helloxyz", gaps: ["down ? at 5"], ends: done }]);
    expect(codes).toEqual(["http1.skipped"]);
  });

  test("a chunk of the next answer is not taken for one of this", () => {
    const steps = [
      up(get),
      down(`${chunked}5\r\nhello\r\n`),
      gap("down", 200),
      up(post),
      down("3\r\nxyz\r\n0\r\n\r\n"),
      up(get),
      down(ok),
      ...fins,
    ];
    const { views } = play(steps);
    expect(views.map(({ down: text }) => text)).toEqual(["hello", "", "ok"]);
  });

  test("in a body until the close", () => {
    const { views } = play([
      up(get),
      down("HTTP/1.1 200 OK\r\n\r\nab"),
      gap("down"),
      down("yz"),
      end("down"),
      end("up"),
    ]);
    expect(views).toMatchObject([
      { down: "abyz", gaps: ["down ? at 2"], ends: ["up complete", "down complete by server"] },
    ]);
  });

  test("in a request head: the whole lines before it count", () => {
    const { views, codes } = play([
      up("POST /p HTTP/1.1\r\nHost: h\r\nX-Cut: "),
      gap("up", 50),
      up("tail\r\n\r\nbody"),
      down(ok),
      up(get),
      down(ok),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { request: "POST /p", headers: ["Host: h"], gaps: ["up ? at 0"], heads: ["200"] },
      { request: "GET /a", down: "ok" },
    ]);
    expect(codes).toEqual(["http1.head-cut", "http1.skipped"]);
  });

  test("in a response head", () => {
    const { views, codes } = play([
      up(get),
      down("HTTP/1.1 200 OK\r\nContent-"),
      gap("down", 500),
      down("more"),
      up(post),
      down(ok),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { heads: ["200"], gaps: ["down ? at 0"] },
      { request: "POST /p", heads: ["200"], down: "ok" },
    ]);
    expect(codes).toEqual(["http1.head-cut", "http1.skipped"]);
  });

  test("in a start line", () => {
    const { views, codes } = play([up("GET /lo"), gap("up", 10), up("ng HTTP/1.1\r\n\r\n"), down(ok), ...fins]);
    expect(views).toMatchObject([{ request: " ", down: "ok" }]);
    expect(codes).toEqual(["http1.head-cut", "http1.skipped", "http1.response-without-request"]);
  });

  test("the capture ends inside a head", () => {
    const { views, codes } = play([
      up("GET /a HTTP/1.1\r\nHo"),
      end("up", "capture-ended"),
      end("down", "capture-ended"),
    ]);
    expect(views).toMatchObject([{ request: "GET /a", headers: [], ends: ["up capture-ended", "down capture-ended"] }]);
    expect(codes).toEqual(["http1.head-cut"]);
  });

  test("a bad chunk ends the body, and the next head is found", () => {
    const { views, codes } = play([up(get), down(`${chunked}5\r\nhelloXX`), up(post), down(ok), ...fins]);
    expect(views).toMatchObject([
      { down: "hello", gaps: ["down ? at 5"], ends: ["up complete", "down capture-ended"] },
      { down: "ok" },
    ]);
    expect(codes).toEqual(["http1.bad-chunk", "http1.skipped"]);
  });

  test("resynchronised on a start line cut in two", () => {
    const steps = [up(get), down("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"), gap("down", 30), up(post)];
    const { views } = play([...steps, down(`junk\r\n${ok.slice(0, 12)}`), down(ok.slice(12)), ...fins]);
    expect(views).toMatchObject([{ down: "ab" }, { request: "POST /p", down: "ok" }]);
  });

  test("a head over the limit makes its direction opaque, the other one goes on", () => {
    const long = `GET /a HTTP/1.1\r\nX: ${"y".repeat(2000)}\r\n\r\n`;
    const { views, codes } = play([up(long), up(get), down(ok), down(ok), ...fins], { limits: { headBytes: 1000 } });
    expect(views).toMatchObject([
      { request: "GET /a", gaps: ["up ? at 0"], down: "ok" },
      { request: " ", down: "ok" },
    ]);
    expect(codes).toEqual(["http1.head-too-long", "http1.response-without-request"]);
  });

  test("bytes that are not HTTP/1 are counted, not read", () => {
    const { views, codes } = play([up(new Uint8Array(3000).fill(7)), down(new Uint8Array(100).fill(9)), ...fins]);
    expect(views).toEqual([]);
    expect(codes).toEqual(["http1.skipped", "http1.skipped"]);
  });
});
