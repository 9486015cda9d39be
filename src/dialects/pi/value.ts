/** CBOR values on their way to an output: printable trees, and a few words that say what a value is. Content is marked private. */
import { type Printable, privately, type Sensitive, secretly, type Words } from "../../core/printable.js";
import type { CborValue } from "../../decode/cbor.js";
import type { Path, ReplicaValue } from "./delta.js";
import { GrowingText } from "./growing-text.js";
import { isArray, isMap } from "./shape.js";

/** Property names whose values are credentials in any application's service. */
const secretName =
  /(?:^|[a-z0-9_.-])(?:token|api[_-]?key|secret|password|passphrase|authorization|credentials?|cookie)$/i;

export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

export function isSecretPath(path: Path): boolean {
  return path.some((segment) => typeof segment === "string" && isSecretName(segment));
}

/** A structural value: ids, names and numbers stay plain. */
export function plain(value: CborValue): Printable {
  return toPrintable(value, false, false);
}

/** What the application put in: texts are private, values under a credential's name secret. */
export function content(value: CborValue, secret = false): Printable {
  return toPrintable(value, true, secret);
}

function toPrintable(value: CborValue, marked: boolean, secret: boolean): Printable {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return secret ? secretly(value) : marked ? privately(value) : value;
  if (typeof value === "number") return value;
  if (value instanceof Uint8Array) return value;
  if (isArray(value)) return value.map((item) => toPrintable(item, marked, secret));
  const out: Record<string, Printable> = Object.create(null);
  if (isMap(value)) {
    for (const [key, item] of value) out[key] = toPrintable(item, marked, secret || (marked && isSecretName(key)));
  }
  return out;
}

/** JSON-like text of at most about `room` characters, cut in the middle where it is longer. */
export function brief(value: ReplicaValue | undefined, room = 60, secret = false): Words {
  const writer = new BriefWriter(room);
  writer.write(value, secret);
  return writer.words;
}

class BriefWriter {
  readonly words: (string | Sensitive)[] = [];

  constructor(private room: number) {}

  write(value: ReplicaValue | undefined, secret: boolean): void {
    if (value === undefined) this.put("nothing");
    else if (value instanceof GrowingText || typeof value === "string") this.text(value, secret);
    else if (value instanceof Uint8Array) this.put(`${value.length} B`);
    else if (Array.isArray(value)) this.list(value, secret);
    else if (value instanceof Map) this.map(value, secret);
    else this.put(String(value));
  }

  private text(value: string | GrowingText, secret: boolean): void {
    const keep = Math.max(8, this.room);
    const start = typeof value === "string" ? value.slice(0, keep) : value.prefix(keep);
    if (secret) {
      this.words.push(secretly(typeof value === "string" ? value : start));
      this.room -= 8;
      return;
    }
    this.words.push(privately(JSON.stringify(value.length > keep ? `${start}…` : start)));
    this.room -= start.length + 2;
  }

  private list(list: readonly ReplicaValue[], secret: boolean): void {
    this.put("[");
    for (const [i, item] of list.entries()) {
      if (i > 0) this.put(", ");
      if (this.room <= 0) {
        this.put(`… ${list.length - i} more`);
        break;
      }
      this.write(item, secret);
    }
    this.put("]");
  }

  private map(map: ReadonlyMap<string, ReplicaValue>, secret: boolean): void {
    this.put("{");
    let left = map.size;
    for (const [key, item] of map) {
      if (left < map.size) this.put(", ");
      if (this.room <= 0) {
        this.put(`… ${left} more`);
        break;
      }
      left--;
      this.put(`${key.length > 40 ? `${key.slice(0, 40)}…` : key}: `);
      this.write(item, secret || isSecretName(key));
    }
    this.put("}");
  }

  private put(text: string): void {
    this.room -= text.length;
    const last = this.words[this.words.length - 1];
    if (typeof last === "string") this.words[this.words.length - 1] = last + text;
    else this.words.push(text);
  }
}
