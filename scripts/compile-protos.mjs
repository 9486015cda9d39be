// Compiles proto/**/*.proto into dist/descriptors.json, the FileDescriptorSet in base64, and dist/schema.json, its short form. Both are loaded
// by src/decode/schema.ts, whether it runs from src/ or from dist/. The compiler is src/decode itself, read through tsx.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tsImport } from "tsx/esm/api";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { parseProtos } = await tsImport("../src/decode/proto-text.ts", import.meta.url);
const { registryOf } = await tsImport("../src/decode/descriptor-source.ts", import.meta.url);
const { compactSchema } = await tsImport("../src/decode/compact-schema.ts", import.meta.url);

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
function write(name, value) {
  const target = join(root, "dist", name);
  writeFileSync(`${target}.${process.pid}`, JSON.stringify(value));
  renameSync(`${target}.${process.pid}`, target);
}
write("descriptors.json", { set: Buffer.from(set).toString("base64") });
write("schema.json", compactSchema(registryOf(set)));
