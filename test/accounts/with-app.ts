// An authenticator app for somebody of the cast, set up as the account page would.
import { Secret, TOTP } from "otpauth";
import { beginAuthenticator, finishAuthenticator } from "../../src/operations/credentials.ts";
import type { Account } from "../../src/store/accounts.ts";
import type { Cast } from "../management/cast.ts";

/** Takes the place of whatever apps there are; answers with the app and its recovery codes. */
export async function withApp(
  cast: Cast,
  { id: accountId, email }: Pick<Account, "id" | "email">,
): Promise<{ app: TOTP; codes: string[] }> {
  const person = { accountId, email };
  const secrets = { current: cast.secretKey, previous: null };
  const now = await cast.now();
  await cast.db.pool.query("delete from authenticators");
  const { secret } = await beginAuthenticator(cast.db, {
    person,
    secretKey: secrets.current,
    siteName: "Overdue",
    now,
  });
  const app = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(" ", "")) });
  const codes = await finishAuthenticator(cast.db, {
    person,
    secrets,
    code: app.generate({ timestamp: now }),
    now,
  });
  return { app, codes };
}
