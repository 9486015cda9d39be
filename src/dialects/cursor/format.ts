/** Numbers and texts as a turn's few words show them. */
import { privately, type Sensitive } from "../../core/printable.js";
import { flat } from "./fields.js";

/** 29974 -> "29,974" */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** 512 -> "512 B", 4200 -> "4.2 kB", 2200000 -> "2.2 MB" */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [value, unit] = bytes < 999_950 ? [bytes / 1e3, "kB"] : [bytes / 1e6, "MB"];
  return `${value < 100 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)} ${unit}`;
}

/** 12 -> "12 ms", 3400 -> "3.4 s" */
export function took(ms: number): string {
  return ms < 1000 ? `${count(Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Characters of content that a line shows. */
const shown = 72;

/** The beginning of a text on one line, as content. Never a slice that keeps the whole text alive. */
export function quoted(text: string): Sensitive {
  return privately(`"${shortened(text)}"`);
}

export function shortened(text: string, limit = shown): string {
  const line = flat(text.slice(0, limit * 4))
    .replace(/\s+/g, " ")
    .trim();
  const cut = line.length > limit ? line.slice(0, limit - 1) : line;
  // A pair of surrogates is not cut in two.
  const whole = /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
  return line.length > limit || text.length > limit * 4 ? `${flat(whole)}…` : flat(whole);
}
