/** The formats of `check`. */
import type { Report } from "../report.js";
import { findingsGithub } from "./github.js";
import { findingsJson } from "./json.js";
import { findingsJunit } from "./junit.js";
import { findingsSarif } from "./sarif.js";
import { findingsText } from "./text.js";

export const findingReports = [
  findingsText,
  findingsJson,
  findingsJunit,
  findingsSarif,
  findingsGithub,
] as const satisfies readonly Report[];
