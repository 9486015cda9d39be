/** .proto text -> FileDescriptorSet. The compiler and its parser are loaded only when there is something to compile. */
import type { Bytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import type { Parser } from "./proto-compile.js";

export interface ProtoFile {
  /** As messages and imports of other files call it. */
  readonly name: string;
  readonly text: string;
}

/**
 * The google/protobuf well-known files need not be given. Throws CursorWireError `input.proto` where a file does not parse, a type it names
 * is nowhere, or the optional package protobufjs is not installed.
 */
export async function parseProtos(files: readonly ProtoFile[]): Promise<Bytes> {
  let parser: Parser;
  try {
    parser = (await import("protobufjs")).default as unknown as Parser;
  } catch (cause) {
    throw new CursorWireError(
      "input.proto",
      "reading .proto files needs the package protobufjs: npm install protobufjs",
      { cause },
    );
  }
  const { compileProtos } = await import("./proto-compile.js");
  return compileProtos(parser, files);
}
