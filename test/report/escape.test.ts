import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  githubData,
  githubProperty,
  html,
  jsonString,
  markdown,
  markdownCode,
  mermaid,
  terminal,
  xml,
} from "../../src/report/escape.js";
import { hostile } from "./sample.js";

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const wild = fc.string({
  unit: fc.oneof(
    fc.constantFrom(..."\u001b\u0007\n\r\t\u009b\u202e\u200b;:#%<>&\"'`|[]{}()*_-=~$@!\\e"),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  ),
  maxLength: 60,
});

describe("terminal", () => {
  it.each([
    ["plain text", "plain text"],
    ["two\nlines", "two↵lines"],
    ["two\r\nlines", "two↵lines"],
    ["\u001b[31mred", "␛[31mred"],
    ["a\u0000b\u0007c\bd\u007fe", "a␀b␇c␈d␡e"],
    ["\u009b5m", "‹U+009B›5m"],
    ["abc\u202edef\u2066", "abc‹U+202E›def‹U+2066›"],
    ["zero\u200bwidth\ufeff", "zero‹U+200B›width‹U+FEFF›"],
    ["\ud800x", "\ufffdx"],
    ["tag\u{e0041}", "tag‹U+E0041›"],
    ["é 漢字 🙂", "é 漢字 🙂"],
  ])("%j -> %j", (from, to) => {
    expect(terminal(from)).toBe(to);
  });
});

describe("every target", () => {
  const targets = { terminal, html, xml, markdown, markdownCode, githubData, githubProperty, mermaid };
  for (const [name, safe] of Object.entries(targets)) {
    it(`${name} lets no control character, bidi mark or lone surrogate through`, () => {
      expect(safe(hostile)).not.toMatch(invisible);
      fc.assert(
        fc.property(wild, (text) => !invisible.test(safe(text))),
        { numRuns: 200 },
      );
    });
  }

  it("JSON strings parse back to the same value and hold no such character raw", () => {
    fc.assert(
      fc.property(wild, (text) => {
        const json = jsonString(text);
        expect(JSON.parse(json)).toBe(JSON.parse(JSON.stringify(text)));
        expect(json).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b-\u200f]/);
      }),
      { numRuns: 200 },
    );
  });
});

describe("markup", () => {
  it("Markdown: nothing starts emphasis, a link, a tag, a cell, a mention", () => {
    expect(markdown("*a* [b](http://c) <img> | `d` @e # f www.g.h")).toBe(
      "\\*a\\* \\[b\\](http&#58;//c) &lt;img&gt; \\| \\`d\\` &#64;e # f www&#46;g.h",
    );
  });

  it.each([
    ["# head", "\\# head"],
    ["- item", "\\- item"],
    ["12. item", "&#49;2. item"],
    ["3.010 s", "&#51;.010 s"],
    ["2026-11-30", "2026-11-30"],
    ["set_blob_args _em_", "set_blob_args \\_em\\_"],
  ])("Markdown start of a line: %j", (from, to) => {
    expect(markdown(from)).toBe(to);
  });

  it("Markdown code spans outgrow the backticks inside", () => {
    expect(markdownCode("a``b")).toBe("```a``b```");
    expect(markdownCode("`a")).toBe("`` `a ``");
  });

  it("Mermaid: no statement separator, comment, quote or bracket stays raw", () => {
    fc.assert(
      fc.property(wild, (text) => !/[%"'`[\]{}<>|\\~^@!?&$:]/.test(mermaid(text, " "))),
      { numRuns: 200 },
    );
    expect(mermaid("a;b")).toBe("a#59;b");
    expect(mermaid("one\ntwo")).toBe("one<br/>two");
    expect(mermaid("end")).not.toMatch(/^end/);
    expect(mermaid("title x")).not.toMatch(/^title/);
  });

  it("XML: attribute values and text", () => {
    expect(xml(`<a b="c" d='e'>&`)).toBe("&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
  });

  it("GitHub commands: no second command can begin", () => {
    expect(githubData("50% done\n::error::x")).toBe("50%25 done↵::error::x");
    expect(githubProperty("a,b:c")).toBe("a%2Cb%3Ac");
  });
});
