/** Fixed columns: widths in terminal cells as string-width counts them. Texts are escaped already and hold no colour. */
import stringWidth from "string-width";

const plainAscii = /^[\x20-\x7e]*$/;
/** ASCII and the signs the reports themselves use: one cell each, so that string-width is asked for foreign text only. */
const oneCellEach = /^[\x20-\x7e·×«»‹›–—“”…↑→↓←↵│├└┊▸]*$/;

export function widthOf(text: string): number {
  return oneCellEach.test(text) ? text.length : stringWidth(text);
}

/** At most `width` cells; a cut text ends in "…". */
export function clip(text: string, width: number): string {
  if (width <= 0) return "";
  if (oneCellEach.test(text)) return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
  // Nobody sees more than this of it, and string-width is not free.
  const head = text.length > width * 8 ? text.slice(0, width * 8) : text;
  if (head.length === text.length && stringWidth(head) <= width) return text;
  let out = "";
  let used = 0;
  for (const char of head) {
    const cells = stringWidth(char);
    if (used + cells > width - 1) break;
    out += char;
    used += cells;
  }
  return `${out}…`;
}

/** Cuts in the middle, so that both a prefix and the telling end stay: "kv_serv…set_blob_args". */
export function clipMiddle(text: string, width: number): string {
  if (widthOf(text) <= width || width < 4 || !plainAscii.test(text)) return clip(text, width);
  const tail = Math.ceil((width - 1) * 0.6);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}`;
}

export function padEnd(text: string, width: number): string {
  const missing = width - widthOf(text);
  return missing > 0 ? text + " ".repeat(missing) : text;
}

export function padStart(text: string, width: number): string {
  const missing = width - widthOf(text);
  return missing > 0 ? " ".repeat(missing) + text : text;
}

/** Breaks at spaces; words longer than a line are cut. Never empty. */
export function wrap(text: string, width: number): string[] {
  const room = Math.max(8, width);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    for (const part of pieces(word, room)) {
      if (line === "") line = part;
      else if (widthOf(line) + 1 + widthOf(part) <= room) line += ` ${part}`;
      else {
        lines.push(line);
        line = part;
      }
    }
  }
  lines.push(line);
  return lines;
}

function pieces(word: string, room: number): string[] {
  if (widthOf(word) <= room) return [word];
  const out: string[] = [];
  let part = "";
  let used = 0;
  for (const char of word) {
    const cells = widthOf(char);
    if (used + cells > room) {
      out.push(part);
      part = "";
      used = 0;
    }
    part += char;
    used += cells;
  }
  if (part !== "") out.push(part);
  return out;
}
