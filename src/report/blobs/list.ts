/** `blobs list`: one line per (id, content). */
import { placeText } from "../../core/place.js";
import type { BlobRow } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { clip, clipMiddle, padEnd, padStart, wrap } from "../columns.js";
import { terminal } from "../escape.js";
import { blobJson, document, jsonContext, lazily } from "../json.js";
import { count } from "../numbers.js";
import type { Report, View } from "../report.js";
import { blobTotals } from "./totals.js";

export const blobsSchema = "cursor-wire/blobs@1";

export const blobListJson: Report = {
  name: "json",
  help: blobsSchema,
  *render(analysis, view) {
    yield* document(
      [
        ["schema", blobsSchema],
        ["totals", { ...(analysis.blobs?.totals() ?? { sentBytes: 0, sentAgainBytes: 0, carriedBytes: 0 }) }],
        ["blobs", lazily(analysis.blobs?.rows ?? [], blobJson)],
      ],
      jsonContext(analysis, view),
    );
  },
};

export const blobListText: Report = {
  name: "text",
  help: "one line per blob",
  *render(analysis, view) {
    for (const line of lines(analysis, view)) yield `${line}\n`;
  },
};

function* lines(analysis: Analysis, view: View): Generator<string> {
  const rows = analysis.blobs?.rows ?? [];
  if (rows.length === 0) {
    yield "no blobs: nothing in this capture sets, gets or refers to one";
    return;
  }
  const idWidth = view.all || view.width >= 160 ? 64 : 12;
  const typeWidth = Math.min(34, Math.max(4, ...rows.map((row) => shortType(row.type).length)));
  const titles = `${padEnd("id", idWidth)} ${padStart("bytes", 9)} ${padEnd("hash", 8)} ${padEnd("type", typeWidth)} ${padEnd("came by", 12)} referred to by`;
  yield view.paint.dim(titles);
  for (const row of rows) yield line(row, idWidth, typeWidth, analysis, view);
  yield "";
  yield* wrap(blobTotals(analysis.blobs!), view.width);
}

function line(row: BlobRow, idWidth: number, typeWidth: number, analysis: Analysis, view: View): string {
  const id = padEnd(terminal(row.id).slice(0, idWidth), idWidth);
  const bytes = padStart(row.bytes === null ? "–" : count(row.bytes), 9);
  const hash = padEnd(row.hash ?? "missing", 8);
  const painted =
    row.hash === "match" ? view.paint.good(hash) : row.hash === null ? view.paint.warn(hash) : view.paint.bad(hash);
  const type = padEnd(clip(shortType(terminal(row.type)), typeWidth), typeWidth);
  const via = [...new Set(row.sources.map((source) => source.via))].join(",");
  const times = row.timesSent > 1 ? ` ×${row.timesSent}` : "";
  const came = padEnd(clip(`${via === "" ? "–" : via}${times}`, 12), 12);
  const first = row.referrers[0] ?? sourcePlace(row, analysis);
  const more = row.referrers.length > 1 ? ` and ${count(row.referrers.length - 1)} more` : "";
  const used = idWidth + typeWidth + 9 + 8 + 12 + 5;
  const referrer =
    clipMiddle(terminal(view.redactor.scrub(first)), Math.max(12, view.width - used - more.length)) + more;
  return `${view.paint.name(id)} ${bytes} ${painted} ${type} ${came} ${referrer}`.trimEnd();
}

/** Nobody refers to it: then where it came from is the telling fact. */
function sourcePlace(row: BlobRow, analysis: Analysis): string {
  const place = row.sources.find((source) => source.place !== null)?.place;
  return place ? `nothing (from ${placeText(place, analysis.inputNames)})` : "nothing";
}

export function shortType(type: string): string {
  return type.slice(type.lastIndexOf(".") + 1);
}
