// On every page, while this server runs on a restored or copied database: nothing is sent.
import { useSyncExternalStore } from "react";
import { Link } from "wouter";
import type { Boot } from "../../src/contract/web/boot.ts";
import { boot } from "../boot/boot.ts";
import { Band } from "../ui/band.tsx";
import { words } from "../words/shared.ts";
import { pageHref } from "./page-address.ts";

let state: Boot["serviceState"] = boot.serviceState;
const listeners = new Set<() => void>();

/** Somebody has confirmed, or the server has said how it is. */
export function setServiceState(next: Boot["serviceState"]): void {
  state = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function ServiceBand() {
  const shown = useSyncExternalStore(listen, () => state);
  if (shown === "normal" || boot.account === null) return null;
  const { text, act, admin } = words.safeMode;
  if (!boot.account.isOperator) return <Band text={`${text} ${admin}`} />;
  return (
    <Band text={text}>
      <Link className="link" href={pageHref("admin")}>
        {act}
      </Link>
    </Band>
  );
}
