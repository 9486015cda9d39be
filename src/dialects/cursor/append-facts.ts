/** The HTTP side of one BidiAppend. What the appends of a request have in common is kept once. */
import { type PackedClass, packedClass, packedPlain } from "../../core/pack.js";
import type { Nanos } from "../../core/time.js";
import type { HexFault } from "./hex-text.js";

/** The same for most appends of a request. */
export interface AppendHead {
  readonly input: number;
  readonly carrier: "hex" | "binary" | "none" | "both";
  readonly hexFault: HexFault | null;
  readonly outerFault: string | null;
  /** The unary body was wrapped in an envelope, by the client or by the recorder. */
  readonly misframed: boolean;
  readonly method: string;
  readonly requestType: string;
  /** `x-request-id`, "" where absent. */
  readonly headerId: string;
  readonly bodyId: string;
}

const headFields = [
  "input",
  "carrier",
  "hexFault",
  "outerFault",
  "misframed",
  "method",
  "requestType",
  "headerId",
  "bodyId",
] as const satisfies readonly (keyof AppendHead)[];

/** `candidate` itself, or an equal one that is kept already. */
export function sharedHead(known: AppendHead[], candidate: AppendHead): AppendHead {
  for (let i = known.length - 1; i >= 0 && i >= known.length - 4; i--) {
    const other = known[i]!;
    if (headFields.every((field) => other[field] === candidate[field])) return other;
  }
  known.push(candidate);
  return candidate;
}

/** What an append has of its own. */
const ownFields = [
  "head",
  "exchange",
  "timeoutMs",
  "status",
  "responseType",
  "responseBytes",
  "answered",
  "responseLost",
];

export class AppendFacts implements AppendHead {
  status: number | null = null;
  responseType = "";
  responseBytes = 0;
  /** End of the response; null where it was not seen. */
  answered: Nanos | null = null;
  responseLost = false;

  constructor(
    private readonly head: AppendHead,
    readonly exchange: number,
    readonly timeoutMs: number | null,
  ) {}

  get input(): number {
    return this.head.input;
  }

  get carrier(): AppendHead["carrier"] {
    return this.head.carrier;
  }

  get hexFault(): HexFault | null {
    return this.head.hexFault;
  }

  get outerFault(): string | null {
    return this.head.outerFault;
  }

  get misframed(): boolean {
    return this.head.misframed;
  }

  get method(): string {
    return this.head.method;
  }

  get requestType(): string {
    return this.head.requestType;
  }

  get headerId(): string {
    return this.head.headerId;
  }

  get bodyId(): string {
    return this.head.bodyId;
  }
}

export const packedHead: PackedClass = packedPlain<AppendHead>(headFields, (next) => ({
  input: next(),
  carrier: next(),
  hexFault: next(),
  outerFault: next(),
  misframed: next(),
  method: next(),
  requestType: next(),
  headerId: next(),
  bodyId: next(),
}));

export const packedFacts: PackedClass = packedClass(AppendFacts, ownFields, (next) => {
  const facts = new AppendFacts(next(), next(), next());
  facts.status = next();
  facts.responseType = next();
  facts.responseBytes = next();
  facts.answered = next();
  facts.responseLost = next();
  return facts;
});
