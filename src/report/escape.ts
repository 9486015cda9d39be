/**
 * One escaping function per target. Every text that came from the wire passes through exactly one of them on its way out. All of
 * them first make control characters (C0, C1, bidi, zero width, lone surrogates) visible, so none reaches a reader as itself.
 */

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const plainAscii = /^[\x20-\x7e]*$/;

/** One line of a terminal: line ends and tabs become visible marks too. */
export function terminal(text: string): string {
  if (plainAscii.test(text)) return text;
  return text.replace(/\r\n/g, "\n").replace(invisible, visible);
}

function visible(char: string): string {
  const code = char.codePointAt(0)!;
  if (code === 0x0a) return "↵";
  if (code === 0x09) return " ";
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "␡";
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
}

const htmlEntities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function html(text: string): string {
  return terminal(text).replace(/[&<>"']/g, (char) => htmlEntities[char]!);
}

/** XML 1.0 text and attribute values; characters XML forbids are already visible marks. */
export function xml(text: string): string {
  return html(text).replace(/[\ufffe\uffff]/g, "\ufffd");
}

/**
 * Markdown text, table cells included: no character of it starts emphasis, a link, an HTML tag, a cell, a list or a heading. What only
 * means something at the start of a line is escaped only there, so that the source stays readable.
 */
export function markdown(text: string): string {
  return terminal(text)
    .replace(/[&<>]/g, (char) => htmlEntities[char]!)
    .replace(/[\\`*[\]|~$]/g, "\\$&")
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\_")
    .replace(/^(\s*)([-+=#]|\d+(?=[.)]))/, (_, space: string, mark: string) => `${space}${escapedStart(mark)}`)
    .replace(/@/g, "&#64;")
    .replace(/:\/\//g, "&#58;//")
    .replace(/www\./gi, (word) => `${word.slice(0, 3)}&#46;`);
}

/** "1." begins a list and cannot be escaped at the digit: the digit becomes an entity. */
function escapedStart(mark: string): string {
  return /^\d/.test(mark) ? `&#${mark.codePointAt(0)};${mark.slice(1)}` : `\\${mark}`;
}

/** A code span of Markdown that holds exactly `text` (made visible), whatever backticks it has. */
export function markdownCode(text: string): string {
  const shown = terminal(text).replace(/\|/g, "¦");
  const longest = Math.max(0, ...(shown.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = shown.startsWith("`") || shown.endsWith("`") || shown === "" ? " " : "";
  return `${fence}${pad}${shown}${pad}${fence}`;
}

const mermaidPlain = /[^\p{L}\p{N} .,/_+*=()→←↑↓↵×…“”«»‹›·–-]/gu;

/** Statements that a label at the start of a line must not look like (gantt tasks and timeline periods stand there). */
const statements =
  /^(accDescr|accTitle|axisFormat|call|click|dateFormat|direction|excludes|inclusiveEndDates|includes|note|section|tickInterval|title|todayMarker|topAxis|weekday|weekend)/i;

/**
 * A label of any Mermaid diagram. What could be syntax becomes a numeric entity; `lineBreak` is how a line end shows. Words that mean
 * something to the library anywhere ("end"; "style" and "classDef", around which it rewrites the text before parsing) or at the start
 * of a line lose their first letter to an entity.
 */
export function mermaid(text: string, lineBreak = "<br/>"): string {
  return text
    .split(/\r\n|\n|\r/)
    .map((line) => mermaidLine(terminal(line)))
    .join(lineBreak);
}

function mermaidLine(line: string): string {
  return line
    .replace(mermaidPlain, (char) => `#${char.codePointAt(0)};`)
    .replace(/style|classDef|\bend\b/gi, keywordEntity)
    .replace(statements, keywordEntity)
    .replace(/--|==|->|\*\*|__|\/\/|\.\.|\+\+/g, (pair) => `${pair[0]}#${pair.codePointAt(1)};`);
}

function keywordEntity(word: string): string {
  return `#${word.codePointAt(0)};${word.slice(1)}`;
}

/** Message of a GitHub workflow command. */
export function githubData(text: string): string {
  return terminal(text).replace(/%/g, "%25").replace(/\r/g, "%0D").replace(/\n/g, "%0A");
}

/** Property value of a GitHub workflow command. */
export function githubProperty(text: string): string {
  return githubData(text).replace(/:/g, "%3A").replace(/,/g, "%2C");
}

const jsonRisky = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A JSON string with quotes. Same value after parsing; nothing in it moves a terminal's cursor or turns its text round. */
export function jsonString(text: string): string {
  const quoted = JSON.stringify(text);
  if (plainAscii.test(quoted)) return quoted;
  return quoted.replace(jsonRisky, (char) => {
    let out = "";
    for (let i = 0; i < char.length; i++) out += `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`;
    return out;
  });
}
