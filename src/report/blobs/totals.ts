/** One sentence about the blob ledger, for the reports that do not list it. */
import type { BlobLedger } from "../../model/conversation.js";
import { byteCount, count, many } from "../numbers.js";

export function blobTotals(ledger: BlobLedger): string {
  const { rows } = ledger;
  const totals = ledger.totals();
  const supplied = rows.filter((row) => row.bytes !== null);
  const matched = supplied.filter((row) => row.hash === "match").length;
  const wrong = supplied.filter((row) => row.hash === "mismatch").length;
  const parts = [
    many(rows.length, "blob"),
    matched === supplied.length
      ? `all ${count(matched)} seen match their id`
      : `${count(matched)} of ${count(supplied.length)} seen match their id`,
    wrong > 0 ? `${count(wrong)} do NOT match` : "",
    supplied.length < rows.length ? `${count(rows.length - supplied.length)} referenced and never seen` : "",
    `${byteCount(totals.sentBytes)} sent`,
    totals.sentAgainBytes > 0 ? `${byteCount(totals.sentAgainBytes)} of them again` : "",
    totals.carriedBytes > 0 ? `${byteCount(totals.carriedBytes)} carried by reference only` : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
