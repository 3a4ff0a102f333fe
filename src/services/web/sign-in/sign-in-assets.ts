// The style sheet and the script of the pages of signing in. Colours and sizes are the dashboard's; where it is not
// built, the browser's own stand in for them. The script does passkeys and nothing else.

export const SIGN_IN_STYLE = `
.sign-in { margin: 0; min-height: 100vh; padding: 10vh 16px 32px; box-sizing: border-box;
  background: var(--bg, Canvas); color: var(--ink, CanvasText); font: 400 1rem/1.5 var(--font, system-ui, sans-serif); }
.sign-in *, .sign-in *::before { box-sizing: border-box; }
.sign-in-head, .sign-in-card { max-width: 26rem; margin: 0 auto; overflow-wrap: anywhere; }
.sign-in-head { padding: 0 4px 16px; }
.sign-in-head a { display: inline-flex; gap: 8px; align-items: center; color: inherit; text-decoration: none;
  font-weight: 650; font-size: 1.0625rem; letter-spacing: -0.015em; }
.sign-in-head circle { fill: var(--down-mark, #d33); }
.sign-in-card { padding: 28px 28px 30px; background: var(--surface, Canvas); border: 1px solid var(--line, GrayText);
  border-radius: var(--radius-l, 12px); box-shadow: var(--shadow-m, none); }
.sign-in-card h1 { margin: 0 0 12px; font-size: 1.375rem; line-height: 1.3; font-weight: 620; letter-spacing: -0.01em; }
.sign-in-card p { margin: 0 0 10px; color: var(--ink-2, inherit); }
.sign-in-card form { margin: 16px 0 0; }
.sign-in-field { margin: 0 0 14px; }
.sign-in-field label { display: block; margin: 0 0 4px; font-size: 0.875rem; font-weight: 560; }
.sign-in-field input { width: 100%; min-height: 44px; padding: 8px 12px; font: inherit; color: inherit;
  background: var(--bg, Field); border: 1px solid var(--line-strong, GrayText); border-radius: var(--radius-m, 8px); }
.sign-in-field input[aria-invalid] { border-color: var(--down, CanvasText); }
.sign-in-card code { white-space: nowrap; }
.sign-in-card .sign-in-hint { margin: 4px 0 0; font-size: 0.8125rem; color: var(--ink-3, inherit); }
.sign-in-card > .sign-in-hint { margin-top: 12px; }
.sign-in-card button, .sign-in-button { display: block; width: 100%; min-height: 44px; padding: 10px 18px; text-align: center;
  font: inherit; font-weight: 600; line-height: 22px; cursor: pointer; text-decoration: none; border: 1px solid transparent;
  border-radius: var(--radius-m, 8px); background: var(--accent, ButtonFace); color: var(--accent-ink, ButtonText); }
.sign-in-card button:hover { background: var(--accent-hover, ButtonFace); }
.sign-in-card .is-quiet, .sign-in-card button.is-quiet:hover { background: var(--surface, ButtonFace); color: var(--ink, ButtonText);
  border-color: var(--line-strong, GrayText); }
.sign-in-card button.is-quiet:hover, .sign-in-button.is-quiet:hover { background: var(--raised, ButtonFace); }
.sign-in :focus-visible { outline: 2px solid var(--accent, Highlight); outline-offset: 2px; }
.sign-in-card .sign-in-trouble { padding: 10px 12px; border-radius: var(--radius-m, 8px); color: var(--down, inherit);
  background: var(--down-soft, transparent); border: 1px solid currentColor; }
.sign-in-or { display: flex; align-items: center; gap: 12px; margin: 18px 0 !important; font-size: 0.8125rem; }
.sign-in-or::before, .sign-in-or::after { content: ""; flex: 1; border-top: 1px solid var(--line, GrayText); }
.sign-in-passkey { margin: 0 0 10px; }
.sign-in-passkey:last-child { margin: 0; }
.sign-in-passkey .sign-in-trouble { margin-top: 10px; }
.sign-in-card [hidden] { display: none; }
@media (max-width: 480px) { .sign-in { padding-top: 24px; } .sign-in-card { padding: 22px 18px 24px; } }
`;

export const PASSKEY_SCRIPT = `"use strict";
// Asks the browser for a passkey, and the server whether it is right.
(() => {
  const knows = typeof PublicKeyCredential === "function" && "parseRequestOptionsFromJSON" in PublicKeyCredential;
  if (!knows) return;
  const post = async (address, body) => {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  };
  for (const box of document.querySelectorAll(".sign-in-passkey")) {
    const button = box.querySelector("button");
    const trouble = box.querySelector(".sign-in-trouble");
    box.hidden = false;
    button.addEventListener("click", async () => {
      trouble.hidden = true;
      button.disabled = true;
      try {
        const { api, next } = box.dataset;
        const options = await post(api + "/options", { next });
        const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
        const credential = await navigator.credentials.get({ publicKey });
        const done = await post(api, { next, response: credential.toJSON() });
        location.assign(done.next);
      } catch (error) {
        const isOver = error instanceof DOMException;
        trouble.textContent = isOver ? "The passkey request was canceled or timed out. Try again." : error.message;
        trouble.hidden = false;
        button.disabled = false;
      }
    });
  }
})();
`;
