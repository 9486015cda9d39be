/**
 * Where something is in the inputs. Numbers are 0-based inside and 1-based when printed, as tshark and DevTools count;
 * byte ranges are 0-based and half-open. Printed form: `<input>#N[-M][/request|/response][@a..b]`.
 */

export type PlaceSide = "request" | "response";

export class Place {
  constructor(
    /** Index of the input file. */
    readonly input: number,
    /** First and last packet, HAR entry, log line or chunk; 0-based, inclusive. */
    readonly first: number,
    readonly last: number,
    readonly side?: PlaceSide,
    /** Half-open byte range in the body of that side, after de-chunking and content-decoding, envelopes still on. */
    readonly start?: number,
    readonly end?: number,
  ) {}

  /** The same packets, narrowed to a side and byte range. */
  within(side: PlaceSide | undefined, start?: number, end?: number): Place {
    return new Place(this.input, this.first, this.last, side, start, end);
  }

  /** From this place's first packet to `other`'s last one. */
  through(other: Place): Place {
    if (other.input !== this.input)
      return new Place(other.input, other.first, other.last, this.side, this.start, other.end);
    return new Place(
      this.input,
      Math.min(this.first, other.first),
      Math.max(this.last, other.last),
      this.side,
      this.start,
      other.end,
    );
  }
}

/** `names[i]` is the printed name of input i: its shortest unique path suffix. */
export function placeText(place: Place, names: readonly string[]): string {
  const range = place.last === place.first ? `${place.first + 1}` : `${place.first + 1}-${place.last + 1}`;
  const side = place.side === undefined ? "" : `/${place.side}`;
  const bytes = place.start === undefined ? "" : `@${place.start}..${place.end ?? place.start}`;
  return `${names[place.input] ?? `input${place.input + 1}`}#${range}${side}${bytes}`;
}

/** The shortest path suffixes that tell the inputs apart; equal paths get `~2`, `~3`. */
export function inputNames(paths: readonly string[]): string[] {
  const parts = paths.map((path) => path.split(/[\\/]/).filter((part) => part !== ""));
  return paths.map((path, i) => {
    const mine = parts[i]!;
    for (let n = 1; n <= mine.length; n++) {
      const suffix = mine.slice(-n).join("/");
      const clash = parts.some((other, j) => j !== i && other.slice(-n).join("/") === suffix);
      if (!clash) return suffix;
    }
    const same = paths.slice(0, i).filter((other) => other === path).length;
    const suffix = mine.at(-1) ?? path;
    return same === 0 ? suffix : `${suffix}~${same + 1}`;
  });
}

/** Orders places by input, first packet, side and byte. */
export function comparePlaces(a: Place, b: Place): number {
  return (
    a.input - b.input ||
    a.first - b.first ||
    a.last - b.last ||
    sideRank(a) - sideRank(b) ||
    (a.start ?? -1) - (b.start ?? -1) ||
    (a.end ?? -1) - (b.end ?? -1)
  );
}

function sideRank(place: Place): number {
  return place.side === undefined ? 0 : place.side === "request" ? 1 : 2;
}
