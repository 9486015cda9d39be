/** Few words for frames. Content of the application is marked private; names of services, members, sessions and codes are not. */
import { privately, type Words } from "../../core/printable.js";
import type { CborValue } from "../../decode/cbor.js";
import type { Call, ControlCall } from "./chord.js";
import type { WireError } from "./envelope.js";
import { isArray, isMap } from "./shape.js";
import { brief } from "./value.js";

export function sayCall(call: Call, control: ControlCall | null): Words {
  switch (control?.kind) {
    case "catalogue":
      return ["which services are there?"];
    case "subscribe":
      return [`subscribe ${control.subscriptionId} to ${control.serviceId} (${control.mode})`];
    case "unsubscribe":
      return [`unsubscribe ${control.subscriptionId}`];
    default: {
      const { instance } = call;
      const where = instance === null ? "" : `[${instance.key}, generation ${instance.generation}]`;
      const args = call.args.flatMap((arg, i) => (i === 0 ? brief(arg) : [", ", ...brief(arg, 30)]));
      return [`${call.serviceId}${where}.${call.member}(`, ...args, ")"];
    }
  }
}

/** `what`: the service and member asked, for a reader who sees the answer far from its request. */
export function sayResult(what: string, result: CborValue | undefined): Words {
  return result === undefined ? [`${what} → done`] : [`${what} → `, ...brief(result)];
}

export function sayCatalogue(result: CborValue | undefined): Words {
  if (!isArray(result)) return sayResult("catalogue", result);
  const names = result.map((item) => (isMap(item) ? String(item.get("serviceId")) : "?"));
  const shown = names.slice(0, 6).join(", ");
  return [`${names.length} services: ${shown}${names.length > 6 ? ` and ${names.length - 6} more` : ""}`];
}

export function sayError(what: string, error: WireError): Words {
  const words: (string | ReturnType<typeof privately>)[] = [`${what} → ${error.code}`];
  if (error.message !== "") words.push(": ", privately(error.message));
  return words;
}
