/** PW-70 to PW-72: the payload inside call and error. The pi page, sections 8 and 9. */
import { family, type Hit, owed } from "./rule.js";

/** Section 9. Codes are open: another one is a remark. */
const knownCodes: ReadonlySet<string> = new Set([
  "version",
  "invalid_request",
  "internal_error",
  "cancelled",
  "wrong_server",
  "session_not_found",
  "session_ambiguous",
  "session_not_attached",
  "server_draining",
  "service_not_allowed",
  "service_not_found",
  "service_mode_mismatch",
  "service_member_not_found",
  "service_member_mismatch",
  "service_instance_not_found",
  "service_stale_instance",
  "service_invalid_value",
]);

export const callRules = family("Calls", [
  {
    id: "PW-70",
    severity: "warning",
    sure: "high",
    statement: "A call obeys the chord grammar.",
    why: 'Anything else is refused with "invalid_request"; the connection lives on.',
    needs: "The request.",
    good: '{ "serviceId": "demo.tools", "member": "echo", "args": [] }',
    bad: "A call without args, or one that is null.",
    remedy: "Send serviceId, member and args, and instance only as a key and a generation.",
    run: (connection) =>
      owed(connection, "PW-70", (request) => [
        `${request.id} is outside the call grammar: ${request.callFault?.path} ${request.callFault?.says}`,
      ]),
  },
  {
    id: "PW-71",
    severity: "warning",
    sure: "mid",
    statement: "A $chord.service call is catalogue, subscribe or unsubscribe in its exact shape.",
    why: "Any other shape is passed on as an ordinary call and usually refused.",
    needs: "The request.",
    good: "subscribe with an id, a service and a mode.",
    bad: "subscribe with two arguments.",
    remedy: "Use one of the three shapes, without an instance.",
    run: (connection) =>
      owed(connection, "PW-71", (request) => [
        `${request.id} calls $chord.service.${request.member} in none of its shapes`,
      ]),
  },
  {
    id: "PW-72",
    severity: "info",
    sure: "low",
    statement: "An error code is one of the published packages'.",
    why: "Codes are open text; an unknown one comes from the application or a later release.",
    needs: "The response.",
    good: "service_not_found",
    bad: "quota_exceeded",
    remedy: null,
    *run(connection) {
      for (const request of connection.requests.all) {
        const { answer } = request;
        if (answer?.error == null || knownCodes.has(answer.error.code)) continue;
        yield {
          draft: request.home,
          statement: [`${request.id} fails with the unknown code "${answer.error.code}"`],
          places: [answer.at.place],
          subject: request.id,
        };
      }
      const { refusal, fatalAt, own } = connection;
      if (refusal === null || fatalAt === null || knownCodes.has(refusal.code)) return;
      const hit: Hit = {
        draft: own,
        statement: [`the server gives up with the unknown code "${refusal.code}"`],
        places: [fatalAt.place],
        subject: "hello_error",
      };
      yield hit;
    },
  },
]);
