/** The rows of `flows`, one per exchange, in columns: a capture has several per turn, and a row of objects takes ten times the room. */
import { Place } from "../core/place.js";
import { exactly, type Nanos, unknownWhen, type When } from "../core/time.js";
import type { RequestHead } from "../model/exchange.js";
import type { BodySummary, ExchangeRow } from "../model/report.js";

/** What most rows have in common. */
type Common = Pick<ExchangeRow, "kind" | "request" | "status" | "dialect" | "looks" | "end"> & {
  readonly input: number;
};

/** Numbers of one row, in this order. */
const columns = ["common", "id", "flow", "messages", "up", "down", "first", "last"] as const;
const width = columns.length;

/** Times that eight bytes hold: until 2262. */
const fits = (at: Nanos): boolean => BigInt.asIntN(64, at) === at;

export class ExchangeRows implements Iterable<ExchangeRow> {
  private numbers = new Float64Array(64 * width);
  private times = new BigInt64Array(64 * 2);
  /** Row by row what does not fit into the columns: odd times and hashes. */
  private readonly odd = new Map<number, When>();
  private readonly hashes = new Map<number, { readonly up: string | null; readonly down: string | null }>();
  private readonly commons: Common[] = [];
  private readonly commonIds = new Map<string, number>();
  private readonly heads = new Map<RequestHead | null, number>();
  private order: Int32Array | null = null;
  /** Exchange ids that a dialect gave back at the end. */
  private givenBack: ReadonlySet<number> = new Set();
  length = 0;

  push(row: ExchangeRow): void {
    const n = this.length++;
    this.order = null;
    this.grow();
    const { id, flow, messages, up, down, opened, place } = row;
    this.numbers.set(
      [this.commonOf(row), id, flow, messages, up.bytes, down.bytes, place.first, place.last],
      n * width,
    );
    if (fits(opened.earliest) && fits(opened.latest)) this.times.set([opened.earliest, opened.latest], n * 2);
    else this.odd.set(n, opened);
    if (up.sha256 !== null || down.sha256 !== null) this.hashes.set(n, { up: up.sha256, down: down.sha256 });
  }

  /** Those exchanges are nobody's after all. */
  giveBack(ids: ReadonlySet<number>): void {
    this.givenBack = ids;
  }

  /** By exchange id; each row is made when it is asked for. */
  *[Symbol.iterator](): Iterator<ExchangeRow> {
    this.order ??= this.sorted();
    for (const n of this.order) yield this.row(n);
  }

  private sorted(): Int32Array {
    const id = (n: number) => this.numbers[n * width + 1]!;
    return Int32Array.from({ length: this.length }, (_, n) => n).sort((a, b) => id(a) - id(b));
  }

  private row(n: number): ExchangeRow {
    const [common, id, flow, messages, up, down, first, last] = this.numbers.subarray(n * width, (n + 1) * width);
    const { input, dialect, ...rest } = this.commons[common!]!;
    const hashes = this.hashes.get(n);
    return {
      id: id!,
      flow: flow!,
      ...rest,
      dialect: this.givenBack.has(id!) ? null : dialect,
      up: summary(up!, hashes?.up ?? null),
      down: summary(down!, hashes?.down ?? null),
      messages: messages!,
      opened: this.opened(n),
      place: new Place(input, first!, last!),
    };
  }

  private opened(n: number): When {
    const odd = this.odd.get(n);
    if (odd !== undefined) return odd;
    const [earliest, latest] = [this.times[n * 2]!, this.times[n * 2 + 1]!];
    if (earliest === 0n && latest === 0n) return unknownWhen;
    return earliest === latest ? exactly(earliest) : { earliest, latest };
  }

  private commonOf(row: ExchangeRow): number {
    const { kind, request, status, dialect, looks, end, place } = row;
    // Heads that are equal are one object: see the route.
    let head = this.heads.get(request);
    if (head === undefined) {
      head = this.heads.size;
      this.heads.set(request, head);
    }
    const key = [kind, head, status, dialect, looks, end, place.input].join(" ");
    let common = this.commonIds.get(key);
    if (common === undefined) {
      common = this.commons.push({ kind, request, status, dialect, looks, end, input: place.input }) - 1;
      this.commonIds.set(key, common);
    }
    return common;
  }

  private grow(): void {
    if (this.length * width <= this.numbers.length) return;
    const numbers = new Float64Array(this.numbers.length * 2);
    numbers.set(this.numbers);
    this.numbers = numbers;
    const times = new BigInt64Array(this.times.length * 2);
    times.set(this.times);
    this.times = times;
  }
}

function summary(bytes: number, sha256: string | null): BodySummary {
  return { bytes, sha256 };
}
