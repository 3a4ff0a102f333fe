// The entry point: loads the styles, then the script, so that the rows in the HTML are painted first.
import "@fontsource-variable/inter/wght.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/ui.css";
import "./styles/windows.css";
import "./styles/shell.css";
import "./styles/forced.css";

/** After the next frame; immediately in a hidden tab, which has no frames. */
function painted(): Promise<void> {
  if (document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
  });
}

async function begin(place: HTMLElement): Promise<void> {
  if (place.hasChildNodes()) await painted();
  // The server renders the preload links inactive, so that the rows are painted first.
  for (const link of document.querySelectorAll<HTMLLinkElement>("link[data-rel]"))
    link.rel = link.dataset["rel"] ?? "";
  const { start } = await import("./app.tsx");
  await start(place);
}

const place = document.getElementById("app");
if (place !== null) void begin(place);
