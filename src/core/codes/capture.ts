/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const captureCodes = {
  "capture.read-error": {
    severity: "error",
    text: "reading {file} failed at byte {offset} ({error}); what came before is used",
  },
  "capture.compressed-cut": {
    severity: "warning",
    text: "the {compression} file {file} ends before its data does; what it holds is used",
    remedy: "copy the file again, or let the recorder finish before compressing",
  },
  "capture.compressed-damaged": {
    severity: "error",
    text: "the {compression} file {file} is damaged ({why}); what could be unpacked is used",
    remedy: "copy the file again and compare checksums",
  },
  "capture.compressed-trailing": {
    severity: "warning",
    text: "{file} has other bytes behind its {compression} data; they are ignored",
  },
  "lines.bad-line": {
    severity: "warning",
    text: "a line of {bytes} bytes is no log line (a JSON object with at_ms, dir and text)",
  },
  "capture.cut": {
    severity: "warning",
    text: "the file ends in the middle of a record ({bytes} bytes of it, from offset {offset} on); every whole packet is used",
    remedy: "let the recorder stop in order (Ctrl-C, not kill -9), or copy the file again",
  },
  "capture.record-too-long": {
    severity: "error",
    text: "the record at offset {offset} claims {length} bytes, over the limit of {limit}; the file is damaged there and nothing after it is read",
    remedy: "raise --limit recordBytes=SIZE if packets are really that long",
  },
  "capture.no-block": {
    severity: "error",
    text: "there is no pcapng block at offset {offset}; the file is damaged there and nothing after it is read",
  },
  "capture.bad-block": {
    severity: "warning",
    text: "the packet block of type {type} at offset {offset} contradicts itself or names no described interface; it is skipped",
  },
  "capture.block-too-long": {
    severity: "warning",
    text: "the block at offset {offset} has {length} bytes, over the limit of {limit}; it is skipped",
    remedy: "raise --limit recordBytes=SIZE",
  },
  "capture.block-lengths-differ": {
    severity: "warning",
    text: "the pcapng block at offset {offset} gives two different lengths; the first is believed where a block follows it",
  },
  "capture.too-many-interfaces": {
    severity: "warning",
    text: "a section describes more than {limit} interfaces; the others are ignored",
  },
} as const satisfies CodeTable;
