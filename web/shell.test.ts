// A page that fails to render shows its error, and offers a way to continue.
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { PageGuard } from "./shell.tsx";

function shown(error: unknown): string {
  const guard = new PageGuard({ children: "page content" });
  if (error !== null) guard.state = PageGuard.getDerivedStateFromError(error);
  return renderToStaticMarkup(guard.render());
}

test("a page that can be rendered is shown as it is", () => {
  expect(shown(null)).toBe("page content");
});

test.each([new Error("row is null"), "row is null"])(
  "what was thrown (%s) is shown instead of the page",
  (thrown) => {
    const text = shown(thrown);
    expect(text).toContain("row is null");
    expect(text).toContain("<button");
    expect(text).not.toContain("page content");
  },
);
