/** K-TURN, K-STEP, K-TOOL, K-SUB, K-APP, K-ENV: turns, steps, tools, approvals and the event envelope. */
import { numberAt, textAt } from "../json.js";
import { family } from "./rule.js";
import {
  agentOf,
  coveredAgents,
  durableEvents,
  examineApprovals,
  examineSteps,
  sameArguments,
  turnKey,
  wholeTurns,
} from "./turn-events.js";

const rule = family("Turns", "4, 7, 8");

export const turnRules = [
  rule(
    {
      id: "K-TURN-01",
      severity: "error",
      statement: "turn.ended has an earlier turn.started of the same session, agent and turnId; each comes once.",
      why: "A client that never saw the start shows an answer without a question.",
      needs: "a turn.ended of an agent whose life before it was captured",
      sure: "held 33",
      good: "turn.started 0, turn.ended 0",
      bad: "turn.ended 1 without turn.started 1",
      remedy: null,
    },
    (examination) => {
      const covered = coveredAgents(examination);
      const started = new Map<string, number>();
      const ended = new Map<string, number>();
      for (const frame of durableEvents(examination)) {
        if (frame.type !== "turn.started" && frame.type !== "turn.ended") continue;
        const counts = frame.type === "turn.started" ? started : ended;
        const key = turnKey(frame);
        counts.set(key, (counts.get(key) ?? 0) + 1);
        if (frame.type === "turn.started" ? counts.get(key) === 1 : !covered.has(agentOf(frame))) continue;
        const ok = started.get(key) === 1 && (frame.type === "turn.started" || ended.get(key) === 1);
        examination.examine(ok, () => ({
          statement: [
            `turn ${numberAt(frame.payload, "turnId")}: turn.started came ${started.get(key) ?? 0} times, turn.ended ${ended.get(key) ?? 0} times`,
          ],
          places: [frame.place],
          subject: `${textAt(frame.payload, "agentId") ?? "main"}/${numberAt(frame.payload, "turnId")}`,
          conversationId: frame.sessionId,
        }));
      }
    },
  ),
  rule(
    {
      id: "K-TURN-02",
      class: "permission",
      severity: "warning",
      statement: "A turn without turn.ended when the connection closes is an open turn, not a fault.",
      why: "Turns outlive connections.",
      needs: "a turn that was still running",
      sure: "inferred",
      good: "turn.started, close",
      bad: "nothing: it is legal",
      remedy: null,
    },
    (examination) => {
      for (const { builder } of wholeTurns(examination)) if (!builder.endSeen) examination.checked++;
    },
  ),
  rule(
    {
      id: "K-TURN-03",
      class: "permission",
      severity: "info",
      statement: "Turns of one agent may overlap briefly after an abort.",
      why: "A queued prompt starts before the aborted turn has ended.",
      needs: "two overlapping turns of one agent",
      sure: "seen",
      good: "turn.started 1 before turn.ended 0",
      bad: "nothing: it is legal",
      remedy: null,
    },
    (examination) => {
      const running = new Map<string, number>();
      for (const frame of durableEvents(examination)) {
        const count = running.get(agentOf(frame)) ?? 0;
        if (frame.type === "turn.started") {
          if (count > 0) examination.checked++;
          running.set(agentOf(frame), count + 1);
        } else if (frame.type === "turn.ended") running.set(agentOf(frame), Math.max(0, count - 1));
      }
    },
  ),
  rule(
    {
      id: "K-TURN-04",
      severity: "warning",
      statement: "turnId rises by 1 per agent.",
      why: "A hole is a turn that nobody saw.",
      needs: "two turn.started of one agent",
      sure: "held 9",
      good: "0, 1, 2",
      bad: "0, 2",
      remedy: null,
    },
    (examination) => {
      const last = new Map<string, number>();
      for (const frame of durableEvents(examination)) {
        const turnId = frame.type === "turn.started" ? numberAt(frame.payload, "turnId") : null;
        if (turnId === null) continue;
        const before = last.get(agentOf(frame));
        last.set(agentOf(frame), turnId);
        if (before === undefined || before === turnId) continue;
        examination.examine(turnId === before + 1, () => ({
          statement: [`turn ${turnId} follows turn ${before}`],
          places: [frame.place],
          subject: `${textAt(frame.payload, "agentId") ?? "main"}/${turnId}`,
          conversationId: frame.sessionId,
        }));
      }
    },
  ),
  rule(
    {
      id: "K-STEP-01",
      severity: "warning",
      statement:
        "Steps count from 1; each start has its completed or interrupted. A step 1 interrupted without a start is legal on an early failure.",
      why: "Offsets and usage are per step.",
      needs: "a whole turn with steps",
      sure: "held 48",
      good: "step 1 started, completed, step 2 started, completed",
      bad: "step 1 started, turn.ended",
      remedy: null,
    },
    examineSteps,
  ),
  rule(
    {
      id: "K-TOOL-01",
      severity: "error",
      statement:
        "tool.result has an earlier tool.call.started of the same id; each call has at most one result, and none is open at turn.ended.",
      why: "A call without result hangs the model; a result without call cannot be placed.",
      needs: "a whole turn with tool calls",
      sure: "held 18, 18 and 33",
      good: "tool.call.started c1, tool.result c1, turn.ended",
      bad: "tool.call.started c1, turn.ended",
      remedy: "send a result with isError for a call that was aborted",
    },
    (examination) => {
      for (const { builder, turn } of wholeTurns(examination)) {
        // A transcript tells states, not events.
        if (!builder.endSeen || (builder.counts.get("turn.ended") ?? 0) === 0) continue;
        for (const call of builder.tools.values()) {
          if (call.started === null && call.results === 0) continue;
          examination.examine(call.started !== null && call.results === 1, () => ({
            statement: [
              `tool call ${call.id} (${call.name ?? "?"}): ${call.started === null ? "no start" : "started"}, ${call.results} results at turn.ended`,
            ],
            places: [call.place],
            subject: `tool ${[...builder.tools.keys()].indexOf(call.id)}`,
            turn,
          }));
        }
      }
    },
  ),
  rule(
    {
      id: "K-TOOL-02",
      severity: "warning",
      statement: "The argument parts of a call, joined, parse to the args of its tool.call.started.",
      why: "What the user watched being written is not what was run.",
      needs: "streamed arguments and the start of the same call",
      sure: "held 15",
      good: '"{\\"command\\":" + "\\"ls\\"}" and args {"command":"ls"}',
      bad: 'parts for "ls", args for "rm"',
      remedy: null,
    },
    (examination) => {
      for (const { builder, turn } of wholeTurns(examination)) {
        for (const call of builder.tools.values()) {
          if (call.argumentParts === "" || call.args === null) continue;
          examination.examine(sameArguments(call.argumentParts, call.args), () => ({
            statement: [
              `tool call ${call.id} (${call.name ?? "?"}): the streamed arguments are not those it started with`,
            ],
            places: [call.place],
            subject: `tool ${[...builder.tools.keys()].indexOf(call.id)}`,
            turn,
          }));
        }
      }
    },
  ),
  rule(
    {
      id: "K-SUB-01",
      severity: "warning",
      statement: "subagent.spawned names an open tool call of its parent agent.",
      why: "The subagent's result answers that call.",
      needs: "a subagent.spawned and its parent's tool calls",
      sure: "held 1",
      good: "tool.call.started c1 (Agent), subagent.spawned with parentToolCallId c1",
      bad: "parentToolCallId of a call that has its result already",
      remedy: null,
    },
    (examination) => {
      const open = new Set<string>();
      const known = new Set<string>();
      for (const frame of durableEvents(examination)) {
        const tool = textAt(frame.payload, "toolCallId");
        if (frame.type === "tool.call.started" && tool !== null) {
          open.add(`${agentOf(frame)} ${tool}`);
          known.add(agentOf(frame));
        }
        if (frame.type === "tool.result" && tool !== null) open.delete(`${agentOf(frame)} ${tool}`);
        const parent = frame.type === "subagent.spawned" ? textAt(frame.payload, "parentToolCallId") : null;
        const agent = `${frame.sessionId} ${textAt(frame.payload, "parentAgentId") ?? textAt(frame.payload, "agentId") ?? "main"}`;
        if (parent === null || !known.has(agent)) continue;
        examination.examine(open.has(`${agent} ${parent}`), () => ({
          statement: [
            `subagent ${textAt(frame.payload, "subagentId") ?? "?"} hangs under ${parent}, which is no open tool call of its parent`,
          ],
          places: [frame.place],
          subject: `subagent ${textAt(frame.payload, "subagentId") ?? "?"}`,
          conversationId: frame.sessionId,
        }));
      }
    },
  ),
  rule(
    {
      id: "K-APP-01",
      severity: "error",
      statement: "Each approval and question is resolved at most once, after it was requested.",
      why: "A second answer would run a command twice.",
      needs: "an approval or question resolved in the capture",
      sure: "held 4",
      good: "event.approval.requested, event.approval.resolved",
      bad: "two event.approval.resolved of one id",
      remedy: null,
    },
    examineApprovals,
  ),
  rule(
    {
      id: "K-ENV-01",
      severity: "error",
      statement: "An event's payload repeats its type, and its session id unless that is __global__.",
      why: "Handlers get only the payload.",
      needs: "an event",
      sure: "held 1348",
      good: 'type "turn.ended", payload.type "turn.ended"',
      bad: 'type "turn.ended", payload.type "turn.started"',
      remedy: null,
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        for (const frame of connection.frames) {
          if (frame.class !== "event") continue;
          const type = textAt(frame.payload, "type");
          const session = textAt(frame.payload, "sessionId");
          const sameSession = session === null || frame.sessionId === "__global__" || session === frame.sessionId;
          examination.examine(type === frame.type && sameSession, () => ({
            statement: [
              type === frame.type
                ? `${frame.type}: payload and envelope name different sessions`
                : `${frame.type}: payload.type is ${type ?? "absent"}`,
            ],
            places: [frame.place],
            subject: `ws ${connection.index + 1} ${frame.type} ${frame.ordinal}`,
            conversationId: frame.sessionId,
          }));
        }
      }
    },
  ),
];
