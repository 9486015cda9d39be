/**
 * The library: captures in, a typed model out. It prints nothing, never exits, and reads neither environment nor clock. README.md has
 * examples. What is not exported here is private and may change in any version.
 */

import { captureFormats as formats } from "./capture/index.js";
import { dialects as table } from "./dialects/index.js";
import { allRules } from "./pipeline/catalogue.js";

/** Packet capture formats, in the order in which they are tried. */
export const captureFormats: readonly string[] = formats.map((format) => format.name);
/** Names of the dialects, in the order in which ties are broken. */
export const dialects: readonly string[] = table.map((dialect) => dialect.name);
/** The whole catalogue of rules. */
export const rules = allRules();

export { type Baseline, parseBaseline, writeBaseline } from "./check/baseline.js";
export type { Gate } from "./check/gate.js";
export type { Level } from "./check/levels.js";
export type { Bytes } from "./core/bytes.js";
export {
  type Detail,
  type DiagnosticCode,
  type DiagnosticRow,
  diagnosticText,
  type Severity,
} from "./core/diagnostic.js";
export { CursorWireError } from "./core/errors.js";
export { defaultLimits, type Limits } from "./core/limits.js";
export { type Place, placeText } from "./core/place.js";
export { type Printable, Sensitive, type Sensitivity, type Words } from "./core/printable.js";
export { isExact, isKnown, isoTime, type Nanos, type When } from "./core/time.js";
export { type ProtoFile, parseProtos } from "./decode/proto-text.js";
export { type AnalyzeOptions, analyze } from "./library/analyze.js";
export { type Comparison, compare } from "./library/compare.js";
export { frames } from "./library/frames.js";
export { type GateSettings, gate } from "./library/gate.js";
export {
  type JsonValue,
  type RenderOptions,
  type ReportName,
  render,
  reportNames,
  toJson,
  toText,
  version,
} from "./library/render.js";
export type { Finding, NotCheckable, Rule } from "./model/check.js";
export type {
  BlobLedger,
  BlobNode,
  BlobRow,
  BlobTotals,
  Conversation,
  Loss,
  OpenItem,
  Outcome,
  Pair,
  Step,
  Turn,
  TurnError,
  Usage,
} from "./model/conversation.js";
export type { DialectResult, SessionEvent } from "./model/dialect.js";
export type { CaptureDiff, Divergence, DivergentMessage, FactDiff, KindCount, TurnDiff } from "./model/diff.js";
export type {
  Direction,
  DirectionSummary,
  Exchange,
  FlowSummary,
  GapReason,
  Header,
  RequestHead,
  TlsInfo,
} from "./model/exchange.js";
export type { FrameLine, Reading, StreamMessage, UnknownField } from "./model/message.js";
export type { Analysis, BodySummary, ExchangeRow, InputInfo } from "./model/report.js";
export type { StoreFile, StoreReport, StoreSession } from "./model/store.js";
export type { OpenAnalysis } from "./pipeline.js";
export { parsePlace } from "./report/parse-place.js";
export type { RedactLevel } from "./report/redact.js";
export { selectTurns, type TurnSelection } from "./report/select.js";
export { readStores } from "./store/index.js";
