/** Header names whose values are secret (protocols: Cursor 1.3, kimi 2.6, and what HTTP itself uses for credentials). */
const secretHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "x-blob-encryption-key",
  "x-inference-authentication-jwt",
  "x-cursor-auth",
  "x-cursor-checksum",
  "x-client-key",
  "x-session-id",
]);
const secretShape = /(^|[-_])(token|secret|password|api-?key|authorization|jwt|credentials?)$/i;

/** Every head of a capture is looked through, and their names are the same. */
const judged = new Map<string, boolean>();
const namesKept = 1024;

/** Trailers too: the metadata of an EndStream may repeat response headers. */
export function isSecretHeader(name: string): boolean {
  let secret = judged.get(name);
  if (secret === undefined) {
    secret = secretHeaders.has(name.toLowerCase()) || secretShape.test(name);
    if (judged.size < namesKept) judged.set(name, secret);
  }
  return secret;
}
