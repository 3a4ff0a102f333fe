// Browsers that somebody was signed in with before: how such a one is known again, and by what its tries are counted.
// Otherwise strangers who guess would use up the tries of whoever an address belongs to. It opens nothing by itself.
import type { Signing } from "../alerts/mail-tokens.ts";
import { DAY_MS, type Instant } from "../instant.ts";
import { type AttemptKind, countedAddress } from "./attempt-rules.ts";
import { SESSION_DAYS_MAX } from "./session-rules.ts";

/** A browser is known for as long as its session could have lasted. */
export const DEVICE_DAYS_MAX = SESSION_DAYS_MAX;

/** Clocks of ours may differ by so much. */
const EARLY_MS_MAX = DAY_MS;
const DEVICE = /^(?<id>[\w-]{16,64})\.(?<at>[0-9]{1,15})\.(?<signature>[0-9a-f]{64})$/;

type Device = { accountId: number; id: string; at: string };

function signatureOf(signing: Signing, { accountId, id, at }: Device): string {
  return signing.sign(["device", accountId, id, at].join("\n"));
}

/** What a browser keeps when it was signed in to an account; `id` is random. */
export function deviceToken(
  signing: Signing,
  { accountId, id, at }: { accountId: number; id: string; at: Instant },
): string {
  return `${id}.${at}.${signatureOf(signing, { accountId, id, at: String(at) })}`;
}

/** `knownFromAt`: since when browsers of the account are known; null: at whatever time they were signed in. */
export type DeviceReading = {
  signing: Signing;
  accountId: number;
  knownFromAt: Instant | null;
  now: Instant;
};

/**
 * Which browser of this account it is; null: none that we know, too long ago, or known only from before the password
 * was set, or all other sessions were ended. Whoever was in before that keeps nothing of it.
 */
export function readDevice(
  token: string,
  { signing, accountId, knownFromAt, now }: DeviceReading,
): string | null {
  const { id, at, signature } = DEVICE.exec(token)?.groups ?? {};
  if (id === undefined || at === undefined || signature === undefined) return null;
  if (!signing.isSame(signature, signatureOf(signing, { accountId, id, at }))) return null;
  if (knownFromAt !== null && Number(at) < knownFromAt) return null;
  const ageMs = now - Number(at);
  return ageMs >= -EARLY_MS_MAX && ageMs < DEVICE_DAYS_MAX * DAY_MS ? id : null;
}

export type Counted = { kind: AttemptKind; subject: string };

/** Who tries: with which address, from which network, and with which known browser of the account, if any. */
export type Trying = { email: string; network: string; deviceId: string | null };

/**
 * What a try of a password is counted by. A browser that is known has tries of its own, which no stranger can use up;
 * everybody else shares those of the network, those for the address from there, and slower ones for the address. All
 * known browsers of an account together are bounded, too: somebody may have signed in with many.
 */
export function passwordTries({ email, network, deviceId }: Trying): Counted[] {
  if (deviceId !== null) {
    return [
      { kind: "passwordByDevice", subject: deviceId },
      { kind: "passwordByDevices", subject: email },
    ];
  }
  const address = countedAddress(email);
  return [
    { kind: "passwordByNetwork", subject: network },
    { kind: "passwordByAddressThere", subject: `${address}\n${network}` },
    { kind: "passwordByAddress", subject: address },
  ];
}

/** What asking for a mailed link is counted by. */
export function linkTries({ email, network, deviceId }: Trying): Counted[] {
  if (deviceId !== null) {
    return [
      { kind: "linkByDevice", subject: deviceId },
      { kind: "linkByDevices", subject: email },
    ];
  }
  return [
    { kind: "linkByNetwork", subject: network },
    { kind: "linkByAddress", subject: countedAddress(email) },
  ];
}

/** What the code of the second step is counted by: whoever has learned the password must not use up its owner's tries. */
export function codeTries({
  accountId,
  deviceId,
}: {
  accountId: number;
  deviceId: string | null;
}): Counted[] {
  const account = String(accountId);
  if (deviceId === null) return [{ kind: "secondFactor", subject: account }];
  return [
    { kind: "secondFactorByDevice", subject: deviceId },
    { kind: "secondFactorByDevices", subject: account },
  ];
}
