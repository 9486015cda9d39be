/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

const recordSecrets =
  "Record the secrets along with the packets: start the client with SSLKEYLOGFILE=keys.txt in its environment (Node: " +
  "--tls-keylog=keys.txt; Chromium and Electron: --ssl-key-log-file=keys.txt) and give that file with --keylog keys.txt.";
const wrongLog =
  "Use the key log that was written during this very capture, by the client (or server) whose connection this is: start it with " +
  "SSLKEYLOGFILE=keys.txt in its environment before it connects.";
const startEarly = "Start the capture before the connection is made, or restart the client while capturing.";

export const tlsCodes = {
  "keylog.bad-line": {
    severity: "info",
    text: "A line of a key log is not in the NSS key log format and was passed over.",
  },
  "keylog.no-secrets": {
    severity: "warning",
    text: "The key log {path} holds no TLS secret.",
    remedy: recordSecrets,
  },
  "keylog.unreadable": { severity: "warning", text: "The key log {path} could not be read: {reason}." },
  "tls.no-secret": {
    severity: "warning",
    text: "A TLS {version} connection to {server} stays closed: there is no secret for its client random {clientRandom}.",
    remedy: recordSecrets,
  },
  "tls.not-in-keylog": {
    severity: "warning",
    text: "A TLS {version} connection to {server} stays closed: the key log holds {secrets} secrets, none of them for its client random {clientRandom}.",
    remedy: wrongLog,
  },
  "tls.partial-secrets": {
    severity: "warning",
    text: "A TLS {version} connection to {server} stays closed in part: the key log has some secrets of its client random {clientRandom}, but not all.",
    remedy: recordSecrets,
  },
  "tls.wrong-secret": {
    severity: "warning",
    text: "A TLS {version} connection to {server} stays closed: the key log has a secret for its client random {clientRandom}, but the records do not decrypt with it.",
    remedy: wrongLog,
  },
  "tls.unknown-suite": {
    severity: "warning",
    text: "A TLS {version} connection to {server} stays closed: the cipher suite {suite} is not supported.",
    remedy: "Let the client or server offer suites with AES-GCM, ChaCha20-Poly1305 or AES-CBC only.",
  },
  "tls.unknown-version": {
    severity: "warning",
    text: "A connection to {server} stays closed: TLS version {version} is not supported.",
  },
  "tls.compressed": {
    severity: "warning",
    text: "A TLS {version} connection to {server} stays closed: it uses TLS compression, which is not supported.",
  },
  "tls.joined-late": {
    severity: "warning",
    text: "A TLS connection to {server} stays closed: the capture starts after its handshake.",
    remedy: startEarly,
  },
  "tls.no-client-hello": {
    severity: "warning",
    text: "A TLS connection to {server} stays closed: its client hello is not in the capture, so no secret can be looked up.",
    remedy: startEarly,
  },
  "tls.no-server-hello": {
    severity: "warning",
    text: "A TLS connection to {server} stays closed: its server hello is not in the capture, so the cipher is not known.",
    remedy: "Capture both directions of the connection, from its start.",
  },
  "tls.bad-record": {
    severity: "warning",
    text: "Bytes of a TLS connection to {server} are not a TLS record (content type {type}, version {version}, length {length}).",
  },
  "tls.bad-hello": { severity: "warning", text: "A {what} hello of a TLS connection to {server} is malformed." },
  "tls.damaged-record": {
    severity: "warning",
    text: "A TLS record of a connection to {server} does not decrypt, though those before it did; its content is lost.",
  },
  "tls.records-lost": {
    severity: "info",
    text: "{records} TLS records were lost in a connection to {server}; decryption went on after them.",
  },
  "tls.lost-step": {
    severity: "warning",
    text: "Decryption of one direction of a TLS connection to {server} ended: after the loss of bytes no further record could be decrypted.",
  },
  "tls.held-limit": {
    severity: "warning",
    text: "The ciphertext waiting for a secret went over the limit of {limit} bytes (undecryptedBytesPerFlow, and 16 times that for all connections together).",
    remedy: "Raise it with --limit undecryptedBytesPerFlow=16M, or give the complete key log from the start.",
  },
  "tls.early-data-closed": {
    severity: "warning",
    text: "Early data of a TLS connection to {server} could not be decrypted: there is no CLIENT_EARLY_TRAFFIC_SECRET for it.",
  },
  "tls.early-data-rejected": {
    severity: "info",
    text: "The server {server} refused the early data of a TLS connection; it is left out.",
  },
  "tls.alert": { severity: "info", text: "A TLS connection to {server} was ended by the {by} with the alert {alert}." },
} as const satisfies CodeTable;
