// Compiles proto/**/*.proto into dist/descriptors.json, the FileDescriptorSet (base64) that src/decode/schema.ts loads, whether it runs
// from src/ or from dist/. The compiler is src/decode/proto-text.ts itself, read through tsx.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tsImport } from "tsx/esm/api";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { parseProtos } = await tsImport("../src/decode/proto-text.ts", import.meta.url);

const files = readdirSync(join(root, "proto"), { recursive: true })
  .filter((name) => name.endsWith(".proto"))
  .sort()
  .map((name) => ({
    name: name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1),
    text: readFileSync(join(root, "proto", name), "utf8"),
  }));
const set = await parseProtos(files);
mkdirSync(join(root, "dist"), { recursive: true });
// Renamed into place: a test that runs meanwhile never reads half a file.
const target = join(root, "dist", "descriptors.json");
writeFileSync(`${target}.${process.pid}`, JSON.stringify({ set: Buffer.from(set).toString("base64") }));
renameSync(`${target}.${process.pid}`, target);
