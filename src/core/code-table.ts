/** The shape of a row in the diagnostic tables under codes/. */

export type Severity = "info" | "warning" | "error";

export interface CodeRow {
  readonly severity: Severity;
  /** One sentence for people; `{name}` stands for a value of the diagnostic's detail. */
  readonly text: string;
  /** What the user can do about it. */
  readonly remedy?: string;
}

export type CodeTable = Readonly<Record<string, CodeRow>>;
