// The style sheet of public status pages. It is part of each page, so that a page is one response and works on a domain
// that serves nothing else. The state colors are those of the dashboard and cannot be changed by a brand.

import type { Brand, BrandToken } from "../../core/status-page.ts";

const DEFAULT_BRAND: Readonly<Record<BrandToken, string>> = {
  background: "#252650",
  accent: "#5a4aa8",
  ink: "#ffffff",
  button: "#252650",
};
/** The second light in the header, with the default colors. */
const DEFAULT_GLOW = "#1d7a8c";

const HEX_COLOR = /^#[0-9a-f]{6}$/i;

/** The brand as custom properties. Anything that is not a color of six digits is replaced by the default. */
export function brandStyle(brand: Brand): string {
  const chosen = (token: BrandToken) => {
    const color = brand[token];
    return color !== null && HEX_COLOR.test(color) ? color : null;
  };
  const background = chosen("background") ?? DEFAULT_BRAND.background;
  const accent = chosen("accent");
  const glow = accent ?? (chosen("background") === null ? DEFAULT_GLOW : background);
  return `:root{--brand:${background};--brand-2:${accent ?? DEFAULT_BRAND.accent};--brand-3:${glow};--brand-ink:${chosen("ink") ?? DEFAULT_BRAND.ink};--brand-button:${chosen("button") ?? background}}`;
}

/** `fontHref`: where the page finds its font; null: the font of the system. */
export function fontStyle(fontHref: string | null): string {
  if (fontHref === null) return "";
  return `@font-face{font-family:"Inter Variable";font-style:normal;font-display:swap;font-weight:100 900;src:url("${fontHref}") format("woff2")}`;
}

export const STATUS_STYLE = `
:root {
  color-scheme: light dark;
  --font: "Inter Variable", system-ui, -apple-system, "Segoe UI", sans-serif;
  --bg: light-dark(oklch(0.985 0.003 85), oklch(0.175 0.006 270));
  --surface: light-dark(oklch(1 0 0), oklch(0.21 0.007 270));
  --raised: light-dark(oklch(0.97 0.004 85), oklch(0.255 0.009 270));
  --line: light-dark(oklch(0.915 0.005 85), oklch(0.305 0.01 270));
  --line-strong: light-dark(oklch(0.83 0.007 85), oklch(0.4 0.012 270));
  --shadow: 0 4px 16px light-dark(oklch(0.3 0.02 270 / 0.1), oklch(0 0 0 / 0.4)), 0 1px 3px light-dark(oklch(0.3 0.02 270 / 0.08), oklch(0 0 0 / 0.35));
  --shadow-l: 0 16px 48px light-dark(oklch(0.3 0.02 270 / 0.18), oklch(0 0 0 / 0.55)), 0 2px 8px light-dark(oklch(0.3 0.02 270 / 0.08), oklch(0 0 0 / 0.4));
  --ink: light-dark(oklch(0.25 0.012 270), oklch(0.95 0.004 85));
  --ink-2: light-dark(oklch(0.45 0.012 270), oklch(0.77 0.008 85));
  --ink-3: light-dark(oklch(0.53 0.01 270), oklch(0.68 0.01 85));
  --accent: light-dark(oklch(0.48 0.17 266), oklch(0.76 0.12 266));
  --up: light-dark(oklch(0.48 0.11 160), oklch(0.8 0.14 160));
  --up-mark: light-dark(oklch(0.68 0.13 160), oklch(0.66 0.13 160));
  --late: light-dark(oklch(0.5 0.11 70), oklch(0.83 0.14 80));
  --late-mark: light-dark(oklch(0.78 0.15 75), oklch(0.76 0.15 75));
  --late-soft: light-dark(oklch(0.965 0.035 85), oklch(0.28 0.04 75));
  --down: light-dark(oklch(0.5 0.19 25), oklch(0.75 0.16 25));
  --down-mark: light-dark(oklch(0.6 0.21 25), oklch(0.63 0.2 25));
  --down-soft: light-dark(oklch(0.965 0.02 25), oklch(0.275 0.05 25));
  --run: light-dark(oklch(0.48 0.14 240), oklch(0.8 0.1 235));
  --run-mark: light-dark(oklch(0.63 0.14 240), oklch(0.68 0.13 235));
  --idle: light-dark(oklch(0.5 0.01 270), oklch(0.7 0.01 270));
  --idle-mark: light-dark(oklch(0.72 0.008 270), oklch(0.5 0.012 270));
}
* { box-sizing: border-box; }
html { -webkit-font-smoothing: antialiased; text-size-adjust: 100%; accent-color: var(--accent); }
body { margin: 0; font: 400 15px/1.5 var(--font); background: var(--bg); color: var(--ink); overflow-wrap: anywhere; }
a { color: inherit; text-decoration: none; }
button, input { font: inherit; color: inherit; }
h1, h2, h3, p, ul, ol { margin: 0; padding: 0; }
ul, ol { list-style: none; }
h1 { font-size: 28px; font-weight: 620; letter-spacing: -0.022em; line-height: 1.2; text-wrap: balance; }
time, .fig { font-variant-numeric: tabular-nums; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.sr { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; white-space: nowrap; }
.link { color: var(--accent); font-weight: 500; }
.link:hover, .hero a:hover { text-decoration: underline; text-underline-offset: 3px; }
.shape { flex: none; display: block; }
.wrap { max-width: 860px; margin: 0 auto; padding-inline: 24px; }
.skip { position: absolute; left: 12px; top: -60px; padding: 8px 14px; border-radius: 8px; background: var(--surface); color: var(--ink); z-index: 5; }
.skip:focus { top: 12px; }

.hero { padding-bottom: 104px; color: var(--brand-ink); background: radial-gradient(60% 120% at 85% 0%, color-mix(in oklch, var(--brand-2) 75%, transparent), transparent 70%), radial-gradient(50% 140% at 20% 110%, color-mix(in oklch, var(--brand-3) 55%, transparent), transparent 70%), var(--brand); }
.hero .wrap { display: flex; align-items: center; gap: 12px 24px; padding-block: 22px; min-height: 76px; }
.logo { display: inline-flex; gap: 10px; align-items: center; min-height: 32px; font-weight: 650; font-size: 18px; letter-spacing: -0.015em; }
.logo img { display: block; max-height: 32px; max-width: 220px; }
.hero nav { margin-left: auto; display: flex; flex-wrap: wrap; gap: 4px 20px; font-size: 14px; }
.hero nav a { padding-block: 4px; }

.now { position: relative; margin-top: -88px; padding: 28px 32px; display: grid; grid-template-columns: auto 1fr auto; gap: 4px 18px; align-items: center; background: var(--surface); border: 1px solid var(--line); border-radius: 16px; box-shadow: var(--shadow); }
.now > .shape { grid-row: span 2; }
.now > p { grid-column: 2; color: var(--ink-2); }
.updates { grid-row: 1 / span 2; grid-column: 3; position: relative; }
.updates summary { list-style: none; cursor: pointer; padding: 9px 16px; border-radius: 8px; background: var(--brand-button); color: var(--brand-ink); font-weight: 560; box-shadow: inset 0 0 0 1px light-dark(transparent, oklch(1 0 0 / 0.16)); }
.updates summary::-webkit-details-marker { display: none; }
.updates[open] summary { opacity: 0.92; }
.updates > div { position: absolute; right: 0; top: 50px; z-index: 3; width: 328px; padding: 16px; display: grid; gap: 12px; font-size: 14px; background: var(--surface); border: 1px solid var(--line); border-radius: 12px; box-shadow: var(--shadow-l); }
form { display: grid; gap: 10px; margin: 0; }
label { display: grid; gap: 5px; font-size: 13px; font-weight: 560; }
input { width: 100%; min-height: 40px; padding: 7px 11px; font-size: 15px; font-weight: 400; border: 1px solid var(--line-strong); border-radius: 8px; background: var(--surface); }
.button { min-height: 40px; padding: 8px 16px; border: 1px solid var(--line-strong); border-radius: 8px; background: var(--surface); font-weight: 560; cursor: pointer; }
.button:hover { background: var(--raised); }
.button.is-main { border: 0; background: var(--brand-button); color: var(--brand-ink); box-shadow: inset 0 0 0 1px light-dark(transparent, oklch(1 0 0 / 0.16)); }
.feeds { color: var(--ink-2); font-size: 13px; }

.under { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px 24px; margin-top: 10px; font-size: 12px; color: var(--ink-3); }
.about { flex: 1 1 240px; font-size: 14px; color: var(--ink-2); white-space: pre-line; }
.updated { margin-left: auto; }
.stale { margin-top: 12px; padding: 10px 16px; display: flex; gap: 8px; align-items: center; border-radius: 12px; background: var(--late-soft); font-size: 14px; }
.live { margin-top: 12px; padding: 16px 20px; border-left: 4px solid var(--down-mark); border-radius: 0 12px 12px 0; background: var(--down-soft); }
.live h2, .plan h2 { display: flex; gap: 8px; align-items: center; font-size: 16px; font-weight: 600; }
.live > p { color: var(--ink-2); font-size: 14px; }
.live ol { margin-top: 8px; display: grid; grid-template-columns: fit-content(40%) 1fr; gap: 6px 20px; }
.live li { display: contents; }
.live time { color: var(--ink-2); }
.note { white-space: pre-line; }
.plan { margin-top: 12px; padding: 14px 20px; border: 1px solid var(--line); border-left: 4px solid var(--run-mark); border-radius: 0 12px 12px 0; background: var(--surface); }
.plan h2 { font-size: 15px; }
.plan p { color: var(--ink-2); font-size: 14px; }

.group { margin-top: 36px; }
.group > h2 { display: flex; justify-content: space-between; gap: 12px; padding-bottom: 8px; border-bottom: 1px solid var(--line); font-size: 16px; font-weight: 600; }
.group > h2 .span { margin-left: auto; align-self: end; flex: none; font-weight: 450; font-size: 13px; color: var(--ink-3); }
.entry { display: grid; grid-template-columns: 1fr auto; gap: 6px 12px; padding: 14px 0 16px; }
.entry + .entry { border-top: 1px solid var(--line); }
.entry h3 { font-size: 15px; font-weight: 560; }
.entry .is { display: flex; gap: 16px; align-items: center; font-size: 14px; }
.entry .word { display: flex; gap: 7px; align-items: center; min-width: 106px; }
.percent { color: var(--ink-2); font-variant-numeric: tabular-nums; font-size: 13px; }
.entry .about { grid-column: 1 / -1; margin-top: -4px; font-size: 13px; }
.is-operational { color: var(--up); }
.is-delayed { color: var(--late); }
.is-down { color: var(--down); }
.is-maintenance { color: var(--run); }
.is-unknown { color: var(--idle); }
.strip { grid-column: 1 / -1; display: block; width: 100%; height: 30px; }
.u { fill: var(--up-mark); opacity: 0.85; }
.l { fill: var(--late-mark); }
.d { fill: var(--down-mark); }
.n { fill: var(--line-strong); }
.keys { display: flex; flex-wrap: wrap; gap: 6px 16px; margin-top: 28px; font-size: 12px; color: var(--ink-2); }
.keys span { display: inline-flex; gap: 6px; align-items: end; }
.bare { margin-top: 36px; padding: 28px; border: 1px dashed var(--line-strong); border-radius: 12px; color: var(--ink-2); text-align: center; }

.past { margin-top: 48px; }
.past > h2 { margin-bottom: 8px; font-size: 18px; font-weight: 600; letter-spacing: -0.01em; }
.day { display: grid; grid-template-columns: 132px 1fr; gap: 20px; padding: 14px 0; border-top: 1px solid var(--line); }
.day:last-child { border-bottom: 1px solid var(--line); }
.none { padding: 14px 0; border-block: 1px solid var(--line); color: var(--ink-2); font-size: 14px; }
.day > b { font-weight: 560; }
.day h3 { font-size: 15px; font-weight: 600; }
.day p { color: var(--ink-2); font-size: 14px; }
.day .when { color: var(--ink-3); font-size: 13px; }
.day div + div { margin-top: 12px; }

footer { margin: 40px 0 32px; display: flex; justify-content: space-between; flex-wrap: wrap; gap: 8px 24px; font-size: 13px; color: var(--ink-3); }

.alone { max-width: 480px; margin: -72px auto 0; padding-inline: 16px; }
.card { padding: 26px 28px 30px; background: var(--surface); border: 1px solid var(--line); border-radius: 16px; box-shadow: var(--shadow); display: grid; gap: 14px; }
.card h1 { font-size: 22px; }
.card p { color: var(--ink-2); }
.mistake { color: var(--down) !important; font-size: 14px; }

@media (max-width: 720px) {
  .wrap { padding-inline: 16px; }
  .hero nav { display: none; }
  .now { grid-template-columns: auto 1fr; padding: 20px; }
  .now h1 { font-size: 22px; }
  .now > .shape { align-self: start; margin-top: 2px; grid-row: 1; width: 36px; height: 36px; }
  .now > p { order: 2; }
  .updates { grid-row: auto; grid-column: 1 / -1; order: 3; margin-top: 12px; }
  .updates summary { padding: 11px; text-align: center; }
  .updates > div { position: static; width: auto; margin-top: 8px; box-shadow: none; }
  .day { grid-template-columns: 1fr; gap: 4px; }
  .entry .word { min-width: 0; }
  .button, .updates input { min-height: 44px; }
}
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
@media (forced-colors: active) { .u, .l, .d { fill: CanvasText; } .n { fill: GrayText; } .shape path, .shape circle, .shape rect { stroke: CanvasText; } }
@media print { .hero { background: none; color: inherit; padding-bottom: 0; } .now { margin-top: 0; box-shadow: none; } .updates { display: none; } }
`;
