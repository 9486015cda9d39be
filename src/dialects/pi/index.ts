/** The pi dialect: length-prefixed CBOR over a byte stream, or inside WebSocket binary messages. Protocol: the pi page. */
import type { Dialect } from "../../model/dialect.js";
import { wireRules } from "./checks/index.js";
import { recognise } from "./recognise.js";
import { piSession } from "./session.js";

export const pi: Dialect = {
  name: "pi",
  recognise,
  framing: (exchange) => (exchange.kind === "http" ? "websocket" : "length-prefix"),
  session: piSession,
  rules: wireRules,
};
