// Runs one command and says what it cost: wall and CPU seconds, peak resident memory in MB.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `command` is a list of words; stdout is thrown away. CPU and peak come from the shell's `times` and the kernel's high-water mark. */
export function measure(command) {
  const report = join(tmpdir(), `bench-${process.pid}.txt`);
  // The command runs as the shell's child and leaves its own high-water mark behind, read every 20 ms until it ends: by the shell itself, so
  // that `times` counts nothing but the command.
  const script = `"$@" >/dev/null 2>"${report}.err" & pid=$!; peak=0; exec {never}<> <(:)
    while [ -r /proc/$pid/status ]; do
      while read -r key value _; do [ "$key" = VmHWM: ] && [ "$value" -gt "$peak" ] && peak=$value; done 2>/dev/null < /proc/$pid/status
      read -r -t 0.02 -u $never
      kill -0 $pid 2>/dev/null || break
    done
    wait $pid; code=$?; times > "${report}"; echo "$peak $code" >> "${report}"`;
  const start = process.hrtime.bigint();
  const run = spawnSync("bash", ["-c", script, "bench", ...command], { encoding: "utf8" });
  const wall = Number(process.hrtime.bigint() - start) / 1e9;
  if (run.error) throw run.error;
  const lines = readFileSync(report, "utf8").trim().split("\n");
  const [peak, code] = lines.at(-1).split(" ").map(Number);
  const cpu = lines[1]
    .split(" ")
    .map(seconds)
    .reduce((a, b) => a + b, 0);
  const errors = readFileSync(`${report}.err`, "utf8");
  rmSync(report, { force: true });
  rmSync(`${report}.err`, { force: true });
  return { wall, cpu, peakMB: peak / 1024, code, errors };
}

function seconds(text) {
  const [minutes, rest] = text.replace("s", "").split("m");
  return Number(minutes) * 60 + Number(rest);
}

/** The best of `times` runs by wall time. */
export function best(times, command) {
  let found;
  for (let i = 0; i < times; i++) {
    const run = measure(command);
    if (found === undefined || run.wall < found.wall) found = run;
  }
  return found;
}

export function row(name, bytes, run, note = "") {
  const rate = bytes === 0 ? "" : `${(bytes / 1e6 / run.wall).toFixed(0)} MB/s`;
  console.log(
    `${name.padEnd(42)} ${run.wall.toFixed(2).padStart(7)} s wall ${run.cpu.toFixed(2).padStart(7)} s CPU ${rate.padStart(10)} ${run.peakMB.toFixed(0).padStart(6)} MB peak  ${note}`,
  );
}
