/** The head of a report: inputs, times, what was recognised. */
import { isKnown, isoTime, millisBetween } from "../core/time.js";
import type { Analysis, InputInfo } from "../model/report.js";
import { wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { byteCount, duration, many } from "./numbers.js";
import type { View } from "./report.js";
import { isRelative } from "./times.js";

const formatNames = {
  har: "HAR",
  pcap: "pcap",
  pcapng: "pcapng",
  raw: "raw stream",
  jsonl: "JSON-lines log",
  keylog: "TLS key log",
  unreadable: "could not be read",
} as const;

export function* headerLines(analysis: Analysis, view: View): Generator<string> {
  for (const input of analysis.inputs) {
    const path = terminal(input.path);
    const [first, ...rest] = wrap(`${path}${inputFacts(input, view)}`, view.width - 2);
    yield first!.startsWith(path) ? view.paint.strong(path) + first!.slice(path.length) : first!;
    for (const line of rest) yield `  ${line}`;
  }
  for (const { message } of analysis.unreadable) {
    for (const line of wrap(terminal(view.redactor.scrub(message)), view.width - 2)) yield `  ${view.paint.bad(line)}`;
  }
  yield* wrap(captureFacts(analysis), view.width);
  yield* wrap(terminal(talkFacts(analysis)), view.width);
}

function inputFacts(input: InputInfo, view: View): string {
  const producer = input.producer === null ? "" : ` by ${terminal(view.redactor.scrub(input.producer))}`;
  const size = input.bytes > 0 ? `, ${byteCount(input.bytes)}` : "";
  return `  ${formatNames[input.format]}${producer}${size}`;
}

export function captureFacts(analysis: Analysis): string {
  const { start, end, packets, flows, exchanges, messages } = analysis.capture;
  const parts: string[] = [];
  if (isRelative(start)) parts.push("times count from the start of the log");
  else if (isKnown(start)) parts.push(isoTime(start.earliest));
  if (isKnown(start) && isKnown(end)) parts.push(`lasts ${duration(millisBetween(start.earliest, end.latest))}`);
  if (packets > 0) parts.push(many(packets, "packet"));
  if (flows > 0) parts.push(many(flows, "connection"));
  parts.push(many(exchanges, "exchange"), many(messages, "message"));
  return parts.join(" · ");
}

/** "cursor: 1 conversation, 3 turns"; what else the capture holds where there is none. */
export function talkFacts(analysis: Analysis): string {
  const parts: string[] = [];
  const counts = analysis.claimed;
  for (const name of new Set([...analysis.results.map((result) => result.dialect), ...counts.keys()])) {
    if (name === null) continue;
    const conversations = analysis.conversations.filter((row) => row.dialect === name).length;
    const turns = analysis.turns.filter((turn) => turn.dialect === name).length;
    const mine = counts.get(name) ?? 0;
    if (turns + conversations > 0)
      parts.push(`${name}: ${many(conversations, "conversation")}, ${many(turns, "turn")}`);
    else if (mine > 0) parts.push(`${name}: ${many(mine, "exchange")}, no turn`);
  }
  const others = counts.get(null) ?? 0;
  if (parts.length === 0) return `no agent traffic recognised${others > 0 ? `: ${otherFacts(analysis)}` : ""}`;
  if (others > 0) parts.push(`${many(others, "other exchange")}`);
  return parts.join(" · ");
}

function otherFacts(analysis: Analysis): string {
  const counts = new Map<string, number>();
  for (const row of analysis.eachExchange()) {
    const looks = row.looks ?? "plain HTTP";
    counts.set(looks, (counts.get(looks) ?? 0) + 1);
  }
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([looks, n]) => `${n} × ${looks}`);
  return `${parts.join(", ")} (cursor-wire flows lists them)`;
}
