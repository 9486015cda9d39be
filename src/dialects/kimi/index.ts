/** kimi-code: REST envelope, WebSocket v2, JSON-RPC 2.0. */
import type { Dialect } from "../../model/dialect.js";
import { kimiRules } from "./checks/index.js";
import { kimiFraming, recogniseKimi } from "./recognise.js";
import { KimiSession } from "./session.js";

export const kimi: Dialect = {
  name: "kimi",
  recognise: recogniseKimi,
  framing: kimiFraming,
  session: (tools) => new KimiSession(tools),
  rules: kimiRules,
};
