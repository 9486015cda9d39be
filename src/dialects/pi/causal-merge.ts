/**
 * An order for two dumps that carry no times: each server frame as early as its cause allows. Responses wait for their requests, and
 * what the server sent before a response goes with it. Good enough to tell the story; rules that rest on order do not use it.
 */
import { type CborMap, decodeCbor } from "../../decode/cbor.js";
import type { StreamMessage } from "../../model/message.js";
import { isMap } from "./shape.js";

export function* causalOrder(up: readonly StreamMessage[], down: readonly StreamMessage[]): Generator<StreamMessage> {
  const asked = new Map<string, number>();
  let next = 0;
  let start = 0;
  for (let end = 0; end < down.length; end++) {
    const gate = gateOf(down[end]!);
    if (gate === null && end < down.length - 1) continue;
    while (next < up.length && !isOpen(gate, asked, next)) {
      const message = up[next++]!;
      yield message;
      const id = requestId(message);
      if (id !== null) asked.set(id, (asked.get(id) ?? 0) + 1);
    }
    if (gate !== null && gate !== "hello") asked.set(gate.id, (asked.get(gate.id) ?? 1) - 1);
    for (; start <= end; start++) yield down[start]!;
  }
  for (; next < up.length; next++) yield up[next]!;
}

type Gate = "hello" | { readonly id: string } | null;

/** What a server frame waits for; null: the next frame that waits for something. */
function gateOf(message: StreamMessage): Gate {
  const map = mapOf(message);
  const type = map?.get("type");
  if (type === "hello") return "hello";
  const id = map?.get("id");
  return type === "response" && typeof id === "string" ? { id } : null;
}

function isOpen(gate: Gate, asked: ReadonlyMap<string, number>, sent: number): boolean {
  if (gate === null) return false;
  return gate === "hello" ? sent > 0 : (asked.get(gate.id) ?? 0) > 0;
}

function requestId(message: StreamMessage): string | null {
  const map = mapOf(message);
  const id = map?.get("id");
  return map?.get("type") === "request" && typeof id === "string" ? id : null;
}

function mapOf(message: StreamMessage): CborMap | null {
  const decoded = decodeCbor(message.body);
  return decoded.ok && isMap(decoded.value) ? decoded.value : null;
}
