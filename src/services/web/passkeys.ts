// Passkey options and verification. User verification is required, because a passkey signs in without a second factor.
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { isIP } from "node:net";
import { CREDENTIAL_ID_LENGTH_MAX, PUBLIC_KEY_BYTES_MAX } from "../../core/limits.ts";
import type { Visitor } from "../../operations/attempts.ts";
import {
  lookUpPasskey,
  type NewPasskey,
  openChallenge,
  passkeysOf,
  takeChallenge,
} from "../../operations/credentials.ts";
import type { Passkey } from "../../store/credentials.ts";
import { type WebContext, WebRefusal } from "./route.ts";

/** Loaded when it is first used: its parsers need more memory than the rest of sign-in. */
const webAuthn = () => import("@simplewebauthn/server");

const TIMEOUT_MS = 300_000;
/** Every transport that WebAuthn names. */
const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"] as const;

/** Whether browsers support passkeys at the public URL: they require https and a host name. */
export function hasPasskeys({ site }: Pick<WebContext, "site">): boolean {
  const { protocol, hostname } = new URL(site.url);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, "")) !== 0;
  return !isAddress && (protocol === "https:" || hostname === "localhost" || hostname.endsWith(".localhost"));
}

function relyingParty({ site }: WebContext): { rpID: string; origin: string } {
  const { hostname, origin } = new URL(site.url);
  return { rpID: hostname, origin };
}

type Owner = { accountId: number; uuid: string; email: string; name: string };

/** The options for creating a passkey. */
export async function registrationOptions(
  context: WebContext,
  { owner, visitor }: { owner: Owner; visitor: Visitor },
) {
  const known = await passkeysOf(context.database, owner.accountId);
  const { generateRegistrationOptions } = await webAuthn();
  const options = await generateRegistrationOptions({
    rpName: context.site.name,
    rpID: relyingParty(context).rpID,
    userName: owner.email,
    userDisplayName: owner.name || owner.email,
    userID: new TextEncoder().encode(owner.uuid),
    timeout: TIMEOUT_MS,
    attestationType: "none",
    excludeCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  const { challenge } = options;
  const of = { challenge, kind: "newPasskey", accountId: owner.accountId, about: {}, visitor } as const;
  await openChallenge(context.database, of);
  return options;
}

/** The same for every reason: before sign-in it must not say which passkeys are registered. */
const NOT_ACCEPTED = "This passkey was not accepted. Try again or use another sign-in method.";

/** The passkey that a browser has created. Throws WebRefusal if its response is invalid. */
export async function readRegistration(
  context: WebContext,
  of: { accountId: number; name: string; response: Record<string, unknown>; visitor: Visitor },
): Promise<NewPasskey> {
  const { accountId, name, visitor } = of;
  const response = of.response as unknown as RegistrationResponseJSON;
  const { rpID, origin } = relyingParty(context);
  const { verifyRegistrationResponse } = await webAuthn();
  const verified = await verifyRegistrationResponse({
    response,
    expectedChallenge: async (challenge) => {
      const taken = await takeChallenge(context.database, {
        challenge,
        kind: "newPasskey",
        now: visitor.now,
      });
      return taken?.accountId === accountId;
    },
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
  }).catch((error: unknown) => refuse(context, error));
  if (!verified.verified) throw new WebRefusal("invalid", NOT_ACCEPTED);
  const { credential } = verified.registrationInfo;
  const { id, publicKey, transports = [] } = credential;
  if (id.length > CREDENTIAL_ID_LENGTH_MAX || publicKey.length > PUBLIC_KEY_BYTES_MAX) {
    throw new WebRefusal("invalid", "This passkey is too large to store.");
  }
  return {
    name: name.trim() || "Passkey",
    credentialId: id,
    publicKey: Buffer.from(publicKey),
    useCount: credential.counter,
    // The browser may send any list of texts here.
    transports: TRANSPORTS.filter((transport) => transports.includes(transport)),
  };
}

/** The options for authenticating with a passkey; for a specific account, if known. */
export async function authenticationOptions(
  context: WebContext,
  { accountId, visitor }: { accountId: number | null; visitor: Visitor },
) {
  const known = accountId === null ? [] : await passkeysOf(context.database, accountId);
  const { generateAuthenticationOptions } = await webAuthn();
  const options = await generateAuthenticationOptions({
    rpID: relyingParty(context).rpID,
    timeout: TIMEOUT_MS,
    userVerification: "required",
    ...(known.length > 0 && {
      allowCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
    }),
  });
  const { challenge } = options;
  await openChallenge(context.database, { challenge, kind: "passkey", accountId, about: {}, visitor });
  return options;
}

/** The passkey that was used, and its counter. Throws WebRefusal if the response is invalid. */
export async function readAuthentication(
  context: WebContext,
  of: { accountId: number | null; response: Record<string, unknown>; visitor: Visitor },
): Promise<{ passkey: Passkey; useCount: number }> {
  const { accountId, visitor } = of;
  const response = of.response as unknown as AuthenticationResponseJSON;
  const passkey = typeof response.id === "string" ? await lookUpPasskey(context.database, response.id) : null;
  if (passkey === null || (accountId !== null && passkey.accountId !== accountId)) {
    throw new WebRefusal("invalid", NOT_ACCEPTED);
  }
  const { rpID, origin } = relyingParty(context);
  const { verifyAuthenticationResponse } = await webAuthn();
  const verified = await verifyAuthenticationResponse({
    response,
    expectedChallenge: async (challenge) => {
      const taken = await takeChallenge(context.database, { challenge, kind: "passkey", now: visitor.now });
      return taken !== null && taken.accountId === accountId;
    },
    expectedOrigin: origin,
    expectedRPID: rpID,
    credential: {
      id: passkey.credentialId,
      publicKey: new Uint8Array(passkey.publicKey),
      counter: passkey.useCount,
    },
    requireUserVerification: true,
  }).catch((error: unknown) => refuse(context, error));
  if (!verified.verified) throw new WebRefusal("invalid", NOT_ACCEPTED);
  return { passkey, useCount: verified.authenticationInfo.newCounter };
}

/** Errors of the library describe what is wrong with the response; they are only logged, and are not bugs. */
function refuse({ log }: WebContext, error: unknown): never {
  if (error instanceof WebRefusal) throw error;
  log.info({ reason: error instanceof Error ? error.message : String(error) }, "passkey rejected");
  throw new WebRefusal("invalid", NOT_ACCEPTED);
}
