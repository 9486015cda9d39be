/** Values on their way to an output: JSON plus the few things the writer alone may render (places, sensitive text, bytes). */
import type { Bytes } from "./bytes.js";
import type { Place } from "./place.js";

/** `secret`: never printed unless `--no-redact`. `private`: content (prompts, files, paths), hidden by `--redact private`. */
export type Sensitivity = "secret" | "private";

export class Sensitive {
  constructor(
    readonly sensitivity: Sensitivity,
    /** The value when it may be shown. */
    readonly value: string | number | boolean | Bytes | { readonly [key: string]: Printable } | readonly Printable[],
  ) {}
}

export type Printable =
  | string
  | number
  | bigint
  | boolean
  | null
  | Bytes
  | Place
  | Sensitive
  | readonly Printable[]
  | { readonly [key: string]: Printable };

/** A short human phrase; sensitive parts are marked so that the writer can hide them. */
export type Words = readonly (string | Sensitive)[];

export function privately(text: string): Sensitive {
  return new Sensitive("private", text);
}

export function secretly(text: string): Sensitive {
  return new Sensitive("secret", text);
}
