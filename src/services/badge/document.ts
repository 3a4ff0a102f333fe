// What a badge says, in the three forms it can be asked for.
import { BADGE_LOOK, type BadgeSummary } from "../../core/badge.ts";
import type { BadgeFormat } from "./address.ts";
import { drawBadge } from "./svg.ts";

export type BadgeDocument = { type: string; body: string };

const JSON_TYPE = "application/json";

/** The document of a badge. In its JSON form the label does not appear: its reader has asked for it by name. */
export function badgeDocument(
  format: BadgeFormat,
  { label, summary }: { label: string; summary: BadgeSummary },
): BadgeDocument {
  const { status, total, grace, down } = summary;
  const { fill, shieldsColor } = BADGE_LOOK[status];
  switch (format) {
    case "svg":
      return { type: "image/svg+xml", body: drawBadge({ label, value: status, valueFill: fill }) };
    case "json":
      return { type: JSON_TYPE, body: JSON.stringify({ status, total, grace, down }) };
    case "shields": {
      const shown = { schemaVersion: 1, label, message: status, color: shieldsColor };
      return { type: JSON_TYPE, body: JSON.stringify(shown) };
    }
  }
}
