/** The formats of `blobs list` and `blobs tree`. */
import type { Report } from "../report.js";
import { blobListJson, blobListText } from "./list.js";
import { blobTreeJson, blobTreeMermaid, blobTreeText } from "./tree.js";

export const blobListReports = [blobListText, blobListJson] as const satisfies readonly Report[];
export const blobTreeReports = [blobTreeText, blobTreeJson, blobTreeMermaid] as const satisfies readonly Report[];
