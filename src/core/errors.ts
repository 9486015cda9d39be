/** The only error class this project throws on purpose: something that cannot begin. Everything later is a Diagnostic. */

/** `input.*`: an input cannot be read at all (exit 3). `usage.*`: a bad option (exit 2). `internal.*`: a bug (exit 4). */
export class CursorWireError extends Error {
  constructor(
    readonly code: `${"input" | "usage" | "internal"}.${string}`,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = "CursorWireError";
  }
}

/** Closes a switch over a union: the compiler proves that nothing is left. */
export function assertNever(value: never): never {
  throw new CursorWireError("internal.unreachable", `unexpected value ${String(value)}`);
}
