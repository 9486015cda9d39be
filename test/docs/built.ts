/** Tests of the built command need dist/ as src/ is now: `npm test` sees to it, a single run of vitest does not. */
import { isStale } from "../../scripts/stale.mjs";

export function requireBuilt(): void {
  if (isStale()) throw new Error("dist/ is older than src/ or proto/, or was never built: npm run build");
}
