/** Finds the route of a REST call: literal segments first, `{x}` for one segment, `{tail}` and `{x}:action` with colon suffixes. kimi.md 2.5. */
import { type Route, routes } from "./tables/routes.js";

interface Compiled {
  readonly route: Route;
  readonly pattern: RegExp;
  /** Literal characters: the more, the better the match. */
  readonly weight: number;
}

const compiled: readonly Compiled[] = routes
  .map((route) => ({ route, pattern: patternOf(route.path), weight: route.path.replace(/\{[^}]*\}/g, "").length }))
  .sort((a, b) => b.weight - a.weight);

function patternOf(path: string): RegExp {
  const source = path
    .split(/(\{[^}]*\})/)
    .map((part) => {
      if (!part.startsWith("{")) return part.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
      if (part === "{*}") return ".+";
      return part === "{action}" ? "(?::[^/]+)?" : part === "{tail}" ? "[^/]+" : "[^/:]+";
    })
    .join("");
  return new RegExp(`^${source}$`);
}

/** The route of a path without query; undefined for an unknown one. */
export function routeOf(method: string, path: string): Route | undefined {
  return compiled.find((row) => row.route.method === method && row.pattern.test(path))?.route;
}

/** Query parameters; the last of a repeated one counts. */
export function queryOf(path: string): ReadonlyMap<string, string> {
  const at = path.indexOf("?");
  return at < 0 ? new Map() : new Map(new URLSearchParams(path.slice(at + 1)));
}
