/** Growing lists of numbers: four or eight bytes each, where a list of objects would take a hundred. */

/** Entries of a block. Lists grow by blocks: nothing is copied, and little is held that is not used. */
const bits = 10;
const mask = (1 << bits) - 1;

type Block = Int32Array | Float64Array | BigInt64Array;

class NumberList<B extends Block> {
  private readonly blocks: Block[] = [];
  length = 0;

  constructor(private readonly block: (length: number) => B) {}

  push(value: B[number]): void {
    const n = this.length++;
    if ((n & mask) === 0) this.blocks.push(this.block(mask + 1));
    this.blocks[n >>> bits]![n & mask] = value;
  }

  /** `index`: below `length`. */
  at(index: number): B[number] {
    return this.blocks[index >>> bits]![index & mask]!;
  }

  /** `index`: below `length`. */
  set(index: number, value: B[number]): void {
    this.blocks[index >>> bits]![index & mask] = value;
  }
}

/** Numbers of 32 bits. */
export class Int32List extends NumberList<Int32Array> {
  constructor() {
    super((length) => new Int32Array(length));
  }
}

/** Whole numbers to 2^53. */
export class Float64List extends NumberList<Float64Array> {
  constructor() {
    super((length) => new Float64Array(length));
  }
}

/** Whole numbers of 64 bits. */
export class BigInt64List extends NumberList<BigInt64Array> {
  constructor() {
    super((length) => new BigInt64Array(length));
  }
}
