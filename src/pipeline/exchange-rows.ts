/** The rows of `flows`, one per exchange, in columns: a capture has several per turn, and a row of objects takes ten times the room. */
import { BigInt64List, Float64List } from "../core/number-list.js";
import { Place } from "../core/place.js";
import { exactly, type Nanos, unknownWhen, type When } from "../core/time.js";
import type { RequestHead } from "../model/exchange.js";
import type { ExchangeFacts, ExchangeRow } from "../model/report.js";

type Shared = ExchangeFacts & { readonly input: number };

/** Numbers of a row: which facts it shares, id, flow, messages, bytes up and down, first and last packet. */
const width = 8;

interface Hashes {
  readonly up: string | null;
  readonly down: string | null;
}

/** Times that eight bytes hold: until 2262. */
const fits = (at: Nanos): boolean => BigInt.asIntN(64, at) === at;

export class ExchangeRows implements Iterable<ExchangeRow> {
  private readonly numbers = new Float64List();
  private readonly times = new BigInt64List();
  /** Row by row what does not fit into the columns: odd times, and hashes where they were asked for. */
  private readonly odd = new Map<number, When>();
  private readonly hashes = new Map<number, Hashes>();
  private readonly shared: Shared[] = [];
  private readonly sharedIds = new Map<string, number>();
  private readonly heads = new Map<RequestHead | null, number>();
  private order: Int32Array | null = null;

  get length(): number {
    return this.numbers.length / width;
  }

  push(row: ExchangeRow): void {
    const n = this.length;
    this.order = null;
    const { id, flow, messages, up, down, opened, place } = row;
    const facts = this.share(row, place.input);
    for (const number of [facts, id, flow, messages, up.bytes, down.bytes, place.first, place.last])
      this.numbers.push(number);
    const isFit = fits(opened.earliest) && fits(opened.latest);
    this.times.push(isFit ? opened.earliest : 0n);
    this.times.push(isFit ? opened.latest : 0n);
    if (!isFit) this.odd.set(n, opened);
    if (up.sha256 !== null || down.sha256 !== null) this.hashes.set(n, { up: up.sha256, down: down.sha256 });
  }

  /** Those exchanges are nobody's after all. */
  giveBack(ids: ReadonlySet<number>): void {
    if (ids.size === 0) return;
    for (let at = 0; at < this.length * width; at += width) {
      if (!ids.has(this.numbers.at(at + 1))) continue;
      const facts = this.shared[this.numbers.at(at)]!;
      this.numbers.set(at, this.share({ ...facts, dialect: null }, facts.input));
    }
  }

  /** By exchange id; each row is made when it is asked for. */
  [Symbol.iterator](): Iterator<ExchangeRow> {
    return this.each(() => true);
  }

  /** Rows whose facts `which` takes; it is asked once for all rows that share them, and never for facts that no row has any more. */
  *each(which: (facts: ExchangeFacts) => boolean): Generator<ExchangeRow> {
    this.order ??= this.sorted();
    const taken: (boolean | undefined)[] = [];
    for (const n of this.order) {
      const facts = this.numbers.at(n * width);
      taken[facts] ??= which(this.shared[facts]!);
      if (taken[facts]) yield this.row(n);
    }
  }

  /** How many exchanges each dialect claimed; null: those that nobody did. */
  claimed(): ReadonlyMap<string | null, number> {
    const counts = new Map<string | null, number>();
    for (let at = 0; at < this.length * width; at += width) {
      const { dialect } = this.shared[this.numbers.at(at)]!;
      counts.set(dialect, (counts.get(dialect) ?? 0) + 1);
    }
    return counts;
  }

  private sorted(): Int32Array {
    const id = (n: number) => this.numbers.at(n * width + 1);
    return Int32Array.from({ length: this.length }, (_, n) => n).sort((a, b) => id(a) - id(b));
  }

  private row(n: number): ExchangeRow {
    const { numbers } = this;
    const at = n * width;
    const { input, kind, request, status, dialect, looks, end } = this.shared[numbers.at(at)]!;
    const hashes = this.hashes.get(n);
    return {
      id: numbers.at(at + 1),
      flow: numbers.at(at + 2),
      kind,
      request,
      status,
      dialect,
      looks,
      up: { bytes: numbers.at(at + 4), sha256: hashes?.up ?? null },
      down: { bytes: numbers.at(at + 5), sha256: hashes?.down ?? null },
      messages: numbers.at(at + 3),
      end,
      opened: this.opened(n),
      place: new Place(input, numbers.at(at + 6), numbers.at(at + 7)),
    };
  }

  private opened(n: number): When {
    const odd = this.odd.get(n);
    if (odd !== undefined) return odd;
    const [earliest, latest] = [this.times.at(n * 2), this.times.at(n * 2 + 1)];
    if (earliest === 0n && latest === 0n) return unknownWhen;
    return earliest === latest ? exactly(earliest) : { earliest, latest };
  }

  private share({ kind, request, status, dialect, looks, end }: ExchangeFacts, input: number): number {
    // Heads that are equal are one object: see the route.
    let head = this.heads.get(request);
    if (head === undefined) {
      head = this.heads.size;
      this.heads.set(request, head);
    }
    const key = `${kind} ${head} ${status} ${dialect} ${looks} ${end} ${input}`;
    let id = this.sharedIds.get(key);
    if (id === undefined) {
      id = this.shared.push({ kind, request, status, dialect, looks, end, input }) - 1;
      this.sharedIds.set(key, id);
    }
    return id;
  }
}
