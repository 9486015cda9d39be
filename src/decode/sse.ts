/** One block of a server-sent event stream, as framing cuts it -> its fields. HTML standard, 9.2.6 "Interpreting an event stream". */
import { type Bytes, utf8 } from "../core/bytes.js";

export interface SseEvent {
  /** "message" where the block names none. */
  readonly event: string;
  /** Lines of data, joined by LF; null where the block has none: a client then fires nothing. */
  readonly data: string | null;
  readonly id: string | null;
  /** Reconnection time in ms. */
  readonly retry: number | null;
  /** Comment lines, the usual keep-alive. */
  readonly comments: readonly string[];
}

export function parseSse(block: Bytes): SseEvent {
  const text = utf8(block);
  const data: string[] = [];
  const comments: string[] = [];
  let event = "";
  let id: string | null = null;
  let retry: number | null = null;
  for (const line of (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text).split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d{1,15}$/.test(value)) retry = Number(value);
    else if (colon === 0) comments.push(value);
  }
  return {
    event: event === "" ? "message" : event,
    data: data.length === 0 ? null : data.join("\n"),
    id,
    retry,
    comments,
  };
}
