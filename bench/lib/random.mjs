// Deterministic pseudo-random content: the same seed gives the same bench file on every machine.

/** xorshift32 in [0, 1). */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4294967296;
  };
}

const words = (
  "the of agent turn blob stream frame envelope protocol server client request answer error test build module import export const " +
  "function return value record segment checkpoint message conversation tool shell read write file path line number type string"
).split(" ");

/** A pool of text like code and prose; `slice(bytes)` cuts from it at a random place. */
export function textPool(next, bytes = 1 << 20) {
  const parts = [];
  let size = 0;
  while (size < bytes) {
    const word = words[Math.floor(next() * words.length)];
    const piece = next() < 0.1 ? `${word}_${Math.floor(next() * 1e6).toString(36)}();\n` : `${word} `;
    parts.push(piece);
    size += piece.length;
  }
  const pool = Buffer.from(parts.join(""), "latin1");
  return {
    slice(length) {
      const out = Buffer.allocUnsafe(length);
      let at = 0;
      while (at < length) {
        const from = Math.floor(next() * (pool.length - 1));
        at += pool.copy(out, at, from, Math.min(pool.length, from + length - at));
      }
      return out;
    },
  };
}

/** Bytes that do not compress (images, archives). */
export function noisePool(next, bytes = 1 << 20) {
  const pool = Buffer.allocUnsafe(bytes);
  for (let i = 0; i < bytes; i++) pool[i] = next() * 256;
  return {
    slice(length) {
      const out = Buffer.allocUnsafe(length);
      let at = 0;
      while (at < length) {
        const from = Math.floor(next() * (pool.length - 1));
        at += pool.copy(out, at, from, Math.min(pool.length, from + length - at));
      }
      return out;
    },
  };
}

/** A UUID-shaped id from a counter: invented, unique, stable. */
export function uuid(kind, n) {
  const hex = n.toString(16).padStart(12, "0");
  return `${kind.toString(16).padStart(8, "0")}-0000-4000-8000-${hex}`;
}
