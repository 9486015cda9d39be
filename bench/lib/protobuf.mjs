// A protobuf writer of a few lines: enough to make agent messages without the project's own code.

function varint(value) {
  const out = [];
  let rest = BigInt(value);
  while (rest > 127n) {
    out.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  out.push(Number(rest));
  return Buffer.from(out);
}

/** Field with a length-delimited value: string, bytes or message. */
export function len(number, value) {
  const body = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([varint((number << 3) | 2), varint(body.length), body]);
}

/** Varint field; proto3 leaves zero out. */
export function int(number, value) {
  return Number(value) === 0 ? Buffer.alloc(0) : Buffer.concat([varint(number << 3), varint(value)]);
}

export function message(...fields) {
  return Buffer.concat(fields);
}

export function envelope(flags, payload) {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}
