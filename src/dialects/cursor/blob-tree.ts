/** The graph of one checkpoint as a tree; a blob that stands in several places is opened where it comes first. */
import type { BlobNode } from "../../model/conversation.js";
import type { ProtoMessage } from "../../model/schema.js";
import { type BlobGraph, type Edge, isBlobId } from "./blob-graph.js";
import { emptyDigest } from "./contents.js";
import { blobName, blobSays } from "./describe-blob.js";
import { pathText } from "./references.js";
import { stateSays } from "./server-message.js";
import { STATE } from "./types.js";

interface Building {
  readonly node: { -readonly [K in keyof BlobNode]: BlobNode[K] } & { children: BlobNode[] };
  readonly edge: Edge;
}

export function blobTree(graph: BlobGraph, state: ProtoMessage, carried: ReadonlySet<string>): BlobNode {
  const root = {
    label: "checkpoint",
    id: null,
    type: STATE,
    bytes: null,
    state: "inline",
    says: stateSays(state),
    children: [] as BlobNode[],
  };
  const opened = new Set<string>();
  const queue: Building[] = [];
  const grow = (parent: { children: BlobNode[] }, edges: readonly Edge[]) => {
    for (const edge of edges) {
      const building = leaf(graph, edge, carried);
      if (building === undefined) continue;
      parent.children.push(building.node);
      queue.push(building);
    }
  };
  grow(root, graph.edges(STATE, state));
  // Breadth first: a blob is opened as near to the root as it stands.
  for (let at = 0; at < queue.length; at++) {
    const { node, edge } = queue[at]!;
    const children = graph.children(edge.id, edge.target);
    if (children.length === 0) continue;
    if (opened.has(edge.id)) node.says = [...node.says, " (opened elsewhere)"];
    else {
      opened.add(edge.id);
      grow(node, children);
    }
  }
  return root;
}

function leaf(graph: BlobGraph, edge: Edge, carried: ReadonlySet<string>): Building | undefined {
  const { id, target } = edge;
  const label = pathText(edge.base, edge.key);
  const bytes = graph.size(id) ?? null;
  const base = { label, id, type: target, children: [] as BlobNode[] };
  if (!isBlobId(id)) return { edge, node: { ...base, bytes: id.length / 2, state: "inline", says: [] } };
  if (id === emptyDigest) return { edge, node: { ...base, bytes: 0, state: "match", says: ["empty"] } };
  if (bytes === null) {
    if (!edge.sure) return undefined;
    return { edge, node: { ...base, bytes, state: carried.has(id) ? "carried" : "missing", says: [] } };
  }
  const matches = graph.digest(id) === id;
  const says = [blobName(graph, id, target), ...pad(blobSays(graph, id, target))];
  return { edge, node: { ...base, bytes, state: matches ? "match" : "mismatch", says } };
}

function pad(says: ReturnType<typeof blobSays>): ReturnType<typeof blobSays> {
  return says.length === 0 ? says : [" ", ...says];
}
