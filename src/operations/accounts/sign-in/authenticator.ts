// Authenticator apps and recovery codes: setting one up, using its codes, and taking it away.
import { createHmac } from "node:crypto";
import {
  isStepFresh,
  readTypedCode,
  RECOVERY_ALPHABET,
  RECOVERY_CODES,
  RECOVERY_LENGTH,
  shownRecoveryCode,
  TOTP_DIGITS,
  TOTP_STEP_SECONDS,
  TOTP_WINDOW,
} from "../../../core/accounts/second-factor-rules.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { randomText } from "../../../lib/secrets/random-text.ts";
import { seal, type SealOf, unseal } from "../../../lib/secrets/seal.ts";
import { newTotpSecret, qrFields, totpStep, totpUri } from "../../../lib/secrets/totp.ts";
import {
  confirmAuthenticator,
  deleteAuthenticator,
  findAuthenticator,
  useAuthenticatorStep,
  useRecoveryCode,
  writeAuthenticator,
  writeRecoveryCodes,
} from "../../../store/accounts/authenticators.ts";
import type { Database } from "../../../store/db.ts";
import { inTransaction, type Tx } from "../../../store/transaction.ts";
import { countAttempts } from "./attempts.ts";
import { audit } from "../audit.ts";
import { noteWay } from "./note-way.ts";

const SHAPE = { digits: TOTP_DIGITS, stepSeconds: TOTP_STEP_SECONDS };

function sealOf({ accountId, secretKey }: { accountId: number; secretKey: string }): SealOf {
  return { secretKey, purpose: "totp", owner: String(accountId) };
}

export type Person = { accountId: number; email: string };

export type AppSetUp = { secret: string; uri: string; qr: boolean[][] };

/** Begins to set an app up: what it has to be told. AppError `conflict` while there is one that works. */
export async function beginAuthenticator(
  database: Database,
  { person, secretKey, siteName, now }: { person: Person; secretKey: string; siteName: string; now: Instant },
): Promise<AppSetUp> {
  const { accountId, email } = person;
  const secret = newTotpSecret();
  const sealed = seal(secret, sealOf({ accountId, secretKey }));
  const isNew = await inTransaction(database, (tx) => writeAuthenticator(tx, { accountId, sealed, at: now }));
  if (!isNew) throw new AppError("conflict", "An authenticator app is already set up. Remove it first.");
  const uri = totpUri(secret, { ...SHAPE, issuer: siteName, label: email });
  return { secret: secret.replaceAll(/(.{4})(?=.)/g, "$1 "), uri, qr: qrFields(uri) };
}

export type CodeRequest = { person: Person; code: string; secretKey: string; now: Instant };

/** Confirms the app by its first code, and gives the recovery codes, once. AppError `invalid` for a wrong code. */
export async function finishAuthenticator(database: Database, request: CodeRequest): Promise<string[]> {
  const { person, code, secretKey, now } = request;
  const { accountId } = person;
  await countAttempts(database, [{ kind: "secondFactor", subject: String(accountId) }], { now });
  const app = await findAuthenticator(database, accountId);
  if (app === null || app.confirmedAt !== null)
    throw new AppError("conflict", "No authenticator app setup is in progress.");
  const secret = unseal(app.sealed, sealOf({ accountId, secretKey }));
  const typed = readTypedCode(code);
  const step =
    secret === null || typed?.kind !== "totp"
      ? null
      : totpStep(typed.code, { ...SHAPE, secret, now, window: TOTP_WINDOW });
  if (step === null) {
    throw new AppError("invalid", "The code is incorrect. Check that the clock on your phone is correct.");
  }
  return inTransaction(database, async (tx) => {
    if (!(await confirmAuthenticator(tx, { accountId, at: now, step }))) {
      throw new AppError("conflict", "No authenticator app setup is in progress.");
    }
    const codes = await newCodes(tx, { accountId, secretKey });
    await noteWay(tx, { person, what: "totpAdded", at: now });
    return codes;
  });
}

/** New recovery codes; the old ones are good for nothing from now on. AppError `conflict` without an app. */
export async function renewRecoveryCodes(
  database: Database,
  { person, secretKey, now }: Omit<CodeRequest, "code">,
): Promise<string[]> {
  const { accountId, email } = person;
  return inTransaction(database, async (tx) => {
    const app = await findAuthenticator(tx, accountId);
    if (app === null || app.confirmedAt === null)
      throw new AppError("conflict", "No authenticator app is set up.");
    const codes = await newCodes(tx, { accountId, secretKey });
    const what = "account.codesRenewed";
    await audit(tx, {
      projectId: null,
      accountId,
      keyId: null,
      what,
      subject: email,
      before: null,
      after: null,
      at: now,
    });
    return codes;
  });
}

async function newCodes(
  tx: Tx,
  { accountId, secretKey }: { accountId: number; secretKey: string },
): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    randomText({ alphabet: RECOVERY_ALPHABET, length: RECOVERY_LENGTH }),
  );
  const digests = codes.map((code) => digestOfCode(code, { accountId, secretKey }));
  await writeRecoveryCodes(tx, { accountId, digests });
  return codes.map(shownRecoveryCode);
}

/** Keyed, because a code is short enough to be found by trying all. */
function digestOfCode(
  code: string,
  { accountId, secretKey }: { accountId: number; secretKey: string },
): Buffer {
  return createHmac("sha256", secretKey).update(`recovery\n${accountId}\n${code}`).digest();
}

export type TypedCode = NonNullable<ReturnType<typeof readTypedCode>>;

/** Uses a typed code of an account. False: it is wrong, or was used before. */
export async function useTypedCode(
  tx: Tx,
  request: { accountId: number; typed: TypedCode; now: Instant; secretKey: string },
): Promise<boolean> {
  const { accountId, typed, now, secretKey } = request;
  if (typed.kind === "recovery") {
    return useRecoveryCode(tx, { accountId, digest: digestOfCode(typed.code, request), at: now });
  }
  const app = await findAuthenticator(tx, accountId);
  const secret = app === null ? null : unseal(app.sealed, sealOf({ accountId, secretKey }));
  if (app === null || app.confirmedAt === null || secret === null) return false;
  const step = totpStep(typed.code, { ...SHAPE, secret, now, window: TOTP_WINDOW });
  if (step === null || !isStepFresh(step, app.lastStep)) return false;
  return useAuthenticatorStep(tx, { accountId, step });
}

/** Takes the app and its recovery codes away. False: there was none. `actorId` null is the command line. */
export async function removeAuthenticator(
  database: Database,
  { person, actorId, now }: { person: Person; actorId: number | null; now: Instant },
): Promise<boolean> {
  const { accountId } = person;
  return inTransaction(database, async (tx) => {
    const hadOne = await deleteAuthenticator(tx, accountId);
    await writeRecoveryCodes(tx, { accountId, digests: [] });
    if (!hadOne) return false;
    await noteWay(tx, { person, what: "totpRemoved", actorId, at: now });
    return true;
  });
}
