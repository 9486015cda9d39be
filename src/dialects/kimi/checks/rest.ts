/** K-REST: the envelope of every answer under /api/. */
import { isUlid } from "../json.js";
import type { RestCall } from "../model.js";
import { queryOf, routeOf } from "../routes.js";
import { errorCodes } from "../tables/error-codes.js";
import { type Examination, type Fault, family } from "./rule.js";

const rule = family("REST", "2, 8");

/** 40902, 40903, 40909 and 40911 carry data although they are no success; 40909 is one. kimi.md 2.1. */
const codesWithData = new Set([40902, 40903, 40909, 40911]);
const statusCodes: readonly (readonly [status: number, code: number])[] = [
  [401, 40101],
  [403, 40301],
  [429, 42901],
];

function fault(call: RestCall, number: number, statement: string): Fault {
  return {
    statement: [`${call.method} ${call.path.split("?")[0]}: ${statement}`],
    places: [call.answerPlace ?? call.place],
    subject: `${call.method} ${number}`,
    damaged: call.damaged,
  };
}

function eachAnswer(examination: Examination, each: (call: RestCall, number: number) => void): void {
  examination.scope.state.rest.forEach((call, number) => {
    if (call.bodySeen && !call.damaged && call.responseBytes > 0) each(call, number);
  });
}

function eachEnvelope(examination: Examination, each: (call: RestCall, number: number) => void): void {
  eachAnswer(examination, (call, number) => {
    if (call.isEnvelope) each(call, number);
  });
}

function pageOf(call: RestCall) {
  const query = queryOf(call.path);
  const route = routeOf(call.method, call.path.split("?")[0]!);
  const size = query.get("page_size");
  return {
    isCursorRoute: route !== undefined && /\bbefore_id\b/.test(route.query),
    both: query.has("before_id") && query.has("after_id"),
    size: size === undefined ? null : Number(size),
  };
}

const answers = "a JSON answer under /api/";

export const restRules = [
  rule(
    {
      id: "K-REST-01",
      severity: "error",
      statement:
        "JSON under /api is an envelope (code, msg, data, request_id), except an unknown route's 404 and the listed raw bodies.",
      why: "Every client unwraps the envelope first.",
      needs: answers,
      sure: "held 134 (1 exception)",
      good: '{"code":0,"msg":"success","data":…,"request_id":"01…"}',
      bad: '{"items":[]}',
      remedy: "wrap the answer",
    },
    (examination) =>
      eachAnswer(examination, (call, number) => {
        if (!/json/.test(call.contentType)) return;
        const raw = routeOf(call.method, call.path.split("?")[0]!)?.body ?? "envelope";
        if (raw !== "envelope" && !call.isEnvelope && /raw|binary|export/.test(raw)) return;
        const unknown = call.status === 404 && call.unknownRoute;
        examination.examine(call.isEnvelope || unknown, () =>
          fault(
            call,
            number,
            call.isJson ? "the answer is JSON but no envelope" : "the answer is declared JSON but does not parse",
          ),
        );
      }),
  ),
  rule(
    {
      id: "K-REST-02",
      severity: "error",
      statement: 'code is 0 exactly when msg is "success".',
      why: "Clients test one of the two.",
      needs: "an envelope",
      sure: "held 134",
      good: 'code 0, msg "success"',
      bad: 'code 0, msg "ok"',
      remedy: null,
    },
    (examination) =>
      eachEnvelope(examination, (call, number) => {
        examination.examine((call.code === 0) === (call.msg === "success"), () =>
          fault(call, number, `code ${call.code} with msg "${call.msg}"`),
        );
      }),
  ),
  rule(
    {
      id: "K-REST-03",
      severity: "warning",
      statement: "code 0 comes with an HTTP status of 2xx.",
      why: "Proxies and retries look at the status.",
      needs: "an envelope with code 0",
      sure: "held 134",
      good: "200 and code 0",
      bad: "500 and code 0",
      remedy: null,
    },
    (examination) =>
      eachEnvelope(examination, (call, number) => {
        if (call.code !== 0 || call.status === 0) return;
        examination.examine(call.status >= 200 && call.status < 300, () =>
          fault(call, number, `code 0 with HTTP status ${call.status}`),
        );
      }),
  ),
  rule(
    {
      id: "K-REST-04",
      severity: "warning",
      statement: "Another code than 0 has data null, except 40902, 40903, 40909 and 40911.",
      why: "Data beside an error is read by nobody.",
      needs: "an envelope with another code than 0",
      sure: "held 131, and 3 listed",
      good: "code 40401, data null",
      bad: 'code 40401, data {"id": 1}',
      remedy: null,
    },
    (examination) =>
      eachEnvelope(examination, (call, number) => {
        if (call.code === 0 || call.code === null || codesWithData.has(call.code)) return;
        examination.examine(call.dataIsNull, () => fault(call, number, `code ${call.code} carries data`));
      }),
  ),
  rule(
    {
      id: "K-REST-05",
      class: "permission",
      severity: "info",
      statement: "code 0 with data null is legal.",
      why: "Some operations have nothing to say.",
      needs: "an envelope with code 0 and data null",
      sure: "seen",
      good: "gui/store/setItem: code 0, data null",
      bad: "nothing: it is legal",
      remedy: null,
    },
    (examination) =>
      eachEnvelope(examination, (call) => {
        if (call.code === 0 && call.dataIsNull) examination.checked++;
      }),
  ),
  rule(
    {
      id: "K-REST-06",
      severity: "error",
      statement: "request_id is a ULID; it equals X-Request-Id where that was a valid ULID, and is unique otherwise.",
      why: "It is the only handle on a server log line.",
      needs: "an envelope",
      sure: "held 134 and 3",
      good: "X-Request-Id 01J…, request_id the same",
      bad: 'request_id "42"',
      remedy: null,
    },
    (examination) => {
      const seen = new Set<string>();
      eachEnvelope(examination, (call, number) => {
        const id = call.requestId ?? "";
        const sent = call.sentRequestId !== null && isUlid(call.sentRequestId) ? call.sentRequestId : null;
        const unique = sent !== null || !seen.has(id);
        seen.add(id);
        const echoed = sent === null || sent === id;
        const what = !isUlid(id)
          ? "request_id is no ULID"
          : echoed
            ? "request_id was used before"
            : "request_id is not the X-Request-Id sent";
        examination.examine(isUlid(id) && echoed && unique, () => fault(call, number, what));
      });
    },
  ),
  rule(
    {
      id: "K-REST-07",
      severity: "warning",
      statement:
        "The code is in the table or is a 7xxxx or 8xxxx pass-through, and fits its HTTP status (401 and 40101, 403 and 40301, 429 and 42901).",
      why: "An unknown code has no text for the user.",
      needs: "an envelope",
      sure: "held",
      good: "401 and code 40101",
      bad: "200 and code 99999",
      remedy: "a newer server may know more codes: see kimi.unknown-code among the diagnostics",
    },
    (examination) =>
      eachEnvelope(examination, (call, number) => {
        const code = call.code ?? 0;
        const known = (errorCodes.has(code) && code !== 1) || (code >= 70_000 && code < 90_000);
        const fits = statusCodes.every(([status, expected]) => (call.status === status) === (code === expected));
        examination.examine(known && fits, () =>
          fault(call, number, known ? `code ${code} with HTTP status ${call.status}` : `code ${code} is in no table`),
        );
      }),
  ),
  rule(
    {
      id: "K-REST-08",
      severity: "error",
      statement: "before_id together with after_id, or a page_size outside 1..100 on a cursor route, answers 40001.",
      why: "A page the client did not mean to ask for looks like the end of the list.",
      needs: "such a request",
      sure: "held 4",
      good: "page_size=0: code 40001",
      bad: "page_size=500: code 0",
      remedy: null,
    },
    (examination) =>
      eachEnvelope(examination, (call, number) => {
        const page = pageOf(call);
        const wrongSize = page.size !== null && !(Number.isInteger(page.size) && page.size >= 1 && page.size <= 100);
        if (!page.isCursorRoute || !(page.both || wrongSize) || call.code === 40101) return;
        examination.examine(call.code === 40001, () =>
          fault(
            call,
            number,
            `${page.both ? "before_id with after_id" : `page_size ${page.size}`} answered with code ${call.code}`,
          ),
        );
      }),
  ),
  rule(
    {
      id: "K-REST-09",
      severity: "warning",
      statement: "A page has at most page_size items, and has_more is a boolean on cursor routes.",
      why: "A client that pages by has_more stops too early or never.",
      needs: "a page of a cursor route",
      sure: "held 5",
      good: "page_size=2: 2 items, has_more true",
      bad: "page_size=2: 3 items",
      remedy: null,
    },
    (examination) =>
      eachEnvelope(examination, (call, number) => {
        const page = pageOf(call);
        if (!page.isCursorRoute || call.code !== 0 || call.items === null) return;
        const items = call.items;
        const fits = page.size === null || items <= page.size;
        examination.examine(fits && call.hasMore === "boolean", () =>
          fault(call, number, fits ? "has_more is no boolean" : `${items} items for page_size ${page.size}`),
        );
      }),
  ),
];
