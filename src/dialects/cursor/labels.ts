/** What a tool call or a local execution does, in a few words: "$ npm test", "read src/a.ts". */
import { privately, type Words } from "../../core/printable.js";
import type { ProtoMessage, Schemas } from "../../model/schema.js";
import { deep, flag, int, listOf, sub, text } from "./fields.js";
import { count, shortened, size, took } from "./format.js";

type Label = (args: ProtoMessage) => Words;

const content = (value: string): Words => (value === "" ? [] : [privately(shortened(value))]);
const verb =
  (word: string, ...fields: string[]): Label =>
  (args) => {
    const value = fields.map((field) => text(args, field)).find((found) => found !== "") ?? "";
    return value === "" ? [word] : [`${word} `, ...content(value)];
  };

const shell: Label = (args) => ["$ ", ...content(text(args, "command"))];
const grep: Label = (args) => ["grep ", ...content(text(args, "pattern")), ...where(args)];
const mcp: Label = (args) => [
  "mcp ",
  ...content(
    [text(args, "provider_identifier"), text(args, "tool_name") || text(args, "name")].filter(Boolean).join("/"),
  ),
];
const task: Label = (args) => ["task ", ...content(text(args, "description") || text(args, "prompt"))];
const read: Label = verb("read", "path");
const write: Label = (args) => [
  "write ",
  ...content(text(args, "path")),
  ` (${count(text(args, "file_text").length)} chars)`,
];

function where(args: ProtoMessage): Words {
  const place = text(args, "path") || text(args, "glob");
  return place === "" ? [] : [" in ", ...content(place)];
}

/** By branch name of ToolCall, ExecServerMessage and InteractionQuery. */
const labels: Readonly<Record<string, Label>> = {
  shell_tool_call: shell,
  shell_args: shell,
  shell_stream_args: shell,
  mini_swe_agent_bash_args: shell,
  read_tool_call: read,
  read_args: read,
  redacted_read_args: read,
  write_args: write,
  edit_tool_call: verb("edit", "path"),
  delete_tool_call: verb("delete", "path"),
  delete_args: verb("delete", "path"),
  ls_tool_call: verb("ls", "path"),
  ls_args: verb("ls", "path"),
  grep_tool_call: grep,
  grep_args: grep,
  glob_tool_call: verb("glob", "glob_pattern"),
  mcp_tool_call: mcp,
  mcp_args: mcp,
  task_tool_call: task,
  subagent_args: verb("subagent", "prompt"),
  fetch_args: verb("fetch", "url"),
  update_todos_tool_call: (args) => [
    `todos: ${count(listOf(args, "todos").length)}${flag(args, "merge") ? ", merged" : ""}`,
  ],
};

/** `branch` is the oneof branch, `args` its arguments. A tool without a label of its own is named by its branch. */
export function labelOf(branch: string, args: ProtoMessage | undefined): Words {
  const label = Object.hasOwn(labels, branch) ? labels[branch] : undefined;
  if (label !== undefined && args !== undefined) return label(args);
  return [branch.replace(/_(tool_call|args|request_query|interaction_query|query|request)$/, "").replaceAll("_", " ")];
}

/** The wrapper of a tool call, from its branch. */
export function toolLabel(branch: string, wrapper: ProtoMessage | undefined): Words {
  return labelOf(branch, sub(wrapper, "args"));
}

/** Results by branch: what came of it, without its content. */
export function resultLabel(schemas: Schemas, type: string, result: ProtoMessage | undefined): Words {
  if (result === undefined) return [];
  const branch = schemas.branch(type, result, "result") ?? "";
  const value = sub(result, branch);
  switch (branch) {
    case "":
      return [];
    case "success":
      return successLabel(value);
    default: {
      const error = text(value, "error") || text(value, "reason");
      const exit = value?.["exit_code"] === undefined ? "" : ` (exit ${int(value, "exit_code")})`;
      return error === ""
        ? [`${branch.replaceAll("_", " ")}${exit}`]
        : [`${branch.replaceAll("_", " ")}: `, ...content(error)];
    }
  }
}

function successLabel(value: ProtoMessage | undefined): Words {
  if (value === undefined) return ["ok"];
  if (value["stdout"] !== undefined || value["exit_code"] !== undefined || value["execution_time"] !== undefined) {
    const ms = int(value, "execution_time");
    return [`exit ${int(value, "exit_code")}${ms > 0 ? ` in ${took(ms)}` : ""}`];
  }
  const body = text(value, "content");
  if (body !== "") return [`ok, ${count(body.length)} chars`];
  const data = value["data"];
  if (data instanceof Uint8Array) return [`ok, ${size(data.length)}`];
  const added = value["lines_added"] === undefined && value["lines_removed"] === undefined;
  return added ? ["ok"] : [`ok, +${int(value, "lines_added")} -${int(value, "lines_removed")} lines`];
}

/** "execution" label of a shell stream event. */
export function shellEvent(event: string, value: ProtoMessage | undefined): Words {
  switch (event) {
    case "stdout":
    case "stderr":
      return [`${event} `, ...content(text(value, "data"))];
    case "exit":
      return [`exit ${int(value, "code")}${flag(value, "aborted") ? ", aborted" : ""}`];
    case "backgrounded":
      return ["backgrounded ", ...content(text(value, "command"))];
    case "rejected":
    case "permission_denied":
      return [`${event.replaceAll("_", " ")} `, ...content(text(value, "reason") || text(value, "error"))];
    default:
      return [event.replaceAll("_", " ")];
  }
}

export function questionLabel(branch: string, query: ProtoMessage | undefined): Words {
  const args = deep(query, "args");
  return labelOf(branch, args);
}
