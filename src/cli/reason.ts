/** Why a file could not be written or read, in words. */
export function reason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  const texts: Readonly<Record<string, string>> = {
    ENOENT: "no such file or directory",
    EACCES: "permission denied",
    EISDIR: "it is a directory",
    ENOTDIR: "a part of the path is no directory",
    ENOSPC: "no space left on the device",
    EROFS: "the file system is read-only",
  };
  return texts[code ?? ""] ?? code ?? String(error);
}
