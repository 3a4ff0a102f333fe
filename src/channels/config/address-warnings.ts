// What can be said about the addresses in a configuration before anybody calls them. It looks no name up, and it
// refuses nothing: a channel may be made before the network is ready for it.
import { type DestinationPolicy, foreseenTrouble } from "../../lib/outgoing/destination.ts";
import { kindNamed } from "../registry.ts";
import { fieldsOf } from "./channel-config.ts";
import { readAddress } from "./web-address.ts";

/** The kind that needs no request to go out, and the field with its address. */
const EMAIL = "email";
const EMAIL_ADDRESS = "value";

type Typed = { kind: string; config: Readonly<Record<string, unknown>> };

/** How far messages of this installation get: where requests may go, and whether mail leaves at all. */
export type Reach = DestinationPolicy & { sendsMail: boolean };

/** As the settings have it. */
export function reachOf(set: { allowPrivateAddresses: boolean; smtpHost: string | null }): Reach {
  return { allowPrivate: set.allowPrivateAddresses, sendsMail: set.smtpHost !== null };
}

const SETTING = "OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS";
const NO_MAIL =
  "This server cannot send email, so messages will fail. To enable email, an admin must set OVERDUE_SMTP_HOST.";

const TEXTS: Readonly<Record<NonNullable<ReturnType<typeof foreseenTrouble>>, (host: string) => string>> = {
  private: (host) =>
    `${host} is on a private network, and this server blocks requests to private networks, so messages will fail. An admin can allow them with ${SETTING}=true.`,
  never: (host) => `${host} is a reserved address. Requests to it are always blocked, so messages will fail.`,
  port: (host) =>
    `${host} uses a port that is reserved for a protocol other than HTTP. Requests to it are blocked, so messages will fail.`,
};

/** A sentence for each address that nothing will reach, by its field. What is not yet an address is passed over. */
export function addressWarnings(
  { kind: name, config }: Typed,
  reach: Reach,
): { field: string; text: string }[] {
  const kind = kindNamed(name);
  if (kind === null) return [];
  return fieldsOf(kind).flatMap(([field, { format }]) => {
    const value = config[field];
    if (typeof value !== "string" || value === "") return [];
    if (name === EMAIL && field === EMAIL_ADDRESS) return reach.sendsMail ? [] : [{ field, text: NO_MAIL }];
    if (format !== "uri") return [];
    const address = readAddress(value);
    const url = address.ok ? URL.parse(address.value) : null;
    const trouble = url === null ? null : foreseenTrouble(url, reach);
    return url === null || trouble === null ? [] : [{ field, text: TEXTS[trouble](url.host) }];
  });
}
