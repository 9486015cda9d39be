/** Rules about a chat store: the blob rules of the wire, on what lies on disk, and that the file is what it is taken for. */
import type { StoreRule } from "../rule.js";

export interface ReachedBlob {
  readonly id: string;
  readonly type: string;
  /** From the blob that refers to it: "turns[3]". */
  readonly path: string;
  readonly depth: number;
  /** null: the store does not hold it. */
  readonly bytes: number | null;
  /** Why it does not decode as its type; null where it does. */
  readonly fault: string | null;
}

export interface ChatStore {
  readonly path: string;
  readonly agentId: string;
  readonly rootId: string | null;
  readonly metaFault: string | null;
  readonly metaRows: number;
  readonly blobs: number;
  readonly bytes: number;
  readonly oddIds: readonly { readonly id: string; readonly bytes: number }[];
  readonly mismatched: readonly { readonly id: string; readonly bytes: number }[];
  /** Depth first from the root; empty without one. */
  readonly reached: readonly ReachedBlob[];
}

const source = "public descriptions of the chat store, not verified; protocols/cursor.md 4";
const noRoot = (store: ChatStore): string | null => (store.rootId === null ? "the store names no root" : null);
const short = (id: string): string => `${id.slice(0, 12)}…`;

function rule(
  data: Pick<StoreRule<ChatStore>, "id" | "severity" | "statement" | "why" | "good" | "bad" | "remedy" | "run"> &
    Partial<StoreRule<ChatStore>>,
): StoreRule<ChatStore> {
  return {
    family: "Chat store",
    class: "check",
    implies: [],
    needs: "A chat store (the store command).",
    source,
    untestable: () => null,
    ...data,
  };
}

export const chatRules: readonly StoreRule<ChatStore>[] = [
  rule({
    id: "cursor/D01",
    severity: "warning",
    statement: 'The row "0" of meta is the hex of a JSON object with agentId and latestRootBlobId.',
    why: "Without the root nothing says which of the blobs are the conversation.",
    good: '{"agentId":"…","latestRootBlobId":"…"} as hex',
    bad: 'no row "0"',
    remedy: "the store may be of another version: compare its tables with docs/architecture.md",
    *run(store) {
      if (store.metaFault !== null) yield { statement: [store.metaFault], subject: "meta" };
    },
  }),
  rule({
    id: "cursor/D02",
    severity: "error",
    statement: "Every blob's id is 64 hex digits and the SHA-256 of its data.",
    why: "A blob under another id is not found, or something else is found in its place.",
    good: "id = SHA-256(data)",
    bad: "data rewritten in place",
    remedy: "restore the file, or let the client write the conversation again",
    *run(store) {
      for (const blob of store.oddIds)
        yield {
          statement: [`a blob of ${blob.bytes} bytes has the id "${blob.id.slice(0, 80)}": no 64 hex digits`],
          subject: `id ${short(blob.id)}`,
        };
      for (const blob of store.mismatched)
        yield {
          statement: [`the ${blob.bytes} bytes under ${blob.id} have another SHA-256`],
          subject: `blob ${blob.id}`,
        };
    },
  }),
  rule({
    id: "cursor/D03",
    severity: "error",
    statement: "Every blob that the root reaches is in the store.",
    why: "One missing blob and the conversation cannot be opened or continued.",
    good: "root, turns, steps: all there",
    bad: "turns[3] names a blob that is not there",
    remedy: "look in a capture of the turn that wrote it: `cursor-wire blobs list CAPTURE`",
    untestable: noRoot,
    *run(store) {
      for (const blob of store.reached)
        if (blob.bytes === null)
          yield {
            statement: [`${blob.path} (${blob.type}) names ${blob.id}, which is not in the store`],
            subject: `blob ${blob.id}`,
          };
    },
  }),
  rule({
    id: "cursor/D04",
    severity: "error",
    statement: "Every blob that the root reaches decodes as the type that its referrer names.",
    why: "The id carries no type: a wrong reference opens something else.",
    good: "turns[] names ConversationTurnStructure blobs",
    bad: "turns[] names a JSON message",
    remedy: null,
    untestable: noRoot,
    *run(store) {
      for (const blob of store.reached)
        if (blob.fault !== null)
          yield {
            statement: [`${blob.path} is referred to as ${blob.type} and is none: ${blob.fault}`],
            subject: `blob ${blob.id}`,
          };
    },
  }),
  rule({
    id: "cursor/D05",
    class: "count",
    severity: "info",
    statement: "Blobs that the root does not reach: older versions of turns are normal.",
    why: "They are what a rollback can go back to, and what makes the file grow.",
    good: "12 of 240",
    bad: "nothing: it is a number",
    remedy: null,
    untestable: noRoot,
    *run(store) {
      const held = store.reached.filter((blob) => blob.bytes !== null && blob.bytes > 0).length;
      if (store.blobs > held)
        yield {
          statement: [`${store.blobs - held} of ${store.blobs} blobs are not reachable from the root`],
          subject: "unreachable",
        };
    },
  }),
];
