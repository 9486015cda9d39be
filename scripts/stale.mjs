// Whether dist/ was built from what src/ and proto/ hold now. scripts/build.mjs leaves dist/.built when it is through.
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
export const stamp = join(root, "dist", ".built");

/** Newest change below a folder, in milliseconds since 1970. */
function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    latest = Math.max(latest, entry.isDirectory() ? newest(path) : statSync(path).mtimeMs);
  }
  return latest;
}

export function isStale() {
  const built = statSync(stamp, { throwIfNoEntry: false });
  if (built === undefined) return true;
  return ["src", "proto"].some((folder) => newest(join(root, folder)) > built.mtimeMs);
}
