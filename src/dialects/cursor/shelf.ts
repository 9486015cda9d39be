/**
 * Where the items of requests lie that nobody looks at now: the last ones in memory, all others packed in the blob store, so that memory
 * grows with the number of requests and not with that of their messages.
 */
import { Packer, packedClass } from "../../core/pack.js";
import { Sensitive } from "../../core/printable.js";
import type { BlobStore } from "../../model/dialect.js";
import { packedFacts, packedHead } from "./append-facts.js";
import { packedItems } from "./packed-items.js";

/** Of those that do not stay: the rules of a turn look at its neighbours, and the views of eight turns are kept. */
const boxesKept = 24;
const itemsKept = 8192;
/** About what one item takes in memory, with its places and times. */
const bytesPerItem = 512;
const bytesPerBox = 64 * 1024;

/** One list of a box. */
export class BoxList<T> {
  constructor(
    private readonly box: Box,
    private readonly number: number,
  ) {}

  /** The same array as long as it stays in memory. It may be added to between the box's `enter` and `leave` only. */
  get items(): T[] {
    return this.box.list(this.number);
  }
}

/** The lists of items of one request. */
export class Box {
  private lists: unknown[][] | null = [];
  /** Made of the lists, and gone with them. */
  private derived: Map<object, unknown> | null = null;
  private handle = -1;
  /** Open calls that may still add to it. */
  private users = 0;
  private stays = false;
  /** Items as the shelf counts them. */
  counted = 0;
  /** It came while there was room, and stays. */
  isResident = false;

  constructor(private readonly shelf: Shelf) {}

  add<T>(): BoxList<T> {
    return new BoxList(this, this.open().push([]) - 1);
  }

  list<T>(number: number): T[] {
    const lists = this.open();
    if (this.users === 0) this.shelf.touch(this);
    return lists[number] as T[];
  }

  /** Made once while the lists stay in memory. */
  derive<T>(key: object, make: () => T): T {
    this.open();
    if (this.users === 0) this.shelf.touch(this);
    this.derived ??= new Map();
    let value = this.derived.get(key) as T | undefined;
    if (value === undefined) {
      value = make();
      this.derived.set(key, value);
    }
    return value;
  }

  enter(): void {
    this.open();
    // What is packed is not what it will be.
    this.handle = -1;
    if (this.users++ === 0) this.shelf.remove(this);
  }

  leave(): void {
    if (this.users > 0 && --this.users === 0) this.shelf.rest(this);
  }

  /** Its items were changed after they were read: they stay as they are. */
  keep(): void {
    this.stays = true;
    this.shelf.remove(this);
  }

  get isKept(): boolean {
    return this.stays;
  }

  get size(): number {
    return this.lists === null ? 0 : this.lists.reduce((sum, list) => sum + list.length, 0);
  }

  /** Packs the lists; false: they cannot be. */
  close(packer: Packer, store: BlobStore): boolean {
    if (this.handle < 0) {
      const bytes = packer.pack(this.lists);
      if (bytes === undefined) return false;
      this.handle = store.put(bytes);
    }
    this.lists = null;
    this.derived = null;
    return true;
  }

  private open(): unknown[][] {
    this.lists ??= this.shelf.unpack(this.handle);
    return this.lists;
  }
}

const sensitive = packedClass(Sensitive, ["sensitivity", "value"], (next) => new Sensitive(next(), next()));

export class Shelf {
  private readonly packer = new Packer([sensitive, packedHead, packedFacts, ...packedItems]);
  /** In memory and in no use, longest untouched first: without the residents. */
  private readonly recent = new Set<Box>();
  private recentItems = 0;
  private residentItems = 0;
  private last: Box | null = null;
  private readonly boxesKept: number;

  /** `bytes`: about what may stay in memory; 0 keeps hardly more than what is looked at, Infinity packs nothing. */
  constructor(
    private readonly store: BlobStore,
    private readonly bytes: number,
  ) {
    this.boxesKept = Math.min(boxesKept, 2 + Math.floor(bytes / bytesPerBox));
  }

  /** All boxes are looked at in turn, several times: to keep the first ones saves more than to keep the last ones. */
  rest(box: Box): void {
    const items = box.size;
    if ((this.residentItems + items) * bytesPerItem <= this.bytes) {
      box.isResident = true;
      box.counted = items;
      this.residentItems += items;
    } else this.touch(box);
  }

  touch(box: Box): void {
    if (box.isResident || box === this.last || box.isKept) return;
    this.last = box;
    if (this.recent.delete(box)) this.recentItems -= box.counted;
    box.counted = box.size;
    this.recentItems += box.counted;
    this.recent.add(box);
    for (const oldest of this.recent) {
      if ((this.recent.size <= this.boxesKept && this.recentItems <= itemsKept) || oldest === box) break;
      this.pack(oldest);
    }
  }

  remove(box: Box): void {
    if (this.last === box) this.last = null;
    if (box.isResident) this.residentItems -= box.counted;
    box.isResident = false;
    if (this.recent.delete(box)) this.recentItems -= box.counted;
  }

  unpack(handle: number): unknown[][] {
    const lists = this.packer.unpack(this.store.get(handle)) as unknown[][];
    // An empty list comes back as one that all empty lists share.
    return lists.map((list) => (list.length === 0 ? [] : list));
  }

  private pack(box: Box): void {
    this.remove(box);
    if (!box.close(this.packer, this.store)) box.keep();
  }
}
