// Writes proto/cursor/*.proto from the tables beside them: cursor-fields.tsv (message, number, name, type, label, oneof),
// cursor-enums.tsv (enum, number, name) and notes.tsv (message or enum, one sentence). A type that the tables refer to and do not
// describe becomes a message with all its numbers reserved: it is kept whole and shown by its size.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..", "proto", "cursor");
const rows = (name) =>
  readFileSync(join(folder, name), "utf8")
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t"));

const notes = new Map(rows("notes.tsv"));
const messages = new Map();
for (const [message, number, name, type, label, oneof] of rows("cursor-fields.tsv")) {
  if (!messages.has(message)) messages.set(message, []);
  if (number) messages.get(message).push({ number: Number(number), name, type, label, oneof: oneof ?? "" });
}
const enums = new Map();
for (const [name, number, value] of rows("cursor-enums.tsv")) {
  if (!enums.has(name)) enums.set(name, []);
  enums.get(name).push({ number: Number(number), value });
}
const named = (type) => type.startsWith("agent.") || type.startsWith("aiserver.");
const opaque = new Set();
for (const fields of messages.values()) {
  for (const { type } of fields) {
    const inner = type.startsWith("map<") ? type.slice(type.indexOf(",") + 1, -1) : type;
    if (named(inner) && !messages.has(inner) && !enums.has(inner)) opaque.add(inner);
  }
}

const packageOf = (type) => type.split(".").slice(0, 2).join(".");
const parentOf = (type) => (type.split(".").length > 3 ? type.slice(0, type.lastIndexOf(".")) : null);
const shortName = (type) => type.slice(type.lastIndexOf(".") + 1);
const childrenOf = (type, names) => [...names].filter((name) => parentOf(name) === type);

/** `agent.v1.Foo` inside package agent.v1 is written `Foo`; anything else in full. */
function typeText(type, pkg) {
  if (type.startsWith("map<")) {
    const comma = type.indexOf(",");
    return `map<${type.slice(4, comma)}, ${typeText(type.slice(comma + 1, -1), pkg)}>`;
  }
  return packageOf(type) === pkg && named(type) ? type.slice(pkg.length + 1) : type;
}

function fieldLine(field, pkg, indent) {
  const label = field.label === "optional" || field.label === "repeated" ? `${field.label} ` : "";
  return `${indent}${label}${typeText(field.type, pkg)} ${field.name} = ${field.number};`;
}

function fieldLines(fields, pkg, indent) {
  const out = [];
  const done = new Set();
  for (const field of fields) {
    if (field.oneof === "") {
      out.push(fieldLine(field, pkg, indent));
    } else if (!done.has(field.oneof)) {
      done.add(field.oneof);
      out.push(`${indent}oneof ${field.oneof} {`);
      for (const member of fields.filter((one) => one.oneof === field.oneof))
        out.push(fieldLine(member, pkg, `${indent}  `));
      out.push(`${indent}}`);
    }
  }
  return out;
}

function note(type, indent) {
  const text = notes.get(type);
  if (text === undefined) throw new Error(`notes.tsv has no sentence for ${type}`);
  return `${indent}// ${text}`;
}

function enumLines(name, indent) {
  const values = [...enums.get(name)].sort((a, b) => a.number - b.number);
  return [
    note(name, indent),
    `${indent}enum ${shortName(name)} {`,
    ...values.map(({ number, value }) => `${indent}  ${value} = ${number};`),
    `${indent}}`,
  ];
}

function opaqueLines(name, indent) {
  return [
    `${indent}// Opaque: not described here.`,
    `${indent}message ${shortName(name)} {`,
    `${indent}  reserved 1 to max;`,
    `${indent}}`,
  ];
}

function messageLines(name, indent) {
  const inside = `${indent}  `;
  const body = [
    ...childrenOf(name, messages.keys()).flatMap((child) => messageLines(child, inside)),
    ...childrenOf(name, opaque).flatMap((child) => opaqueLines(child, inside)),
    ...childrenOf(name, enums.keys()).flatMap((child) => enumLines(child, inside)),
    ...fieldLines(messages.get(name), packageOf(name), inside),
  ];
  if (body.length === 0) return [note(name, indent), `${indent}message ${shortName(name)} {}`];
  return [note(name, indent), `${indent}message ${shortName(name)} {`, ...body, `${indent}}`];
}

function write(file, about, pkg, imports, blocks) {
  const head = [`// ${about}`, 'syntax = "proto3";', "", `package ${pkg};`, ""];
  const lines = [...head, ...imports.map((path) => `import "${path}";`), ...(imports.length > 0 ? [""] : [])];
  writeFileSync(
    join(folder, file),
    `${lines.join("\n")}\n${blocks.map((block) => `${block.join("\n")}\n`).join("\n")}`,
  );
}

const tops = (names, pkg) => [...names].filter((name) => packageOf(name) === pkg && parentOf(name) === null);
const wellKnown = ["google/protobuf/struct.proto", "google/protobuf/timestamp.proto"];
write(
  "aiserver.proto",
  "The Bidi calls and error details. Written by scripts/write-protos.mjs from the tables; see SOURCES.md.",
  "aiserver.v1",
  [],
  [
    ...tops(messages.keys(), "aiserver.v1").map((name) => messageLines(name, "")),
    ...tops(opaque, "aiserver.v1").map((name) => opaqueLines(name, "")),
  ],
);
write(
  "agent_enums.proto",
  "Enums of the agent protocol. Written by scripts/write-protos.mjs from the tables; see SOURCES.md.",
  "agent.v1",
  [],
  tops(enums.keys(), "agent.v1").map((name) => enumLines(name, "")),
);
write(
  "agent_opaque.proto",
  "Agent messages that are only known by name. Written by scripts/write-protos.mjs from the tables; see SOURCES.md.",
  "agent.v1",
  [],
  tops([...opaque].sort(), "agent.v1").map((name) => opaqueLines(name, "")),
);
write(
  "agent.proto",
  "Messages of the agent protocol. Written by scripts/write-protos.mjs from the tables; see SOURCES.md.",
  "agent.v1",
  ["agent_enums.proto", "agent_opaque.proto", "aiserver.proto", ...wellKnown],
  tops(messages.keys(), "agent.v1").map((name) => messageLines(name, "")),
);
