/** The dialects, in the order in which ties are broken. A new one is a folder and a row here. */
import type { Dialect } from "../model/dialect.js";
import { cursor } from "./cursor/index.js";
import { kimi } from "./kimi/index.js";
import { pi } from "./pi/index.js";

export const dialects: readonly Dialect[] = [cursor, kimi, pi];
