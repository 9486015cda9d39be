export const stamp: string;
export function isStale(): boolean;
