/** Every wire invariant of the pi page, in its order. */
import type { Verdict } from "../../../model/check.js";
import type { Turn } from "../../../model/conversation.js";
import type { Connection } from "../connection.js";
import type { TurnDraft } from "../turn-draft.js";
import { attachmentRules } from "./attachment.js";
import { callRules } from "./calls.js";
import { cborRules } from "./cbor.js";
import { envelopeRules } from "./envelope.js";
import { framingRules } from "./framing.js";
import { handshakeRules } from "./handshake.js";
import { requestRules } from "./requests.js";
import { type PiRule, runPiRules } from "./rule.js";
import { stateRules } from "./state.js";
import { subscriptionRules } from "./subscriptions.js";

export const wireRules: readonly PiRule[] = [
  ...framingRules,
  ...cborRules,
  ...envelopeRules,
  ...handshakeRules,
  ...requestRules,
  ...attachmentRules,
  ...subscriptionRules,
  ...stateRules,
  ...callRules,
].sort((a, b) => (a.id < b.id ? -1 : 1));

export function runRules(
  connections: readonly Connection[],
  turnOf: (draft: TurnDraft) => Turn | null,
  wanted: (ruleId: string) => boolean,
): Iterable<Verdict> {
  return runPiRules(wireRules, connections, turnOf, wanted);
}
