/**
 * .proto text -> FileDescriptorSet, by way of protobufjs's parser and reflection objects. What does not change the wire is left out:
 * extensions, options, default values.
 */
import { createRequire } from "node:module";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  MethodDescriptorProtoSchema,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import type * as Protobufjs from "protobufjs";
import type { Bytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import type { ProtoFile } from "./proto-text.js";

export type Parser = typeof Protobufjs;
type TypeNode = Protobufjs.Type;
type EnumNode = Protobufjs.Enum;
type FieldNode = Protobufjs.Field;
type ServiceNode = Protobufjs.Service;

export function compileProtos(parser: Parser, files: readonly ProtoFile[]): Bytes {
  const root = new parser.Root();
  const imports = new Set<string>();
  for (const file of files) for (const name of parseFile(parser, root, file)) imports.add(name);
  addWellKnown(parser, root);
  try {
    root.resolveAll();
  } catch (cause) {
    const given = new Set(files.map((file) => file.name));
    const missing = [...imports].filter((name) => !given.has(name) && !name.startsWith("google/protobuf/"));
    const hint = missing.length > 0 ? `; imported and not given: ${missing.join(", ")}` : "";
    throw new CursorWireError("input.proto", `${reason(cause)}${hint}`, { cause });
  }
  const set = create(FileDescriptorSetSchema, { file: inOrder(new Emitter(parser, files).files(root)) });
  return toBinary(FileDescriptorSetSchema, set);
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function parseFile(parser: Parser, root: Protobufjs.Root, file: ProtoFile): string[] {
  // The parser stamps what it makes with this name; it is a plain property of the function.
  const parse = parser.parse as typeof parser.parse & { filename: string | null };
  parse.filename = file.name;
  try {
    const parsed = parse(file.text, root, { keepCase: true });
    return [...(parsed.imports ?? []), ...(parsed.weakImports ?? [])];
  } catch (cause) {
    throw new CursorWireError("input.proto", `${file.name} is no .proto file that can be read: ${reason(cause)}`, {
      cause,
    });
  } finally {
    parse.filename = null;
  }
}

const bundled = ["any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers"];

function addWellKnown(parser: Parser, root: Protobufjs.Root): void {
  // Node 20 warns on standard error about `import` of JSON; require does not.
  const extra = createRequire(import.meta.url)("protobufjs/google/protobuf/descriptor.json") as Protobufjs.INamespace;
  for (const name of bundled) addMissing(root, parser.common.get(`google/protobuf/${name}.proto`)?.nested);
  addMissing(root, extra.nested);
}

/** Adds the google.protobuf types that no given file has defined. */
function addMissing(root: Protobufjs.Root, nested: Protobufjs.INamespace["nested"]): void {
  const google = (nested?.google as Protobufjs.INamespace | undefined)?.nested?.protobuf as
    | Protobufjs.INamespace
    | undefined;
  const space = root.define("google.protobuf");
  for (const [name, json] of Object.entries(google?.nested ?? {})) {
    if (space.get(name) === null) space.addJSON({ [name]: json });
  }
}

class Emitter {
  private readonly proto3: ReadonlySet<string>;
  private readonly out = new Map<string, FileDescriptorProto>();

  constructor(
    private readonly parser: Parser,
    files: readonly ProtoFile[],
  ) {
    this.proto3 = new Set(files.filter((file) => isProto3(file.text)).map((file) => file.name));
  }

  files(root: Protobufjs.Root): ReadonlyMap<string, FileDescriptorProto> {
    this.namespace(root);
    return this.out;
  }

  private namespace(space: Protobufjs.NamespaceBase): void {
    for (const node of space.nestedArray) {
      if (node instanceof this.parser.Type) {
        const file = this.fileOf(node);
        if (file !== undefined) file.messageType.push(this.message(node, file));
      } else if (node instanceof this.parser.Enum) {
        this.fileOf(node)?.enumType.push(enumeration(node));
      } else if (node instanceof this.parser.Service) {
        const file = this.fileOf(node);
        if (file !== undefined) file.service.push(this.service(node, file));
      } else if (node instanceof this.parser.Namespace) this.namespace(node);
    }
  }

  private service(node: ServiceNode, file: FileDescriptorProto): ServiceDescriptorProto {
    const service = create(ServiceDescriptorProtoSchema, { name: node.name });
    for (const method of node.methodsArray) {
      const types = [method.resolvedRequestType, method.resolvedResponseType];
      for (const type of types) this.depend(file, type);
      const [inputType, outputType] = types.map((type) => type?.fullName ?? "") as [string, string];
      const clientStreaming = method.requestStream ?? false;
      const serverStreaming = method.responseStream ?? false;
      service.method.push(
        create(MethodDescriptorProtoSchema, {
          name: method.name,
          inputType,
          outputType,
          clientStreaming,
          serverStreaming,
        }),
      );
    }
    return service;
  }

  private depend(file: FileDescriptorProto, type: Protobufjs.ReflectionObject | null): void {
    const from = type?.filename ?? null;
    if (from !== null && from !== file.name && !file.dependency.includes(from)) file.dependency.push(from);
  }

  /** undefined for the well-known types, which were not given as files. */
  private fileOf(node: Protobufjs.ReflectionObject): FileDescriptorProto | undefined {
    const name = node.filename;
    if (name === null) return undefined;
    let file = this.out.get(name);
    if (file === undefined) {
      const syntax = this.proto3.has(name) ? "proto3" : "proto2";
      file = create(FileDescriptorProtoSchema, { name, package: (node.parent?.fullName ?? "").slice(1), syntax });
      this.out.set(name, file);
    }
    return file;
  }

  private message(type: TypeNode, file: FileDescriptorProto): DescriptorProto {
    const message = create(DescriptorProtoSchema, { name: type.name });
    const oneofs = type.oneofsArray.filter((oneof) => !oneof.isProto3Optional);
    message.oneofDecl = oneofs.map(({ name }) => ({ $typeName: "google.protobuf.OneofDescriptorProto", name }));
    for (const field of type.fieldsArray) {
      const at = oneofs.findIndex((oneof) => oneof.fieldsArray.includes(field));
      message.field.push(this.field(type, field, at, message, file));
    }
    for (const node of type.nestedArray) {
      if (node instanceof this.parser.Type) message.nestedType.push(this.message(node, file));
      else if (node instanceof this.parser.Enum) message.enumType.push(enumeration(node));
    }
    for (const range of (type.reserved ?? []) as (number[] | string)[]) {
      if (typeof range === "string") continue;
      const bounds = { start: range[0]!, end: range[1]! + 1 };
      message.reservedRange.push({ $typeName: "google.protobuf.DescriptorProto.ReservedRange", ...bounds });
    }
    return message;
  }

  private field(
    type: TypeNode,
    node: FieldNode,
    oneof: number,
    message: DescriptorProto,
    file: FileDescriptorProto,
  ): FieldDescriptorProto {
    const field = create(FieldDescriptorProtoSchema, { name: node.name, number: node.id, jsonName: node.jsonName });
    field.label = node.repeated || node.map ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL;
    if (node.options?.proto3_optional === true) {
      field.proto3Optional = true;
      field.oneofIndex = message.oneofDecl.length;
      message.oneofDecl.push({ $typeName: "google.protobuf.OneofDescriptorProto", name: `_${node.name}` });
    } else if (oneof >= 0) field.oneofIndex = oneof;
    if (node instanceof this.parser.MapField) {
      const entry = mapEntryName(node.name);
      field.type = FieldDescriptorProto_Type.MESSAGE;
      field.typeName = `${type.fullName}.${entry}`;
      message.nestedType.push(this.mapEntry(node, node.keyType, entry, file));
    } else this.setType(field, node, file);
    return field;
  }

  private setType(field: FieldDescriptorProto, node: FieldNode, file: FileDescriptorProto): void {
    const resolved = node.resolvedType;
    if (resolved === null) {
      field.type = scalarTypes[node.type]!;
      return;
    }
    field.typeName = resolved.fullName;
    if (resolved instanceof this.parser.Enum) field.type = FieldDescriptorProto_Type.ENUM;
    else field.type = node.delimited ? FieldDescriptorProto_Type.GROUP : FieldDescriptorProto_Type.MESSAGE;
    this.depend(file, resolved);
  }

  private mapEntry(node: FieldNode, keyType: string, name: string, file: FileDescriptorProto): DescriptorProto {
    const key = create(FieldDescriptorProtoSchema, { name: "key", number: 1, jsonName: "key" });
    key.type = scalarTypes[keyType]!;
    const value = create(FieldDescriptorProtoSchema, { name: "value", number: 2, jsonName: "value" });
    this.setType(value, node, file);
    for (const field of [key, value]) field.label = FieldDescriptorProto_Label.OPTIONAL;
    return create(DescriptorProtoSchema, { name, field: [key, value], options: { mapEntry: true } });
  }
}

function enumeration(node: EnumNode): EnumDescriptorProto {
  const value = Object.entries(node.values).map(([name, number]) => ({ name, number }));
  return create(EnumDescriptorProtoSchema, { name: node.name, value });
}

/** `file_states` -> `FileStatesEntry`, as protoc names the type of a map's entries. */
function mapEntryName(field: string): string {
  return `${field.replace(/(?:^|_)([a-z0-9])/g, (_, first: string) => first.toUpperCase())}Entry`;
}

const scalarTypes: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  double: FieldDescriptorProto_Type.DOUBLE,
  float: FieldDescriptorProto_Type.FLOAT,
  int64: FieldDescriptorProto_Type.INT64,
  uint64: FieldDescriptorProto_Type.UINT64,
  int32: FieldDescriptorProto_Type.INT32,
  fixed64: FieldDescriptorProto_Type.FIXED64,
  fixed32: FieldDescriptorProto_Type.FIXED32,
  bool: FieldDescriptorProto_Type.BOOL,
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  uint32: FieldDescriptorProto_Type.UINT32,
  sfixed32: FieldDescriptorProto_Type.SFIXED32,
  sfixed64: FieldDescriptorProto_Type.SFIXED64,
  sint32: FieldDescriptorProto_Type.SINT32,
  sint64: FieldDescriptorProto_Type.SINT64,
};

function isProto3(text: string): boolean {
  const bare = text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
  return /(?:^|;)\s*syntax\s*=\s*["']proto3["']\s*;/.test(bare);
}

/** Files after those they depend on. */
function inOrder(files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] {
  const out = new Set<FileDescriptorProto>();
  const seen = new Set<string>();
  const visit = (name: string): void => {
    const file = files.get(name);
    if (file === undefined || seen.has(name)) return;
    seen.add(name);
    for (const dependency of file.dependency) visit(dependency);
    out.add(file);
  };
  for (const name of [...files.keys()].sort()) visit(name);
  return [...out];
}
