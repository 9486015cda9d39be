/** The tables HPACK refers to. RFC 7541 2.3 and appendix A. */
import type { Header } from "../../model/exchange.js";

const staticText = `:authority|
:method|GET
:method|POST
:path|/
:path|/index.html
:scheme|http
:scheme|https
:status|200
:status|204
:status|206
:status|304
:status|400
:status|404
:status|500
accept-charset|
accept-encoding|gzip, deflate
accept-language|
accept-ranges|
accept|
access-control-allow-origin|
age|
allow|
authorization|
cache-control|
content-disposition|
content-encoding|
content-language|
content-length|
content-location|
content-range|
content-type|
cookie|
date|
etag|
expect|
expires|
from|
host|
if-match|
if-modified-since|
if-none-match|
if-range|
if-unmodified-since|
last-modified|
link|
location|
max-forwards|
proxy-authenticate|
proxy-authorization|
range|
referer|
refresh|
retry-after|
server|
set-cookie|
strict-transport-security|
transfer-encoding|
user-agent|
vary|
via|
www-authenticate|`;

/** Index 1 is the first row. */
const staticRows: readonly Header[] = staticText.split("\n").map((row) => {
  const at = row.indexOf("|");
  return Object.freeze({ name: row.slice(0, at), value: row.slice(at + 1) });
});

export const staticCount = staticRows.length;

/** What an entry costs on top of its name and value. RFC 7541 4.1. */
const entryOverhead = 32;
/** Entries kept while the true size of the other side's table is not known: browsers ask for this much. */
const sizeWhileUnknown = 65_536;
const defaultSize = 4096;

/**
 * The decoder's table. It may hold less than the encoder's: after a late start or a loss the older entries are unknown. Then entries
 * are kept longer rather than dropped, since the encoder never refers to what it dropped.
 */
export class HpackTable {
  private rows: Header[] = [];
  private sizes: number[] = [];
  /** Of the oldest entry in `rows`. */
  private oldest = 0;
  private bytes = 0;
  private limit = defaultSize;
  private limitKnown = true;
  /** Entries are in it whose size is not known. */
  private inexact = false;
  /** It holds all that the encoder's table holds. */
  complete = true;

  /** `keepBytes`: kept at the most, whatever the encoder says. */
  constructor(private readonly keepBytes: number) {}

  get count(): number {
    return this.rows.length - this.oldest;
  }

  /** undefined: not in the table. */
  get(index: number): Header | undefined {
    if (index <= staticCount) return staticRows[index - 1];
    const place = this.rows.length - (index - staticCount);
    return place < this.oldest ? undefined : this.rows[place];
  }

  /** `size`: bytes of name and value, Huffman undone; not `exact` where the name is unknown. */
  add(header: Header, size: number, exact: boolean): void {
    if (!exact) this.inexact = true;
    const cost = size + entryOverhead;
    this.rows.push(header);
    this.sizes.push(cost);
    this.bytes += cost;
    this.evict();
  }

  /** A size update from the encoder. */
  resize(limit: number): void {
    this.limit = limit;
    this.limitKnown = true;
    this.evict();
    if (limit > 0) return;
    this.complete = true;
    this.inexact = false;
  }

  /** Nothing about the encoder's table is certain from here on. */
  lose(): void {
    this.rows = [];
    this.sizes = [];
    this.oldest = 0;
    this.bytes = 0;
    this.complete = false;
    this.limitKnown = false;
    this.inexact = false;
  }

  private evict(): void {
    const certain = this.limit === 0 || (this.limitKnown && !this.inexact);
    const wanted = certain ? this.limit : Math.max(this.limit, sizeWhileUnknown);
    const allowed = Math.min(wanted, this.keepBytes);
    if (this.bytes <= allowed) return;
    while (this.bytes > allowed && this.count > 0) this.bytes -= this.sizes[this.oldest++]!;
    // What was dropped here the encoder has dropped too, if all sizes are known: then nothing older exists.
    this.complete = certain && wanted <= this.keepBytes;
    if (this.oldest > 64 && this.oldest * 2 > this.rows.length) {
      this.rows = this.rows.slice(this.oldest);
      this.sizes = this.sizes.slice(this.oldest);
      this.oldest = 0;
    }
  }
}
