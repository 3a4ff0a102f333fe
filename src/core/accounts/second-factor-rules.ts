// Codes of authenticator apps and recovery codes: which step of time may be used, what a typed code is, and what proves
// once more who is there where such an app is set up.

export const TOTP_STEP_SECONDS = 30;
export const TOTP_DIGITS = 6;
/** Clocks of phones may be off by so many steps either way. */
export const TOTP_WINDOW = 1;
export const RECOVERY_CODES = 10;
/** Letters of a recovery code; none that are mistaken for another. */
export const RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
export const RECOVERY_LENGTH = 10;
const RECOVERY_CODE = new RegExp(`^[${RECOVERY_ALPHABET}]+$`);

/** Whether the code of a step may be used: no step is taken twice, nor one before it. */
export function isStepFresh(step: number, lastStep: number | null): boolean {
  return lastStep === null || step > lastStep;
}

/** What somebody typed: the digits of an app, a recovery code, or neither. */
export function readTypedCode(typed: string): { kind: "totp" | "recovery"; code: string } | null {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, "");
  if (/^\d{6}$/.test(code)) return { kind: "totp", code };
  const isRecovery = code.length === RECOVERY_LENGTH && RECOVERY_CODE.test(code);
  return isRecovery ? { kind: "recovery", code } : null;
}

/** A recovery code as it is shown. */
export function shownRecoveryCode(code: string): string {
  return `${code.slice(0, RECOVERY_LENGTH / 2)}-${code.slice(RECOVERY_LENGTH / 2)}`;
}

/** What an account can be asked for. */
export type SetUpWays = { password: boolean; app: boolean };

/** What somebody has typed and was found to be right. A recovery code stands for one of the app. */
export type Shown = { password: boolean; mailedCode: boolean; appCode: boolean };

/**
 * Whether somebody who is signed in has proven once more who it is. Where an app is set up, its code is needed, as it is
 * for signing in; beside it the password, or a mailed code in its place. Without a password the code is enough.
 */
export function isProofEnough(ways: SetUpWays, { password, mailedCode, appCode }: Shown): boolean {
  const isFirstShown = password || mailedCode;
  return ways.app ? appCode && (isFirstShown || !ways.password) : isFirstShown;
}
