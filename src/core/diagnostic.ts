/** What the reader has to say about the CAPTURE or about its own reading of it; protocol faults are Findings. */
import type { CodeRow, Severity } from "./code-table.js";
import { captureCodes } from "./codes/capture.js";
import { cursorCodes } from "./codes/cursor.js";
import { decodeCodes } from "./codes/decode.js";
import { harCodes } from "./codes/har.js";
import { httpCodes } from "./codes/http.js";
import { kimiCodes } from "./codes/kimi.js";
import { netCodes } from "./codes/net.js";
import { piCodes } from "./codes/pi.js";
import { storeCodes } from "./codes/store.js";
import { tlsCodes } from "./codes/tls.js";
import type { Place } from "./place.js";

export type { Severity } from "./code-table.js";

export const diagnosticCodes = {
  ...captureCodes,
  ...harCodes,
  ...netCodes,
  ...tlsCodes,
  ...httpCodes,
  ...decodeCodes,
  ...cursorCodes,
  ...kimiCodes,
  ...piCodes,
  ...storeCodes,
} as const;

export type DiagnosticCode = keyof typeof diagnosticCodes;

export type DetailValue = string | number | boolean | null | readonly (string | number)[];
export type Detail = Readonly<Record<string, DetailValue>>;

export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly place?: Place | undefined;
  readonly detail?: Detail;
  /** Only where this occurrence is graver or lighter than its code usually is. */
  readonly severity?: Severity;
}

/** Takes a diagnostic and returns; the caller goes on. */
export type Note = (diagnostic: Diagnostic) => void;

export function codeRow(code: DiagnosticCode): CodeRow {
  return diagnosticCodes[code];
}

/** The code's sentence with the detail's values filled in. */
export function diagnosticText(code: DiagnosticCode, detail: Detail = {}): string {
  return codeRow(code).text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(detail, name) ? detail[name] : undefined;
    return value === undefined ? whole : Array.isArray(value) ? value.join(", ") : String(value);
  });
}

/** Repeats are counted, not kept: one row per (code, severity), with the first places. */
export interface DiagnosticRow {
  readonly code: DiagnosticCode;
  readonly severity: Severity;
  count: number;
  readonly places: Place[];
  /** Of the first occurrence. */
  readonly detail: Detail;
}

export class DiagnosticLog {
  private readonly rows = new Map<string, DiagnosticRow>();

  constructor(private readonly placesPerRow: number) {}

  readonly note: Note = (diagnostic) => {
    const severity = diagnostic.severity ?? codeRow(diagnostic.code).severity;
    const key = `${diagnostic.code} ${severity}`;
    let row = this.rows.get(key);
    if (row === undefined) {
      row = { code: diagnostic.code, severity, count: 0, places: [], detail: diagnostic.detail ?? {} };
      this.rows.set(key, row);
    }
    row.count++;
    if (diagnostic.place !== undefined && row.places.length < this.placesPerRow) row.places.push(diagnostic.place);
  };

  /** In order of first occurrence. */
  list(): readonly DiagnosticRow[] {
    return [...this.rows.values()];
  }
}
