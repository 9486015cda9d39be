/** What the TLS connections of one run share: everything hangs on their key log. */
import type { KeyLog } from "../../capture/keylog.js";
import { type Bytes, hex } from "../../core/bytes.js";

/** Master secrets by session id and ticket, of connections that could be read. */
export class SessionMemory {
  private readonly masters = new Map<string, Bytes>();

  get(by: "id" | "ticket", name: Bytes): Bytes | undefined {
    return this.masters.get(`${by} ${hex(name)}`);
  }

  set(by: "id" | "ticket", name: Bytes, master: Bytes): void {
    if (name.length > 2048) return;
    const key = `${by} ${hex(name)}`;
    this.masters.delete(key);
    this.masters.set(key, master);
    if (this.masters.size > 8192) this.masters.delete(this.masters.keys().next().value!);
  }
}

/** Somebody who holds ciphertext back, and can be told to let it go. */
export interface Holder {
  letGo(): void;
}

/** Bounds the ciphertext held by all connections together: the one that has waited longest lets go first. */
export class HoldPool {
  private readonly held = new Map<Holder, number>();
  private total = 0;

  add(holder: Holder, bytes: number, limit: number): void {
    this.held.set(holder, (this.held.get(holder) ?? 0) + bytes);
    this.total += bytes;
    while (this.total > limit) {
      const oldest = this.held.keys().next().value;
      if (oldest === undefined) return;
      this.release(oldest);
      oldest.letGo();
    }
  }

  release(holder: Holder): void {
    this.total -= this.held.get(holder) ?? 0;
    this.held.delete(holder);
  }
}

export interface Shared {
  readonly memory: SessionMemory;
  readonly pool: HoldPool;
}

const byKeyLog = new WeakMap<KeyLog, Shared>();

export function sharedBy(keys: KeyLog): Shared {
  let shared = byKeyLog.get(keys);
  if (shared === undefined) {
    shared = { memory: new SessionMemory(), pool: new HoldPool() };
    byKeyLog.set(keys, shared);
  }
  return shared;
}
