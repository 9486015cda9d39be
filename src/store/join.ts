/** A capture and session stores given together: the wire and the store are joined by session id alone. The pi page, section 11. */
import type { Words } from "../core/printable.js";
import type { Conversation } from "../model/conversation.js";
import type { StoreFile, StoreReport, StoreSession } from "../model/store.js";

export interface Joined {
  readonly conversation: Conversation;
  readonly file: StoreFile;
  readonly session: StoreSession;
  /** "session alpha is in alpha.sqlite: 12 entries, 2 branches" */
  readonly says: Words;
}

/** In order of the conversations, then of the files. A session may be in several files. */
export function joinStores(conversations: readonly Conversation[], report: StoreReport): readonly Joined[] {
  const stored = new Map<string, { readonly file: StoreFile; readonly session: StoreSession }[]>();
  for (const file of report.files) {
    for (const session of file.sessions) {
      const rows = stored.get(session.id);
      if (rows === undefined) stored.set(session.id, [{ file, session }]);
      else rows.push({ file, session });
    }
  }
  return conversations.flatMap((conversation) =>
    (conversation.id === null ? [] : (stored.get(conversation.id) ?? [])).map(({ file, session }) => ({
      conversation,
      file,
      session,
      says: [`session ${session.id} is in ${file.path}: ${counted(session)}`],
    })),
  );
}

function counted(session: StoreSession): string {
  const count = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`;
  return [
    count(session.entries, "entry", "entries"),
    count(session.branches, "branch", "branches"),
    count(session.usageRows, "usage row", "usage rows"),
  ].join(", ");
}
