import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  type FileRegistry,
  fromBinary,
  ScalarType,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/core/limits.js";
import { compactSchema } from "../../src/decode/compact-schema.js";
import { registryOf } from "../../src/decode/descriptor-source.js";
import { type ProtoFile, parseProtos } from "../../src/decode/proto-text.js";
import { loadSchemas } from "../../src/decode/schema.js";

const folder = join(import.meta.dirname, "../../proto/cursor");
const files: ProtoFile[] = readdirSync(folder)
  .filter((name) => name.endsWith(".proto"))
  .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));

let registry: FileRegistry;
beforeAll(async () => {
  const { file_google_protobuf_struct, file_google_protobuf_timestamp } = await import("@bufbuild/protobuf/wkt");
  const set = fromBinary(FileDescriptorSetSchema, await parseProtos(files));
  const wellKnown = [file_google_protobuf_struct.proto, file_google_protobuf_timestamp.proto];
  registry = createFileRegistry({ ...set, file: [...wellKnown, ...set.file] });
});

function rows(name: string): string[] {
  return readFileSync(join(folder, name), "utf8").replace(/\n$/, "").split("\n").slice(1);
}

function typeText(field: DescField): string {
  if (field.fieldKind === "map") {
    const value = field.message?.typeName ?? field.enum?.typeName ?? ScalarType[field.scalar!]!.toLowerCase();
    return `map<${ScalarType[field.mapKey]!.toLowerCase()},${value}>`;
  }
  return field.message?.typeName ?? field.enum?.typeName ?? ScalarType[field.scalar!]!.toLowerCase();
}

function label(field: DescField): string {
  if (field.fieldKind === "map") return "map";
  if (field.fieldKind === "list") return "repeated";
  return field.proto.proto3Optional ? "optional" : "singular";
}

function fieldRow(message: DescMessage, field: DescField): string {
  return [message.typeName, field.number, field.name, typeText(field), label(field), field.oneof?.name ?? ""].join(
    "\t",
  );
}

function described(message: DescMessage): boolean {
  return !message.typeName.startsWith("google.") && message.proto.reservedRange.length === 0;
}

describe("proto/cursor", () => {
  it("turns back into the table of fields", () => {
    const messages = [...registry].filter((type): type is DescMessage => type.kind === "message" && described(type));
    const table = messages.flatMap((message) =>
      message.fields.length === 0
        ? [`${message.typeName}\t\t\t\t\t`]
        : message.fields.map((field) => fieldRow(message, field)),
    );
    expect(messages.length).toBe(252);
    expect(table.sort()).toEqual(rows("cursor-fields.tsv").sort());
  });

  it("turns back into the table of enums", () => {
    const enums = [...registry].filter((type) => type.kind === "enum" && !type.typeName.startsWith("google."));
    const table = enums.flatMap((type) =>
      type.kind === "enum" ? type.values.map((value) => [type.typeName, value.number, value.name].join("\t")) : [],
    );
    expect(enums.length).toBe(19);
    expect(table.sort()).toEqual(rows("cursor-enums.tsv").sort());
  });

  it("has a comment of its own above every message and enum", () => {
    const uncommented = files.flatMap(({ name, text }) => {
      const lines = text.split("\n");
      return lines.flatMap((line, i) =>
        /^\s*(message|enum) /.test(line) && !/^\s*\/\/ \S+ /.test(lines[i - 1]!) ? [`${name}:${i + 1}`] : [],
      );
    });
    expect(uncommented).toEqual([]);
    const notes = rows("notes.tsv").map((line) => line.split("\t")[1]!);
    expect(new Set(notes).size).toBe(271);
  });

  it("is what the built-in schemas were compiled from", async () => {
    const built = loadSchemas({ limits: defaultLimits });
    for (const type of registry) {
      if (type.kind !== "message" || type.typeName.startsWith("google.")) continue;
      expect(built.has(type.typeName), `${type.typeName}: run \`npm run build\``).toBe(true);
    }
    const require = createRequire(import.meta.url);
    const { set } = require("../../dist/descriptors.json") as { set: string };
    const order = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(Buffer.from(await parseProtos(order)).toString("base64"), "run `npm run build`").toBe(set);
    expect(compactSchema(registryOf(Buffer.from(set, "base64"))), "run `npm run build`").toEqual(
      require("../../dist/schema.json"),
    );
  });
});
