import { expect, test } from "vitest";
import { htmlText } from "./decode.ts";

test.each([
  ["<p>Backup <b>failed</b></p>", "Backup failed"],
  ["FAI<b>LED</b>", "FAILED"],
  ["a <!-- failed --> b", "a b"],
  ["<style>p { color: red }</style><SCRIPT>var x = '</b>'</SCRIPT >ok", "ok"],
  ["<script src=x/>hidden</script>shown", "shown"],
  ["1 < 2 & 3 > 2", "1 < 2 & 3 > 2"],
  ["&lt;OK&gt; caf&eacute; &#8364; &#x2713; &nbsp; &unknown; &#0;", "<OK> café € ✓ &unknown; \uFFFD"],
  ["<img alt='a > b'>c", "c"],
  ["<title>Nightly</title><p>done", "Nightlydone"],
  ["<![CDATA[ hidden ]]>shown", "shown"],
  ["plain\r\n text ", "plain text"],
  ["", ""],
])("%j is read as %j", (html, text) => {
  expect(htmlText(html)).toBe(text);
});

test("a tag without an end hides the rest", () => {
  expect(htmlText('before <a href="x')).toBe("before");
});
