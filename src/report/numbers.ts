/** Numbers for people: one spelling each, without locale. */

/** 1234567 -> "1,234,567" */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function byteCount(bytes: number): string {
  return `${count(bytes)} B`;
}

/** "3 turns", "1 turn" */
export function many(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** "12 ms", "3.294 s", "2 min 04 s", "3 h 05 min" */
export function duration(ms: number): string {
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(3)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
