/** A frame as JSON for `frames`: ids and names plain, what the application put in marked private or secret. */
import type { Printable } from "../../core/printable.js";
import { type CborMap, type CborValue, decodeCbor } from "../../decode/cbor.js";
import type { StreamMessage } from "../../model/message.js";
import { isMap } from "./shape.js";
import { content, plain } from "./value.js";

/** Decoded anew: the session may have taken the first reading apart to rebuild states from it. */
export function frameValue(message: StreamMessage, secret: boolean): Printable {
  const decoded = decodeCbor(message.body);
  if (!decoded.ok) return { error: decoded.fault.says, offset: decoded.fault.offset };
  return isMap(decoded.value) ? envelopeValue(decoded.value, secret) : content(decoded.value);
}

type Shown = (value: CborValue, secret: boolean) => Printable;

/** How each property of an envelope is shown; whatever is not listed is content. */
const shown: Readonly<Record<string, Shown>> = {
  type: plain,
  id: plain,
  version: plain,
  serverId: plain,
  subscriptionId: plain,
  ok: plain,
  target: plain,
  attachment: plain,
  error: (value) => named(value, { code: plain }),
  call: (value) => named(value, { serviceId: plain, member: plain, instance: plain, args: callArgs }),
  result: (value) => named(value, { serviceId: plain, mode: plain }),
  update: (value, secret) =>
    named(value, { type: plain, member: plain, sequence: plain, instance: plain, ops: content }, secret),
};

function envelopeValue(map: CborMap, secret: boolean): Printable {
  return named(map, shown, secret);
}

/** Arguments are content; a control call's are names, and hide nothing worth hiding from its owner. */
function callArgs(value: CborValue): Printable {
  return content(value);
}

function named(value: CborValue, table: Readonly<Record<string, Shown>>, secret = false): Printable {
  if (!isMap(value)) return content(value, secret);
  const out: Record<string, Printable> = Object.create(null);
  for (const [key, item] of value) {
    const show = Object.hasOwn(table, key) ? table[key]! : content;
    out[key] = show(item, key === "ops" || key === "update" ? secret : false);
  }
  return out;
}
