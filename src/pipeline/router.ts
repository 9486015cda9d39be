/** Neck events in; each exchange goes to the dialect that claims it. Collects the rows of `flows` on the way. */
import type { Note } from "../core/diagnostic.js";
import type { Limits } from "../core/limits.js";
import { isKnown, type Nanos, unknownWhen, type When } from "../core/time.js";
import type { Exchange, FlowSummary, NeckEvent, NeckSink } from "../model/exchange.js";
import type { StreamMessage } from "../model/message.js";
import { ExchangeRows } from "./exchange-rows.js";
import { type Claim, Route } from "./route.js";

export interface RouterContext {
  readonly limits: Limits;
  readonly note: Note;
  /** Faults in the framing of exchanges that nobody claims are not worth a warning each. */
  readonly noteUnclaimed: Note;
  readonly wantHashes: boolean;
  readonly candidates: readonly Claim[];
  /** The dialect the user forced for an exchange that no score decided, or null. */
  forced(exchange: Exchange, sawFrames: boolean): Claim | null;
  message(message: StreamMessage, unclaimed: { readonly looks: string | null } | null): void;
}

export class Router {
  readonly flows: FlowSummary[] = [];
  readonly rows = new ExchangeRows();
  private readonly routes = new Map<number, Route>();
  private earliest: Nanos | undefined;
  private latest: Nanos | undefined;
  flowCount = 0;

  constructor(private readonly context: RouterContext) {}

  readonly sink: NeckSink = (event) => this.push(event);

  /** First and last time any event carried. */
  span(): { start: When; end: When } {
    const point = (at: Nanos | undefined): When => (at === undefined ? unknownWhen : { earliest: at, latest: at });
    return { start: point(this.earliest), end: point(this.latest) };
  }

  finish(): void {
    for (const [id, route] of this.routes) this.drop(id, route);
    this.flows.sort((a, b) => a.flow.id - b.flow.id);
  }

  private push(event: NeckEvent): void {
    switch (event.kind) {
      case "flow":
        this.flowCount++;
        return;
      case "flow-end":
        this.see(event.summary.start);
        this.see(event.summary.end);
        this.flows.push(event.summary);
        return;
      case "open":
        this.see(event.exchange.opened);
        this.routes.set(event.exchange.id, new Route(event.exchange, this.context));
        return;
      default: {
        this.see(event.mark.when);
        const route = this.routes.get(event.exchange.id);
        if (route?.push(event)) this.drop(event.exchange.id, route);
      }
    }
  }

  private drop(id: number, route: Route): void {
    route.close();
    this.rows.push(route.row());
    this.routes.delete(id);
  }

  private see(when: When): void {
    if (!isKnown(when)) return;
    if (this.earliest === undefined || when.earliest < this.earliest) this.earliest = when.earliest;
    if (this.latest === undefined || when.latest > this.latest) this.latest = when.latest;
  }
}
