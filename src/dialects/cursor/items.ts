/**
 * The items of a turn in the smallest form that holds them: a capture has hundreds of thousands of blob operations, acknowledgements and
 * heartbeats, which differ from each other in few fields. What a class does not keep is the same for all of its kind.
 */
import type { Place } from "../../core/place.js";
import type { Words } from "../../core/printable.js";
import type { When } from "../../core/time.js";
import type { Evidence } from "../../model/exchange.js";
import type { WireFault } from "../../model/schema.js";
import type { AppendFacts } from "./append-facts.js";
import {
  type CarriedBlob,
  type DownDetail,
  type DownItem,
  type Lane,
  noBlobs,
  noReferences,
  noWords,
  type ToolEvent,
  type UpDetail,
  type UpItem,
} from "./model.js";
import type { Reference } from "./references.js";

/** A get or set of a blob. */
export class KvDown implements DownItem {
  constructor(
    readonly kind: string,
    readonly first: number,
    readonly bytes: number,
    readonly flags: number,
    readonly when: When,
    readonly place: Place,
    readonly detail: DownDetail,
    readonly faulty: boolean,
  ) {}

  get last(): number {
    return this.first;
  }

  get until(): When {
    return this.when;
  }

  get lastPlace(): Place {
    return this.place;
  }

  get count(): number {
    return 1;
  }

  get chars(): number {
    return 0;
  }

  get tokens(): number {
    return 0;
  }

  get lead(): string {
    return "";
  }

  get fold(): string {
    return "";
  }

  get lane(): Lane {
    return "kv";
  }

  get says(): Words {
    return noWords;
  }

  get nested(): ToolEvent | null {
    return null;
  }

  get references(): readonly Reference[] {
    return noReferences;
  }
}

/** Any other message that stands alone. */
export class SingleDown extends KvDown {
  constructor(
    item: DownItem,
    private readonly ownLane: Lane,
    private readonly ownSays: Words,
    private readonly ownNested: ToolEvent | null,
    private readonly ownReferences: readonly Reference[],
  ) {
    super(item.kind, item.first, item.bytes, item.flags, item.when, item.place, item.detail, item.faulty);
  }

  override get lane(): Lane {
    return this.ownLane;
  }

  override get says(): Words {
    return this.ownSays;
  }

  override get nested(): ToolEvent | null {
    return this.ownNested;
  }

  override get references(): readonly Reference[] {
    return this.ownReferences;
  }
}

/** A run of deltas or heartbeats stays as it is: it grows. */
export function compactDown(item: DownItem): DownItem {
  if (item.fold !== "" || item.chars > 0) return item;
  const { kind, first, bytes, flags, when, place, detail, faulty } = item;
  if (detail.type === "kv") return new KvDown(kind, first, bytes, flags, when, place, detail, faulty);
  return new SingleDown(item, item.lane, item.says, item.nested, item.references);
}

type PlainFields = Pick<
  UpItem,
  | "seqno"
  | "kind"
  | "bytes"
  | "when"
  | "place"
  | "evidence"
  | "lane"
  | "detail"
  | "fold"
  | "digest"
  | "order"
  | "append"
>;

/** A sound message that says nothing but what its detail holds: acknowledgements and heartbeats. */
export class PlainUp implements UpItem {
  seqno: number;
  readonly kind: string;
  readonly bytes: number;
  readonly when: When;
  readonly place: Place;
  readonly evidence: Evidence;
  readonly lane: Lane;
  readonly detail: UpDetail;
  readonly fold: string;
  readonly digest: string;
  readonly order: number;
  readonly append: AppendFacts | null;

  constructor(item: PlainFields) {
    this.seqno = item.seqno;
    this.kind = item.kind;
    this.bytes = item.bytes;
    this.when = item.when;
    this.place = item.place;
    this.evidence = item.evidence;
    this.lane = item.lane;
    this.detail = item.detail;
    this.fold = item.fold;
    this.digest = item.digest;
    this.order = item.order;
    this.append = item.append;
  }

  get encoding(): UpItem["encoding"] {
    if (this.append === null) return "stream";
    return this.append.carrier === "binary" ? "binary" : "hex";
  }

  get seqnoFrom(): number {
    return -1;
  }

  get flags(): number {
    return this.append === null ? 0 : -1;
  }

  get says(): Words {
    return noWords;
  }

  get chars(): number {
    return 0;
  }

  get references(): readonly Reference[] {
    return noReferences;
  }

  get carried(): readonly CarriedBlob[] {
    return noBlobs;
  }

  get faults(): readonly WireFault[] {
    return noFaults;
  }

  get branches(): number {
    return 1;
  }

  get unknownFields(): number {
    return 0;
  }
}

export const noFaults: readonly WireFault[] = Object.freeze([]);

export function compactUp(item: UpItem): UpItem {
  const plain =
    item.says.length === 0 &&
    item.chars === 0 &&
    item.seqnoFrom === -1 &&
    item.flags === (item.append === null ? 0 : -1) &&
    item.references.length === 0 &&
    item.carried.length === 0 &&
    item.faults.length === 0 &&
    item.branches === 1 &&
    item.unknownFields === 0;
  return plain ? new PlainUp(item) : item;
}
