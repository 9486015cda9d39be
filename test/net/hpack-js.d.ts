/** The parts of hpack.js 2.1 that the tests use as a second opinion. */
declare module "hpack.js" {
  interface Field {
    name: string;
    value: string;
    incremental?: boolean;
    neverIndex?: boolean;
    huffman?: boolean;
  }
  interface Coder {
    write(data: unknown): boolean;
    read(): unknown;
    updateTableSize(size: number): void;
  }
  interface Decompressor extends Coder {
    execute(): void;
    read(): Field | null;
    on(event: "error", handler: (error: Error) => void): void;
  }
  interface Compressor extends Coder {
    reset(): void;
    read(): Buffer | null;
  }
  export const compressor: { create(options: { table: { maxSize: number } }): Compressor };
  export const decompressor: { create(options: { table: { maxSize: number } }): Decompressor };
}

declare module "hpack.js/lib/hpack/huffman.js" {
  /** Length in bits and code of each symbol. */
  export const encode: readonly (readonly [number, number])[];
}

declare module "hpack.js/lib/hpack/static-table.js" {
  export const table: readonly { readonly name: string; readonly value: string }[];
}
