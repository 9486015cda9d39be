/**
 * Almost-JSON -> JSON: literal NaN and Infinity (written by JavaScript and Python tools), undefined, raw control characters and
 * unknown escapes in strings, trailing commas. Used only on an entry that JSON.parse refused.
 */

export interface Mended {
  readonly text: string;
  /** What was mended, for people; empty: nothing. */
  readonly what: readonly string[];
}

const token = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?(?:NaN|Infinity)\b|\bundefined\b|,(?=\s*[}\]])/g;
const controls = /[\u0000-\u001f]/g;
const badEscape = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]|([\s\S]))/g;

export function mendJson(text: string): Mended {
  const what = new Set<string>();
  const mended = text.replace(token, (found) => {
    if (found.startsWith('"')) return mendString(found, what);
    if (found === ",") {
      what.add("trailing comma");
      return "";
    }
    what.add(`literal ${found.replace("-", "")}`);
    return "null";
  });
  return { text: mended, what: [...what] };
}

function mendString(text: string, what: Set<string>): string {
  let out = text;
  if (out.includes("\\")) {
    out = out.replace(badEscape, (whole, other?: string) => {
      if (other === undefined) return whole;
      what.add("unknown escape");
      return `\\\\${other}`;
    });
  }
  if (controls.test(out)) {
    what.add("raw control character in a string");
    out = out.replace(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  controls.lastIndex = 0;
  return out;
}
