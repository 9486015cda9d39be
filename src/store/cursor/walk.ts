/** From the root state down: every blob that a chat store's root reaches, whether the store holds it, and whether it decodes. */
import { type Bytes, hex } from "../../core/bytes.js";
import { pathText, refers, walkReferences } from "../../dialects/cursor/references.js";
import { JSON_MESSAGE, STATE } from "../../dialects/cursor/types.js";
import type { Schemas } from "../../model/schema.js";
import type { ReachedBlob } from "./checks.js";

const emptyId = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

interface Waiting {
  readonly id: string;
  readonly type: string;
  readonly path: string;
  readonly depth: number;
}

/** Depth first, so that the list reads as a tree; each blob once. `find` gives a blob's bytes, undefined where the store lacks it. */
export function walkChat(
  rootId: string,
  find: (id: string) => Bytes | undefined,
  schemas: Schemas,
): readonly ReachedBlob[] {
  const out: ReachedBlob[] = [];
  const seen = new Set<string>();
  const stack: Waiting[] = [{ id: rootId, type: STATE, path: "root", depth: 0 }];
  while (stack.length > 0) {
    const next = stack.pop()!;
    if (seen.has(next.id)) continue;
    seen.add(next.id);
    const data = next.id === emptyId ? new Uint8Array(0) : find(next.id);
    const { fault, children } = data === undefined ? { fault: null, children: [] } : open(next, data, schemas);
    out.push({ ...next, bytes: data?.length ?? null, fault });
    for (const child of children.reverse()) stack.push(child);
  }
  return out;
}

function open(blob: Waiting, data: Bytes, schemas: Schemas): { fault: string | null; children: Waiting[] } {
  const children: Waiting[] = [];
  if (blob.type === JSON_MESSAGE)
    return { fault: data[0] === 0x7b && data.at(-1) === 0x7d ? null : "is no JSON object", children };
  if (!schemas.has(blob.type)) return { fault: null, children };
  const decoded = schemas.decode(blob.type, data);
  const broken = decoded.faults.find(({ what }) => what !== "bad-utf8");
  if (broken !== undefined) return { fault: `${broken.what} at byte ${broken.offset}`, children };
  if (refers(blob.type)) {
    walkReferences(blob.type, decoded.value, {
      reference: (base, key, id, target, sure) => {
        if (sure && id.length === 32)
          children.push({ id: hex(id), type: target, path: pathText(base, key), depth: blob.depth + 1 });
      },
    });
  }
  return { fault: null, children };
}
