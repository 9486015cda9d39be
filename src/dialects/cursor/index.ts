/** Cursor's agent traffic: RunSSE + BidiAppend, Run and RunPoll (protocols/cursor.md). */
import type { Dialect } from "../../model/dialect.js";
import { cursorRules } from "./checks/index.js";
import { framing, recognise } from "./recognise.js";
import { cursorSession } from "./session.js";

export const cursor: Dialect = {
  name: "cursor",
  recognise,
  framing,
  session: cursorSession,
  rules: cursorRules,
};
