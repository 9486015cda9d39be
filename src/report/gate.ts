/** What the findings reports know of `check`'s verdict. */
import type { Finding } from "../model/check.js";

export interface Gate {
  readonly failed: boolean;
  readonly why: string;
  /** Not covered by a baseline; the reports list these. */
  readonly fresh: readonly Finding[];
  readonly known: readonly Finding[];
  /** Fingerprints of the baseline that nothing matched. */
  readonly gone: readonly string[];
  readonly failing: readonly Finding[];
}
