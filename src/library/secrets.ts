/** Secrets that the heads of a capture showed, kept beside its analysis so that a later report can hide them. */
import { CursorWireError } from "../core/errors.js";
import type { NeckEvent } from "../model/exchange.js";
import type { Analysis } from "../model/report.js";
import { type RedactLevel, Redactor } from "../report/redact.js";

export function learnSecrets(redactor: Redactor, event: NeckEvent): void {
  if (event.kind === "open") redactor.learnHead(event.exchange.request?.headers ?? [], event.exchange.request?.path);
  else if (event.kind === "head") redactor.learnHead(event.head.headers);
  else if (event.kind === "trailers") redactor.learnHead(event.headers);
}

// Keyed by the list of inputs, which a selection of turns keeps.
const learnt = new WeakMap<Analysis["inputs"], Redactor>();

export function rememberSecrets(analysis: Analysis, redactor: Redactor): void {
  learnt.set(analysis.inputs, redactor);
}

/** Throws CursorWireError `usage.analysis` for an analysis that this library did not make: its secrets are not known. */
export function redactorFor(analyses: readonly Analysis[], level: RedactLevel): Redactor {
  const redactor = new Redactor(level);
  for (const analysis of analyses) {
    const known = learnt.get(analysis.inputs);
    if (known === undefined) {
      throw new CursorWireError("usage.analysis", "only what analyze or frames returned can be printed");
    }
    for (const secret of known.secrets()) redactor.learn(secret);
  }
  return redactor;
}
