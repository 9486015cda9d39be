/** One place that types come from: the built-in schema, or a descriptor set of the user. */
import type { Bytes } from "../core/bytes.js";
import type { MessageTable } from "./message-table.js";

export interface SchemaSource {
  /** undefined: no such message here. A new table at each call. */
  table(type: string): MessageTable | undefined;
  enumValue(enumType: string, value: number): string | undefined;
  method(service: string, name: string): { readonly input: string; readonly output: string } | undefined;
  /** undefined: no such message here. null: the text does not fit it. */
  fromJson(type: string, text: Bytes): { readonly bytes: Bytes; readonly complete: boolean } | null | undefined;
}
