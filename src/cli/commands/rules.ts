/** `check --list-rules` and `check --explain RULE`: the catalogue teaches the protocol. */
import { matchingRules } from "../../check/levels.js";
import type { Rule } from "../../model/check.js";
import { clip, padEnd, wrap } from "../../report/columns.js";
import { many } from "../../report/numbers.js";
import { type Call, exitCodes } from "../call.js";
import { openOutput } from "../output.js";
import { redactorOf, viewOf } from "../view.js";

export function listRules(call: Call, rules: readonly Rule[]): number {
  return print(call, listLines(rules, call));
}

export function explainRule(call: Call, rules: readonly Rule[], id: string): number {
  const found = new Set(matchingRules(id, rules));
  return print(
    call,
    rules.filter((rule) => found.has(rule.id)).flatMap((rule) => explanation(rule, call)),
  );
}

function print(call: Call, lines: readonly string[]): number {
  const output = openOutput(call.io, call.options.output, redactorOf(call), []);
  const json = call.options.format === "json";
  output.write(json ? lines.join("\n") : `${lines.join("\n")}\n`);
  output.close();
  return exitCodes.ok;
}

function listLines(rules: readonly Rule[], call: Call): string[] {
  if (call.options.format === "json") return [`${JSON.stringify({ schema: "cursor-wire/rules@1", rules }, null, 2)}\n`];
  const { width, paint } = viewOf(call, redactorOf(call));
  const idWidth = Math.max(...rules.map((rule) => rule.id.length));
  const lines: string[] = [];
  let family = "";
  for (const rule of rules) {
    const head = `${rule.id.split("/")[0]} · ${rule.family}`;
    if (head !== family) {
      if (family !== "") lines.push("");
      lines.push(paint.strong(head));
      family = head;
    }
    const level = rule.class === "check" ? rule.severity : rule.class;
    const lead = `  ${padEnd(rule.id, idWidth)}  ${padEnd(level, 10)}  `;
    lines.push(call.options.all ? lead + rule.statement : lead + clip(rule.statement, width - lead.length));
  }
  lines.push("", `${many(rules.length, "rule")}; cursor-wire check --explain ID tells what one means`);
  return lines;
}

function explanation(rule: Rule, call: Call): string[] {
  const { width, paint } = viewOf(call, redactorOf(call));
  const rows: readonly (readonly [string, string])[] = [
    ["why", rule.why],
    ["needs", rule.needs],
    ["good", rule.good],
    ["bad", rule.bad],
    ["do", rule.remedy ?? ""],
    ["implies", rule.implies.join(", ")],
    ["source", rule.source],
  ];
  const kind = rule.class === "check" ? rule.severity : `${rule.class}, ${rule.severity}`;
  const lines = [`${paint.strong(rule.id)}  ${kind} · ${rule.family}`, ...wrap(rule.statement, width)];
  for (const [name, text] of rows) {
    if (text === "") continue;
    for (const [i, line] of wrap(text, width - 10).entries())
      lines.push(`${i === 0 ? paint.dim(padEnd(name, 9)) : " ".repeat(9)} ${line}`);
  }
  return [...lines, ""];
}
