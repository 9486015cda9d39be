/** `frames`: one line or one JSON object per message, as it comes. */
import { placeText } from "../core/place.js";
import type { Printable } from "../core/printable.js";
import { isExact, isKnown, isoTime } from "../core/time.js";
import type { FrameLine } from "../model/message.js";
import { clip, clipMiddle, padEnd, padStart } from "./columns.js";
import { terminal } from "./escape.js";
import { type JsonContext, jsonText } from "./json-text.js";
import { count } from "./numbers.js";
import type { View } from "./report.js";
import { clock } from "./times.js";
import { plain } from "./words.js";

export interface FramesContext {
  /** Printed names of the inputs. */
  readonly names: readonly string[];
  readonly view: View;
  /** Request id -> conversation id, where an earlier pass learnt it. */
  readonly conversations: ReadonlyMap<string, string | null>;
}

export function conversationOf(frame: FrameLine, context: FramesContext): string | null {
  const { requestId, conversationId } = frame;
  return conversationId ?? (requestId === null ? null : (context.conversations.get(requestId) ?? null));
}

/** `n` counts from 1 in capture order, before any selection. */
export function frameJson(frame: FrameLine, n: number, context: FramesContext): string {
  const { message } = frame;
  const { when } = message.mark;
  const json: JsonContext = { redactor: context.view.redactor, names: context.names, maxBody: context.view.maxBody };
  const row: { [key: string]: Printable } = {
    n,
    at: isKnown(when) ? isoTime(when.earliest) : null,
    exact: isKnown(when) && isExact(when),
    dialect: frame.dialect,
    direction: message.direction,
    conversationId: conversationOf(frame, context),
    requestId: frame.requestId,
    channel: frame.channel,
    flags: message.flags < 0 ? null : message.flags,
    bytes: (frame.decoded ?? message.body).length,
    type: frame.type,
    kind: frame.kind,
    message: frame.value(),
    unknown: frame.unknown().map((field) => ({
      path: field.path,
      wire: field.wire,
      count: field.count,
      readings: field.readings.map((reading) => ({ as: reading.as, value: reading.value, score: reading.score })),
    })),
    place: message.place,
  };
  return `${jsonText(row, json)}\n`;
}

/** Most places fit; a longer one takes room from what the line says. */
const placeWidth = 28;

/** Columns of fixed width: lines are written as they come, so no later line can widen them. */
export function frameText(frame: FrameLine, n: number, context: FramesContext): string {
  const { view } = context;
  const { message } = frame;
  const wide = view.width >= 100;
  const up = message.direction === "up";
  const { when } = message.mark;
  const time = isKnown(when) ? `${isExact(when) ? "" : ">="}${clock(when).slice(11, 23)}` : "";
  const flags = message.flags <= 0 ? "" : String(message.flags);
  const lead = `${padStart(String(n), wide ? 6 : 5)} ${wide ? `${padStart(time, 14)} ` : ""}`;
  const channel = padEnd(clip(terminal(frame.channel), 10), 10);
  const kindWidth = wide ? 38 : 26;
  const kind = padEnd(clipMiddle(terminal(frame.kind), kindWidth), kindWidth);
  const size = padStart(count((frame.decoded ?? message.body).length), 9);
  const head = `${channel} ${kind} ${size} ${padEnd(flags, 2)} `;
  const says = terminal(plain(frame.says, view.redactor));
  const place = terminal(placeText(message.place, context.names));
  const shownPlace = context.names.length === 1 ? place.slice(place.lastIndexOf("#")) : place;
  const room = view.width - lead.length - head.length - 2;
  const paint = up ? view.paint.up : view.paint.down;
  const start = `${view.paint.dim(lead)}${paint(up ? "↑" : "↓")} ${head}`;
  const withPlace = room - Math.max(shownPlace.length, Math.min(placeWidth, room - 20)) - 1;
  if (withPlace < 8) return `${`${start}${clip(says, room)}`.trimEnd()}\n`;
  return `${start}${padEnd(clip(says, withPlace), withPlace)} ${view.paint.dim(shownPlace)}\n`;
}
