/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

const exportAgain = "export the HAR again, and let the export finish before the file is copied";

export const harCodes = {
  // the file
  "har.cut": {
    severity: "warning",
    text: "{file}: file ends at byte {byte} {where}; the {entries} whole entries before it were read",
    remedy: exportAgain,
  },
  "har.byte-order-mark": { severity: "warning", text: "{file} is {encoding} with a byte order mark" },
  "har.text-around": {
    severity: "warning",
    text: "{file}: text around the JSON, {bytes} bytes {where} it, was not read",
  },
  "har.bad-json": {
    severity: "warning",
    text: "{file}: stray text in the JSON, first at byte {byte}, was stepped over",
  },
  "har.duplicate-log": {
    severity: "warning",
    text: "{file}: duplicate key log: there are {count}, number {read} was read because it is the last that has entries",
  },
  "har.several-logs": {
    severity: "warning",
    text: "{file}: duplicate key log: a log with entries follows one whose entries were already read; both were read",
    remedy: "give the file by its name, not through a pipe: it is then looked through before it is read",
  },
  "har.duplicate-entries": {
    severity: "warning",
    text: "{file}: duplicate key entries in one log; all of them were read",
  },
  "har.no-entries": {
    severity: "warning",
    text: "{file} has no entries: the log is empty",
    remedy: "start recording before the traffic begins, and check the recorder's filter",
  },

  // one entry
  "har.not-an-entry": { severity: "warning", text: "log.entries holds {what} where an entry should be" },
  "har.entry-unreadable": { severity: "warning", text: "an entry is no JSON and was left out: {problem}" },
  "har.entry-repaired": { severity: "warning", text: "an entry is not quite JSON ({what}); it was read all the same" },
  "har.entry-not-utf8": {
    severity: "warning",
    text: "an entry is not valid UTF-8; its bytes were read as Latin-1",
  },
  "har.entry-too-large": {
    severity: "warning",
    text: "an entry of {bytes} bytes without its body texts is over the limit of {limit}; it was left out",
    remedy: "raise it with --limit harEntryBytes=SIZE",
  },
  "har.string-dropped": { severity: "info", text: "a text of {bytes} bytes under the key {key} was not kept" },
  "har.entry-invalid": {
    severity: "info",
    text: "an entry does not follow the HAR 1.2 schema: {pointer} {message} ({errors} deviations)",
  },
  "har.entry-unchecked": {
    severity: "info",
    text: "an entry was not checked against the HAR 1.2 schema: {what} is too large for it",
  },
  "har.no-start": {
    severity: "warning",
    text: "entries without a start time: startedDateTime is {value}; order is the file's",
  },
  "har.no-zone": { severity: "info", text: "startedDateTime {value} has no time zone; UTC was assumed" },
  "har.odd-duration": { severity: "info", text: "the time {value} is no duration of a request; it was not used" },
  "har.no-response": { severity: "warning", text: "an entry has no response ({why})" },
  "har.unfinished": { severity: "warning", text: "the response had not ended when the HAR was written ({why})" },
  "har.header-dropped": { severity: "info", text: "a {side} header without {part} was left out" },

  // bodies
  "har.lossy-text": {
    severity: "warning",
    text: "lossy-utf8 {side} body: the producer wrote U+FFFD for bytes it could not decode, {count} times, first at character {character} (byte {byte})",
    remedy: "record with a tool that stores binary bodies as base64, or capture packets",
  },
  "har.replacement-in-text": {
    severity: "info",
    text: "{side} text holds U+FFFD {count} times, first at character {character}; its size says that it was sent so",
  },
  "har.body-absent": { severity: "warning", text: "{side} body absent ({why}), {bytes} bytes" },
  "har.body-empty": {
    severity: "warning",
    text: "{side} body empty although bodySize is {bytes}: the producer threw it away",
    remedy: "record with a tool that stores binary bodies as base64, or capture packets",
  },
  "har.body-cut": {
    severity: "warning",
    text: "{side} body cut by the producer at {seen} of {declared} bytes",
    remedy: "raise the recorder's body limit (Firefox: devtools.netmonitor.responseBodyLimit) and record again",
  },
  "har.body-size-differs": {
    severity: "info",
    text: "{side} body has {seen} bytes where the producer says {declared}; nothing shows that it is cut",
  },
  "har.body-too-large": {
    severity: "warning",
    text: "{side} body text of {bytes} bytes is over the limit of {limit}; it was left out",
    remedy: "raise it with --limit harBodyBytes=SIZE",
  },
  "har.body-kept-encoded": {
    severity: "info",
    text: "{side} body still has its {encoding} coding; it is undone by this reader",
  },
  "har.bad-base64": {
    severity: "warning",
    text: "{side} body is not proper base64 from character {character} on ({what})",
  },
  "har.base64-guessed": {
    severity: "info",
    text: "{side} body was decoded as base64 although nothing says so: decoded it parses, as it stands it does not",
  },
  "har.unknown-encoding": {
    severity: "warning",
    text: "{side} body has the unknown encoding {encoding}; it was read as text",
  },
  "har.params-only": {
    severity: "info",
    text: "{side} form has parameters and no text; the body was rebuilt from them",
  },
  "har.sibling-refused": {
    severity: "warning",
    text: "{side} body is said to be in the file {file}, which was not read: {why}",
    remedy: "keep the body files in the folder of the HAR, as the recorder wrote them",
  },

  // WebSocket messages
  "har.ws-no-data": { severity: "warning", text: "a WebSocket message has no data; it was left out" },
  "har.ws-odd-message": { severity: "info", text: "a WebSocket message was left out: {what}" },
  "har.ws-no-time": {
    severity: "info",
    text: "a WebSocket message has no usable time; its place in the list orders it",
  },
} as const satisfies CodeTable;
