/** Paths with a query, without the secrets a query may hold. */
import type { Redactor } from "./redact.js";
import { isSecretQuery } from "./redact.js";

export function urlText(path: string, redactor: Redactor): string {
  if (!redactor.hides("secret")) return path;
  const hidden = path.replace(/([?&#;])([^?=&#;]+)=([^&#;]*)/g, (whole, mark: string, name: string, value: string) =>
    value !== "" && isSecretQuery(name) ? `${mark}${name}=${redactor.mark(value)}` : whole,
  );
  return redactor.scrub(hidden);
}
