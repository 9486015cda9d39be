/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const netCodes = {
  "link.unsupported": {
    severity: "warning",
    text: "packets of link type {linkType} are not read",
    remedy: "capture on an Ethernet, loopback or tunnel interface, or on the device `any`",
  },
  "ip.fragment-cut": {
    severity: "warning",
    text: "an IP fragment was captured without its last {missing} bytes; its datagram is lost",
    remedy: "capture whole packets (tcpdump -s 0)",
  },
  "ip.fragments-incomplete": {
    severity: "warning",
    text: "an IP datagram is incomplete: {fragments} of its fragments were captured",
  },
  "ip.fragment-limit": {
    severity: "warning",
    text: "incomplete IP datagrams took more than {limit} bytes; the oldest was given up",
    remedy: "raise --limit fragmentBytes=SIZE",
  },
  "ip.fragments-differ": {
    severity: "warning",
    text: "overlapping IP fragments have different bytes; the one that begins earlier is used",
  },
  "tcp.header": {
    severity: "info",
    text: "the TCP header of a packet of {length} bytes is cut or contradicts itself; the packet is skipped",
  },
  "tcp.gap": {
    severity: "warning",
    text: "{length} bytes of {flow} {direction} are not in the capture",
    remedy: "capture with a larger buffer (tcpdump -B), or nearer to the client",
  },
  "tcp.cut-packet": {
    severity: "warning",
    text: "a packet was captured without its last {length} bytes",
    remedy: "capture whole packets (tcpdump -s 0)",
  },
  "tcp.reorder-limit": {
    severity: "warning",
    text: "too many bytes waited for a missing segment; the hole was given up",
    remedy: "raise --limit reorderBytesPerFlow=SIZE or reorderBytesTotal=SIZE",
  },
  "tcp.flow-limit": {
    severity: "warning",
    text: "more than {limit} connections were open at once; the one idle for longest was ended",
    remedy: "raise --limit openFlows=NUMBER",
  },
  "tcp.overlap-differs": {
    severity: "warning",
    text: "a retransmission of {length} bytes has other bytes than the first copy; the first copy is used",
  },
  "tcp.out-of-window": {
    severity: "info",
    text: "a segment of {length} bytes has a sequence number far from its connection's; it is ignored",
  },
  "tcp.late-data": {
    severity: "warning",
    text: "{length} bytes came after they had been given up as missing; they are ignored",
  },
  "tcp.before-start": {
    severity: "info",
    text: "{length} bytes came later than the segment with which their direction of {flow} begins here; they are left out",
    remedy: "start the capture before the client",
  },
  "tcp.data-after-end": {
    severity: "info",
    text: "{length} bytes came after the end of their direction; they are counted and not read",
  },
  "tcp.reset-ignored": {
    severity: "info",
    text: "a reset has a sequence number far from its connection's; it is ignored",
  },
  "net.joined-midway": {
    severity: "info",
    text: "{flow} was under way when the capture began; its beginning is missing",
    remedy: "start the capture before the client",
  },
  "net.quic": {
    severity: "info",
    text: "{flow} is QUIC (HTTP/3 over UDP), which is not read",
    remedy: "let the client use HTTP/2 or HTTP/1.1: block UDP port 443, or switch QUIC off",
  },
  "proxy.malformed": {
    severity: "warning",
    text: "the {kind} exchange at the front of {flow} is not well formed; what follows is read as raw bytes",
  },
  "net.nested-too-deep": {
    severity: "warning",
    text: "{flow} wraps more than {limit} protocols into one another; the rest is read as raw bytes",
  },
} as const satisfies CodeTable;
