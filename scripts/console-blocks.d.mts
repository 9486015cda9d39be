export interface Fence {
  readonly language: string;
  readonly start: number;
  readonly lines: readonly string[];
}
export interface Command {
  readonly command: string;
  readonly line: number;
  readonly output: string;
}
export function fences(text: string): Fence[];
export function commands(text: string): Command[];
export function runner(root: string): { run(command: string): string; close(): void };
export function refreshed(text: string, run: (command: string) => string, read: (path: string) => string): string;
