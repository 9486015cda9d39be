/** The request logs of a session by request id; exchanges without any id get one of their own. */
import { flat } from "./fields.js";
import { RequestLog } from "./request-log.js";
import { Box, type Shelf } from "./shelf.js";

export class Logs {
  private readonly byId = new Map<string, RequestLog>();
  private readonly nameless: RequestLog[] = [];
  private arrivals = 0;

  constructor(private readonly shelf: Shelf) {}

  /** Ordinal of arrival: the order of a capture without times. */
  arrive(): number {
    return this.arrivals++;
  }

  of(id: string): RequestLog {
    if (id === "") {
      const log = new RequestLog(null, this.arrivals, new Box(this.shelf));
      this.nameless.push(log);
      return log;
    }
    let log = this.byId.get(id);
    if (log === undefined) {
      const own = flat(id);
      log = new RequestLog(own, this.arrivals, new Box(this.shelf));
      this.byId.set(own, log);
    }
    return log;
  }

  find(id: string): RequestLog | undefined {
    return this.byId.get(id);
  }

  /** In order of first arrival. */
  list(): RequestLog[] {
    return [...this.byId.values(), ...this.nameless].sort((a, b) => a.order - b.order);
  }
}
