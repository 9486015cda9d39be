/**
 * Who refers to which blob, as numbers: a conversation of many turns has millions of references, each blob keeps the first few. A path
 * is put together when it is printed.
 */
import { Int32List } from "../../core/number-list.js";
import { Names } from "./names.js";
import type { PathKey } from "./references.js";

/** Where a reference stands: in a root message, or in a blob that was itself met by a reference. */
export type Origin = { readonly root: string } | { readonly referrer: number };

export class Referrers {
  private readonly parents = new Int32List();
  private readonly bases = new Int32List();
  private readonly keys = new Int32List();
  private readonly nexts = new Int32List();
  private readonly roots = new Names();
  private readonly names = new Names();

  /** Adds one in front of `next` (-1: none) and gives back its number. */
  add(origin: Origin, base: string, key: PathKey, next: number): number {
    this.parents.push("root" in origin ? -1 - this.roots.id(origin.root) : origin.referrer);
    this.bases.push(this.names.id(base));
    // Texts as keys are stored below -1; -1 is no key at all.
    this.keys.push(key === null ? -1 : typeof key === "number" ? key : -2 - this.names.id(key));
    this.nexts.push(next);
    return this.parents.length - 1;
  }

  /** "turns[0].checkpoints[1].turns[0].agent_conversation_turn.steps[2]" */
  path(referrer: number): string {
    const parts: string[] = [];
    let at = referrer;
    while (at >= 0) {
      parts.push(this.part(at));
      at = this.parents.at(at);
    }
    parts.push(this.roots.list[-1 - at]!);
    return parts.reverse().join(".");
  }

  /** Paths from the first added on. */
  paths(last: number): string[] {
    const out: string[] = [];
    for (let at = last; at >= 0; at = this.nexts.at(at)) out.push(this.path(at));
    return out.reverse();
  }

  private part(at: number): string {
    const base = this.names.list[this.bases.at(at)]!;
    const key = this.keys.at(at);
    if (key === -1) return base;
    return key >= 0 ? `${base}[${key}]` : `${base}[${JSON.stringify(this.names.list[-2 - key]!)}]`;
  }
}
