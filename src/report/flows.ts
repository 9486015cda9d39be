/** `flows`: the transport view. Every flow, what each direction carried and lost, why it stayed closed, its exchanges. */
import type { Printable } from "../core/printable.js";
import { isKnown, isoTime, millisBetween } from "../core/time.js";
import type { DirectionSummary, FlowSummary } from "../model/exchange.js";
import type { Analysis, ExchangeRow } from "../model/report.js";
import { clip, clipMiddle, padEnd, padStart, wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { headerLines } from "./header.js";
import { diagnosticJson, document, isoOrNull, jsonContext, lazily } from "./json.js";
import { lackLines } from "./lacks.js";
import { byteCount, count, duration, many } from "./numbers.js";
import type { Report, View } from "./report.js";
import { urlText } from "./url.js";

export const flowsSchema = "cursor-wire/flows@1";

/** Exchanges of one flow shown in the text before the rest is counted. */
const exchangesShown = 40;
const flowsShown = 200;

export const flowsJson: Report = {
  name: "json",
  help: flowsSchema,
  *render(analysis, view) {
    const byFlow = exchangesByFlow(analysis);
    yield* document(
      [
        ["schema", flowsSchema],
        ["flows", lazily(analysis.flows, (flow) => flowJson(flow, byFlow.get(flow.flow.id) ?? [], view))],
        ["diagnostics", lazily(analysis.diagnostics, diagnosticJson)],
      ],
      jsonContext(analysis, view),
    );
  },
};

export const flowsText: Report = {
  name: "text",
  help: "one block per flow",
  *render(analysis, view) {
    for (const line of lines(analysis, view)) yield `${line}\n`;
  },
};

export const flowReports = [flowsText, flowsJson] as const satisfies readonly Report[];

function exchangesByFlow(analysis: Analysis): ReadonlyMap<number, readonly ExchangeRow[]> {
  const groups = new Map<number, ExchangeRow[]>();
  for (const row of analysis.eachExchange()) {
    const group = groups.get(row.flow);
    if (group === undefined) groups.set(row.flow, [row]);
    else group.push(row);
  }
  return groups;
}

function flowJson(summary: FlowSummary, exchanges: readonly ExchangeRow[], view: View): Printable {
  const { flow, tls } = summary;
  return {
    n: flow.id,
    client: flow.client,
    server: flow.server,
    rolesBy: flow.rolesBy,
    start: isoOrNull(summary.start),
    end: isKnown(summary.end) ? isoTime(summary.end.latest) : null,
    packets: summary.packets,
    up: directionJson(summary.up),
    down: directionJson(summary.down),
    tls: tls === null ? null : { ...tls },
    protocol: summary.protocol,
    exchanges: exchanges.map((row) => exchangeJson(row, view)),
  };
}

function directionJson(side: DirectionSummary): Printable {
  return { bytes: side.bytes, sha256: side.sha256, gaps: side.gaps.map((gap) => ({ ...gap })) };
}

function exchangeJson(row: ExchangeRow, view: View): Printable {
  return {
    n: row.id,
    method: row.request?.method ?? null,
    authority: row.request?.authority ?? null,
    path: row.request === null ? null : urlText(row.request.path, view.redactor),
    status: row.status,
    dialect: row.dialect,
    looks: row.looks,
    up: { ...row.up },
    down: { ...row.down },
    messages: row.messages,
    end: row.end,
    place: row.place,
  };
}

function* lines(analysis: Analysis, view: View): Generator<string> {
  yield* headerLines(analysis, view);
  yield "";
  const byFlow = exchangesByFlow(analysis);
  const shown = view.all ? analysis.flows : analysis.flows.slice(0, flowsShown);
  for (const flow of shown) yield* flowLines(flow, byFlow.get(flow.flow.id) ?? [], view);
  if (shown.length < analysis.flows.length)
    yield `… ${many(analysis.flows.length - shown.length, "more flow")} (--all shows them)\n`;
  yield* lackLines(analysis, view);
}

function* flowLines(summary: FlowSummary, exchanges: readonly ExchangeRow[], view: View): Generator<string> {
  const { flow } = summary;
  const ends = [flow.client, flow.server].map((end) => (end === "" ? "?" : terminal(view.redactor.scrub(end))));
  const names = flow.client === "" && flow.server === "" ? "one file, connections unknown" : ends.join(" → ");
  const took =
    isKnown(summary.start) && isKnown(summary.end)
      ? ` · ${duration(millisBetween(summary.start.earliest, summary.end.latest))}`
      : "";
  const packets = summary.packets > 0 ? ` · ${many(summary.packets, "packet")}` : "";
  const title = `flow ${flow.id}  ${names}`;
  const how = `${summary.protocol}, roles by ${flow.rolesBy}${packets}${took}`;
  if (title.length + 2 + how.length <= view.width) yield `${view.paint.strong(title)}  ${how}`;
  else {
    yield view.paint.strong(clipMiddle(title, view.width));
    for (const line of wrap(how, view.width - 2)) yield `  ${line}`;
  }
  const up = `${view.paint.up("↑")} ${byteCount(summary.up.bytes)}${gapText(summary.up)}`;
  const down = `${view.paint.down("↓")} ${byteCount(summary.down.bytes)}${gapText(summary.down)}`;
  if (summary.up.gaps.length === 0 || summary.down.gaps.length === 0) yield `  ${up}   ${down}`;
  else yield* [`  ${up}`, `  ${down}`];
  for (const line of tlsLines(summary, view)) yield `  ${line}`;
  const shown = view.all ? exchanges : exchanges.slice(0, exchangesShown);
  const ended = shown.some((row) => row.end !== "complete");
  for (const row of shown) yield exchangeLine(row, ended, view);
  if (shown.length < exchanges.length)
    yield `  … ${many(exchanges.length - shown.length, "more exchange")} (--all shows them)`;
  yield "";
}

function gapText(side: DirectionSummary): string {
  if (side.gaps.length === 0) return "";
  const missing = side.gaps.reduce((sum, gap) => sum + gap.length, 0);
  return ` (${many(side.gaps.length, "gap")}, ${byteCount(missing)} missing)`;
}

function tlsLines(summary: FlowSummary, view: View): string[] {
  const { tls } = summary;
  if (tls === null) return [];
  const parts = [
    `TLS${tls.version === null ? "" : ` ${tls.version}`}`,
    tls.cipher ?? "",
    tls.sni === null ? "" : `server name ${tls.sni}`,
    tls.alpn === null ? "" : `ALPN ${tls.alpn}`,
    tls.decrypted ? "decrypted" : "stayed closed",
    tls.why ?? "",
  ];
  const text = terminal(view.redactor.scrub(parts.filter((part) => part !== "").join(" · ")));
  const lines = wrap(text, view.width - 4);
  return tls.decrypted ? lines : lines.map(view.paint.warn);
}

function exchangeLine(row: ExchangeRow, ended: boolean, view: View): string {
  const status = row.status === null ? "---" : String(row.status);
  const what = row.dialect ?? row.looks ?? "";
  const lead = `  ${padStart(String(row.id), 5)}  ${padStart(status, 3)}  ${padEnd(clip(what, 13), 13)}  `;
  const wide = view.width >= 100;
  const messages = wide && row.messages > 0 ? `${count(row.messages)} msg` : "";
  const sizes = `  ↑ ${padStart(count(row.up.bytes), 9)}  ↓ ${padStart(count(row.down.bytes), 10)}${wide ? `  ${padStart(messages, 9)}` : ""}`;
  const end = row.end === "complete" ? "" : row.end === "reset" ? "  reset" : "  cut off";
  const { request } = row;
  const name =
    request === null ? row.kind : `${request.method} ${request.authority}${urlText(request.path, view.redactor)}`;
  const room = Math.max(8, view.width - lead.length - sizes.length - (ended ? 9 : 0));
  const shown = padEnd(clipMiddle(terminal(view.redactor.scrub(name)), room), room);
  const painted = row.status !== null && row.status >= 400 ? view.paint.warn(lead) : lead;
  return `${painted}${shown}${sizes}${end}`.trimEnd();
}
