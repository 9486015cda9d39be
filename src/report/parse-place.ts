/** Printed places back to places: the other half of `placeText`. */
import { CursorWireError } from "../core/errors.js";
import { Place, type PlaceSide } from "../core/place.js";

const grammar = /^(.*)#(\d{1,15})(?:-(\d{1,15}))?(?:\/(request|response))?(?:@(\d{1,15})\.\.(\d{1,15}))?$/s;

/**
 * `<input>#N[-M][/request|/response][@a..b]`. The input may be left out where there is only one, and may be any path suffix of it.
 * Throws CursorWireError `usage.place`.
 */
export function parsePlace(text: string, names: readonly string[], paths: readonly string[]): Place {
  const match = grammar.exec(text);
  if (match === null) {
    throw new CursorWireError(
      "usage.place",
      `"${text}" is no place: write <input>#N[-M][/request|/response][@a..b], as the reports print it`,
    );
  }
  const [, name, first, last, side, start, end] = match;
  const from = Number(first);
  const to = last === undefined ? from : Number(last);
  if (from < 1 || to < from)
    throw new CursorWireError("usage.place", `"${text}": packets and entries count from 1, and N-M goes up`);
  const range = start === undefined ? [] : ([Number(start), Number(end)] as const);
  return new Place(inputOf(name!, text, names, paths), from - 1, to - 1, side as PlaceSide | undefined, ...range);
}

function inputOf(name: string, text: string, names: readonly string[], paths: readonly string[]): number {
  if (name === "" && paths.length === 1) return 0;
  const exact = names.indexOf(name);
  if (exact >= 0) return exact;
  const found = paths.flatMap((path, index) => (path === name || path.endsWith(`/${name}`) ? [index] : []));
  // A place printed from several inputs has a longer or shorter name than the one file given now.
  const loose =
    found.length > 0
      ? found
      : paths.flatMap((path, index) => (name.endsWith(`/${path}`) || sameBase(path, name) ? [index] : []));
  if (loose.length === 1 && name !== "") return loose[0]!;
  const given = names.join(", ");
  throw new CursorWireError(
    "usage.place",
    `"${text}" names ${name === "" ? "no input" : `the input ${name}`}; given: ${given}`,
  );
}

function sameBase(path: string, name: string): boolean {
  const base = (text: string) => text.split(/[\\/]/).at(-1);
  return base(path) === base(name);
}

/** Whether two places share a packet or entry and, where both say so, a side and a byte. */
export function overlaps(wanted: Place, found: Place): boolean {
  if (wanted.input !== found.input || wanted.last < found.first || wanted.first > found.last) return false;
  if (wanted.side !== undefined && found.side !== undefined && wanted.side !== found.side) return false;
  if (wanted.start === undefined || found.start === undefined) return true;
  const [wantedEnd, foundEnd] = [wanted.end ?? wanted.start, found.end ?? found.start];
  // An empty range is a position: it touches the message it stands in.
  return wanted.start < Math.max(foundEnd, found.start + 1) && Math.max(wantedEnd, wanted.start + 1) > found.start;
}
