/** How a decoded field finds its place in its message: lists grow, messages merge, one member of a oneof drives out another. */
import type { Fields, FieldTable, MessageTable } from "./message-table.js";

/**
 * Last one wins: another member of the same oneof goes. `chosen`: the members read so far, one per oneof; null: none yet. Returns the list
 * to hand in next time.
 */
export function chooseOneof(
  table: MessageTable,
  into: Fields,
  chosen: FieldTable[] | null,
  field: FieldTable,
): FieldTable[] {
  const at = chosen === null ? -1 : chosen.findIndex((one) => one.oneof === field.oneof);
  if (chosen !== null && at >= 0) {
    const before = chosen[at]!;
    if (before !== field) delete into[before.name];
    chosen[at] = field;
    return chosen;
  }
  // First of this oneof here; a message that is being merged may hold one from before.
  for (const name in into) {
    const before = table.byName.get(name);
    if (before !== undefined && before !== field && before.oneof === field.oneof) delete into[name];
  }
  if (chosen === null) return [field];
  chosen.push(field);
  return chosen;
}

export function targetOf(field: FieldTable, table: MessageTable, into: Fields): Fields {
  if (field.repeated) {
    const target = table.create();
    listOf(into, field.name).push(target);
    return target;
  }
  const before = into[field.name] as Fields | undefined;
  if (before !== undefined) return before;
  const target = table.create();
  into[field.name] = target;
  return target;
}

export function listOf(into: Fields, name: string): unknown[] {
  const before = into[name] as unknown[] | undefined;
  if (before !== undefined) return before;
  const list: unknown[] = [];
  into[name] = list;
  return list;
}
