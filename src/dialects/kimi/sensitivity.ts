/** JSON of this wire on its way to an output: secrets and content marked by key. kimi.md 2.6, 2.7. */
import { type Printable, privately, Sensitive, secretly } from "../../core/printable.js";

/** Compared in lower case without separators. */
const secretKeys = new Set([
  "token",
  "apikey",
  "authorization",
  "usercode",
  "verificationuricomplete",
  "stack",
  "password",
  "accesstoken",
  "refreshtoken",
  "clientsecret",
  "secret",
]);
const secretContainers = new Set(["headers", "env"]);
const personalKeys = new Set(["email", "phone"]);

/** Values that name things of the protocol rather than of the user. */
const plainKeys =
  /^(type|kind|op|role|id|seq|code|status|state|reason|decision|model|name|toolName|tool_name|finishReason|phase|jsonrpc|method|stopReason|sessionUpdate|.*([iI]d|_id|_ids|[aA]t|_at)|epoch|timestamp|msg|transport|protocol_version|version)$/;

const bearer = /kimi-code\.bearer\.[^\s,"]+|Bearer\s+[^\s,"]+|#token=[^\s"&]+/i;

/** Marks what must be hidden; nesting beyond `limit` becomes a size. */
export function printableJson(value: unknown, key = "", limit = 100): Printable {
  if (value === null || value === undefined) return null;
  if (isSecretKey(key))
    return typeof value === "object"
      ? secretly(JSON.stringify(value))
      : new Sensitive("secret", value as string | number | boolean);
  switch (typeof value) {
    case "string":
      return printableText(value, key);
    case "number":
    case "boolean":
      return value;
    case "object":
      break;
    default:
      return String(value);
  }
  if (limit === 0) return "…";
  if (Array.isArray(value)) return value.map((item) => printableJson(item, key, limit - 1));
  const hidesValues = secretContainers.has(key.toLowerCase());
  const out: Record<string, Printable> = Object.create(null);
  for (const [name, inner] of Object.entries(value)) {
    out[name] = hidesValues && typeof inner === "string" ? secretly(inner) : printableJson(inner, name, limit - 1);
  }
  return out;
}

function printableText(text: string, key: string): Printable {
  if (bearer.test(text)) return secretly(text);
  if (personalKeys.has(key.toLowerCase())) return privately(text);
  return plainKeys.test(key) ? text : privately(text);
}

function isSecretKey(key: string): boolean {
  return secretKeys.has(key.toLowerCase().replace(/[-_]/g, ""));
}
