/** Interface description blocks of pcapng: link type, snapshot length, and how times are counted. draft-ietf-opsawg-pcapng 4.2. */
import type { Nanos } from "../core/time.js";

export interface Interface {
  readonly linkType: number;
  /** 0: no limit. */
  readonly snapLength: number;
  /** The two halves of a packet's time, in the interface's own unit, as nanoseconds since 1970. */
  nanos(high: number, low: number): Nanos;
}

const option = { end: 0, timeResolution: 9, timeOffset: 14 } as const;

/** `body` without the block's type and lengths. */
export function interfaceBlock(body: DataView, littleEndian: boolean): Interface {
  if (body.byteLength < 8) return { linkType: -1, snapLength: 0, nanos: clock(6, 0n) };
  let resolution = 6;
  let offset = 0n;
  for (const { code, at, length } of options(body, 8, littleEndian)) {
    if (code === option.timeResolution && length >= 1) resolution = body.getUint8(at);
    if (code === option.timeOffset && length >= 8) offset = body.getBigInt64(at, littleEndian) * 1_000_000_000n;
  }
  return {
    linkType: body.getUint16(0, littleEndian),
    snapLength: body.getUint32(4, littleEndian),
    nanos: clock(resolution, offset),
  };
}

/** Options until the end mark, the end of the block, or one that claims more than there is. */
function* options(
  body: DataView,
  from: number,
  littleEndian: boolean,
): Iterable<{ code: number; at: number; length: number }> {
  for (let at = from; at + 4 <= body.byteLength; ) {
    const code = body.getUint16(at, littleEndian);
    const length = body.getUint16(at + 2, littleEndian);
    at += 4;
    if (code === option.end || at + length > body.byteLength) return;
    yield { code, at, length };
    at += length + (-length & 3);
  }
}

/** `resolution`: the negative power of ten, or of two when the highest bit is set. */
function clock(resolution: number, offset: bigint): Interface["nanos"] {
  const power = resolution & 0x7f;
  if (resolution & 0x80) return (high, low) => ((ticks(high, low) * 1_000_000_000n) >> BigInt(power)) + offset;
  if (power === 6) {
    // Microseconds fit a double until the year 2255, and a double is several times faster.
    return (high, low) => (high < 0x200000 ? BigInt(high * 0x100000000 + low) : ticks(high, low)) * 1000n + offset;
  }
  if (power <= 9) {
    const factor = 10n ** BigInt(9 - power);
    return (high, low) => ticks(high, low) * factor + offset;
  }
  const divisor = 10n ** BigInt(power - 9);
  return (high, low) => ticks(high, low) / divisor + offset;
}

function ticks(high: number, low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}
