/** What stands inside `call`, `result` and `update`: service calls, the control vocabulary, snapshots. The pi page, section 8. */
import type { CborArray, CborMap, CborValue } from "../../decode/cbor.js";
import { clip, isArray, isCount, isMap, isName, keysFault, kindOf, type ShapeFault } from "./shape.js";

export const controlService = "$chord.service";

export interface Address {
  readonly key: string;
  readonly generation: number;
}

export interface Call {
  readonly serviceId: string;
  readonly member: string;
  readonly args: CborArray;
  readonly instance: Address | null;
}

export type ServiceMode = "singleton" | "keyed";

export type ControlCall =
  | { readonly kind: "catalogue" }
  | {
      readonly kind: "subscribe";
      readonly subscriptionId: string;
      readonly serviceId: string;
      readonly mode: ServiceMode;
    }
  | { readonly kind: "unsubscribe"; readonly subscriptionId: string };

export type Member =
  | { readonly name: string; readonly kind: "method" }
  | { readonly name: string; readonly kind: "state"; readonly sequence: number; readonly ops: CborValue };

export interface Instance {
  readonly address: Address | null;
  readonly members: readonly Member[];
}

export interface Snapshot {
  readonly serviceId: string;
  readonly mode: ServiceMode;
  readonly instances: readonly Instance[];
}

export type Update =
  | {
      readonly type: "state";
      readonly address: Address | null;
      readonly member: string;
      readonly sequence: number;
      readonly ops: CborValue;
    }
  | { readonly type: "unavailable" }
  | { readonly type: "replaced"; readonly snapshot: Instance }
  | { readonly type: "spawned"; readonly instance: Instance }
  | { readonly type: "closed"; readonly address: Address };

/** A reading, or the first thing that is wrong with it. */
export type Reading<T> = T | ShapeFault;

export function isFault<T extends object>(reading: Reading<T>): reading is ShapeFault {
  return "says" in reading && "path" in reading;
}

export function readCall(value: CborValue): Reading<Call> {
  if (!isMap(value)) return { path: "call", says: `is ${kindOf(value)}, not a map` };
  const fault = keysFault(value, "call", ["serviceId", "member", "args"], ["instance"]);
  if (fault !== null) return fault;
  const serviceId = value.get("serviceId");
  const member = value.get("member");
  const args = value.get("args");
  if (!isName(serviceId)) return { path: "call.serviceId", says: `is ${kindOf(serviceId)}` };
  if (!isName(member)) return { path: "call.member", says: `is ${kindOf(member)}` };
  if (!isArray(args)) return { path: "call.args", says: `is ${kindOf(args)}, not an array` };
  if (!value.has("instance")) return { serviceId, member, args, instance: null };
  const instance = readAddress(value.get("instance"), "call.instance");
  return isFault(instance) ? instance : { serviceId, member, args, instance };
}

/** A call to the control service in one of its three shapes; null for anything else, which is passed on as an ordinary call. */
export function controlCall(call: Call): ControlCall | null {
  if (call.serviceId !== controlService || call.instance !== null) return null;
  const [first, second, third] = call.args;
  const count = call.args.length;
  if (call.member === "catalogue" && count === 0) return { kind: "catalogue" };
  if (call.member === "unsubscribe" && count === 1 && isName(first))
    return { kind: "unsubscribe", subscriptionId: first };
  if (call.member !== "subscribe" || count !== 3 || !isName(first) || !isName(second) || !isMode(third)) return null;
  return { kind: "subscribe", subscriptionId: first, serviceId: second, mode: third };
}

function isMode(value: CborValue | undefined): value is ServiceMode {
  return value === "singleton" || value === "keyed";
}

export function readSnapshot(value: CborValue | undefined): Reading<Snapshot> {
  if (!isMap(value)) return { path: "result", says: `is ${kindOf(value)}, not a snapshot` };
  const fault = keysFault(value, "result", ["serviceId", "mode", "instances"]);
  if (fault !== null) return fault;
  const serviceId = value.get("serviceId");
  const mode = value.get("mode");
  const list = value.get("instances");
  if (!isName(serviceId)) return { path: "result.serviceId", says: `is ${kindOf(serviceId)}` };
  if (!isMode(mode)) return { path: "result.mode", says: "is neither singleton nor keyed" };
  if (!isArray(list)) return { path: "result.instances", says: `is ${kindOf(list)}, not an array` };
  const instances: Instance[] = [];
  for (const [i, item] of list.entries()) {
    const instance = readInstance(item, `result.instances[${i}]`);
    if (isFault(instance)) return instance;
    instances.push(instance);
  }
  return { serviceId, mode, instances };
}

export function readUpdate(value: CborValue): Reading<Update> {
  if (!isMap(value)) return { path: "update", says: `is ${kindOf(value)}, not a map` };
  const type = value.get("type");
  switch (type) {
    case "state":
      return readState(value);
    case "unavailable":
      return keysFault(value, "update", ["type"]) ?? { type };
    case "replaced": {
      const snapshot = readOnly(value, "snapshot");
      return isFault(snapshot) ? snapshot : { type, snapshot };
    }
    case "spawned": {
      const instance = readOnly(value, "instance");
      return isFault(instance) ? instance : { type, instance };
    }
    case "closed": {
      const fault = keysFault(value, "update", ["type", "instance"]);
      if (fault !== null) return fault;
      const address = readAddress(value.get("instance"), "update.instance");
      return isFault(address) ? address : { type, address };
    }
    default: {
      const says = typeof type === "string" ? `"${clip(type)}" is no known kind of update` : `is ${kindOf(type)}`;
      return { path: "update.type", says };
    }
  }
}

function readOnly(value: CborMap, key: string): Reading<Instance> {
  return keysFault(value, "update", ["type", key]) ?? readInstance(value.get(key), `update.${key}`);
}

function readState(value: CborMap): Reading<Update> {
  const fault = keysFault(value, "update", ["type", "member", "sequence", "ops"], ["instance"]);
  if (fault !== null) return fault;
  const member = value.get("member");
  const sequence = value.get("sequence");
  if (!isName(member)) return { path: "update.member", says: `is ${kindOf(member)}` };
  if (!isCount(sequence, 1)) return { path: "update.sequence", says: `is ${kindOf(sequence)}, not an integer from 1` };
  const ops = value.get("ops")!;
  if (!value.has("instance")) return { type: "state", address: null, member, sequence, ops };
  const address = readAddress(value.get("instance"), "update.instance");
  return isFault(address) ? address : { type: "state", address, member, sequence, ops };
}

function readAddress(value: CborValue | undefined, path: string): Reading<Address> {
  if (!isMap(value)) return { path, says: `is ${kindOf(value)}, not a map` };
  const fault = keysFault(value, path, ["key", "generation"]);
  if (fault !== null) return fault;
  const key = value.get("key");
  const generation = value.get("generation");
  if (!isName(key)) return { path: `${path}.key`, says: `is ${kindOf(key)}` };
  return isCount(generation, 1)
    ? { key, generation }
    : { path: `${path}.generation`, says: `is ${kindOf(generation)}, not an integer from 1` };
}

function readInstance(value: CborValue | undefined, path: string): Reading<Instance> {
  if (!isMap(value)) return { path, says: `is ${kindOf(value)}, not a map` };
  const fault = keysFault(value, path, ["members"], ["instance"]);
  if (fault !== null) return fault;
  const list = value.get("members");
  if (!isArray(list)) return { path: `${path}.members`, says: `is ${kindOf(list)}, not an array` };
  const members: Member[] = [];
  for (const [i, item] of list.entries()) {
    const member = readMember(item, `${path}.members[${i}]`);
    if (isFault(member)) return member;
    members.push(member);
  }
  if (!value.has("instance")) return { address: null, members };
  const address = readAddress(value.get("instance"), `${path}.instance`);
  return isFault(address) ? address : { address, members };
}

function readMember(value: CborValue, path: string): Reading<Member> {
  if (!isMap(value)) return { path, says: `is ${kindOf(value)}, not a map` };
  const name = value.get("name");
  const kind = value.get("kind");
  if (!isName(name)) return { path: `${path}.name`, says: `is ${kindOf(name)}` };
  if (kind === "method") return keysFault(value, path, ["name", "kind"]) ?? { name, kind };
  if (kind !== "state") return { path: `${path}.kind`, says: "is neither method nor state" };
  const fault = keysFault(value, path, ["name", "kind", "sequence", "ops"]);
  if (fault !== null) return fault;
  const sequence = value.get("sequence");
  return isCount(sequence)
    ? { name, kind, sequence, ops: value.get("ops")! }
    : { path: `${path}.sequence`, says: `is ${kindOf(sequence)}, not an integer from 0` };
}
