/**
 * Cursor's chat store as public descriptions have it (not verified against the product): one SQLite file per session, table
 * `blobs(id TEXT, data BLOB)` with id = 64 hex digits of the SHA-256, table `meta(key TEXT, value TEXT)` whose row "0" is the hex of a
 * JSON object with `agentId` and `latestRootBlobId`, the id of a ConversationStateStructure. Recognised by its tables; whatever does
 * not fit is said, nothing is guessed.
 */
import { createHash } from "node:crypto";
import { type Bytes, utf8 } from "../core/bytes.js";
import { defaultLimits } from "../core/limits.js";
import { loadSchemas } from "../decode/schema.js";
import type { Rule } from "../model/check.js";
import type { StoreSession, StoreTreeLine } from "../model/store.js";
import { type ChatStore, chatRules, type ReachedBlob } from "./cursor/checks.js";
import { walkChat } from "./cursor/walk.js";
import type { StoreKind } from "./kind.js";
import type { Sqlite, SqlValue } from "./sqlite.js";

export const cursorStore: StoreKind = {
  name: "cursor-chat",
  rules: chatRules satisfies readonly Rule[],
  matches: (tables) => tables.has("blobs") && tables.has("meta"),
  sessionIds: (db) => {
    const id = readMeta(db).agentId;
    return id === null ? [] : [id];
  },
  read(db, context) {
    const store = readChat(db, context.path);
    context.judge.judge(chatRules, store, store.agentId);
    return [sessionOf(store)];
  },
};

/** Calls `use` for every blob of a chat store; false where the database is none. */
export function eachChatBlob(db: Sqlite, use: (id: string, data: Bytes) => void): boolean {
  const tables = new Set(db.objects.filter(({ type }) => type === "table").map(({ name }) => name));
  if (!cursorStore.matches(tables)) return false;
  db.each("SELECT id, data FROM blobs", [], (row) => {
    const id = textOf(row.id);
    if (id !== null) use(id.toLowerCase(), bytesOf(row.data));
  });
  return true;
}

interface Meta {
  readonly agentId: string | null;
  readonly rootId: string | null;
  /** What of the row "0" did not fit; null where all did. */
  readonly fault: string | null;
  readonly rows: number;
}

function readMeta(db: Sqlite): Meta {
  const rows = db.all("SELECT key, value FROM meta");
  const row = rows.find(({ key }) => String(key) === "0");
  if (row === undefined)
    return { agentId: null, rootId: null, fault: 'the table meta has no row with key "0"', rows: rows.length };
  const value = parseValue(row.value ?? null);
  if (value === null)
    return {
      agentId: null,
      rootId: null,
      fault: 'the row "0" of meta holds neither hex of JSON nor JSON',
      rows: rows.length,
    };
  const agentId = typeof value.agentId === "string" ? value.agentId : null;
  const rootId = blobId(value.latestRootBlobId);
  const missing = [agentId === null ? "agentId" : "", rootId === null ? "latestRootBlobId" : ""].filter(
    (name) => name !== "",
  );
  return {
    agentId,
    rootId,
    fault: missing.length === 0 ? null : `the row "0" of meta names no ${missing.join(" and no ")}`,
    rows: rows.length,
  };
}

function parseValue(value: SqlValue): { readonly [key: string]: unknown } | null {
  const text = value instanceof Uint8Array ? utf8(value) : textOf(value);
  if (text === null) return null;
  const json = /^(?:[0-9a-fA-F]{2})+$/.test(text) ? Buffer.from(text, "hex").toString("utf8") : text;
  try {
    const parsed: unknown = JSON.parse(json);
    return typeof parsed === "object" && parsed !== null ? (parsed as { readonly [key: string]: unknown }) : null;
  } catch {
    return null;
  }
}

/** 64 hex digits, or the base64 of 32 bytes. */
function blobId(value: unknown): string | null {
  if (typeof value !== "string") return null;
  if (/^[0-9a-fA-F]{64}$/.test(value)) return value.toLowerCase();
  const bytes = Buffer.from(value, "base64");
  return bytes.length === 32 ? bytes.toString("hex") : null;
}

const textOf = (value: SqlValue | undefined): string | null =>
  typeof value === "string" ? value : value instanceof Uint8Array ? utf8(value) : null;
const bytesOf = (value: SqlValue | undefined): Bytes =>
  value instanceof Uint8Array
    ? value
    : typeof value === "string"
      ? new Uint8Array(Buffer.from(value, "utf8"))
      : new Uint8Array(0);

function readChat(db: Sqlite, path: string): ChatStore {
  const meta = readMeta(db);
  const odd: ChatStore["oddIds"][number][] = [];
  const mismatched: ChatStore["mismatched"][number][] = [];
  let blobs = 0;
  let bytes = 0;
  eachChatBlob(db, (id, data) => {
    blobs++;
    bytes += data.length;
    if (!/^[0-9a-f]{64}$/.test(id)) odd.push({ id, bytes: data.length });
    else if (createHash("sha256").update(data).digest("hex") !== id) mismatched.push({ id, bytes: data.length });
  });
  const find = (id: string): Bytes | undefined => {
    const row = db.all("SELECT data FROM blobs WHERE lower(id) = ? LIMIT 1", [id])[0];
    return row === undefined ? undefined : bytesOf(row.data);
  };
  const schemas = loadSchemas({ limits: defaultLimits });
  const reached = meta.rootId === null ? [] : walkChat(meta.rootId, find, schemas);
  return {
    path,
    agentId: meta.agentId ?? "unknown",
    rootId: meta.rootId,
    metaFault: meta.fault,
    metaRows: meta.rows,
    blobs,
    bytes,
    oddIds: odd,
    mismatched,
    reached,
  };
}

function sessionOf(store: ChatStore): StoreSession {
  const supplied = store.reached.filter((blob) => blob.bytes !== null);
  return {
    id: store.agentId,
    entries: store.blobs,
    branches: 0,
    usageRows: 0,
    scalars: store.metaRows,
    lists: 0,
    facts: [
      [`${store.blobs} blobs, ${store.bytes} bytes`],
      [
        store.rootId === null
          ? "no root"
          : `root ${store.rootId.slice(0, 12)}…, ${supplied.length} blobs reachable, ${store.reached.length - supplied.length} missing`,
      ],
    ],
    tables: [],
    tree: treeOf(store.reached),
    more: {
      root: store.rootId,
      bytes: store.bytes,
      reachable: supplied.length,
      missing: store.reached.filter((blob) => blob.bytes === null).map((blob) => blob.id),
    },
  };
}

/** Lines drawn at the most: a long conversation is shown by its first ones. */
const treeLines = 2000;

function treeOf(reached: readonly ReachedBlob[]): readonly StoreTreeLine[] {
  return reached.slice(0, treeLines).map((blob) => ({
    id: blob.id,
    draw: "  ".repeat(Math.min(blob.depth, 20)),
    says: [`${blob.path} ${blob.type}: ${blob.bytes === null ? "missing" : `${blob.bytes} B`}`],
  }));
}
