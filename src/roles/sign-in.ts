// Signing in, put together from the settings.
import type { Config } from "../config.ts";
import { trustedPeers } from "../lib/http/client-address.ts";
import { oidcClient } from "../services/web/sign-in/oidc.ts";
import { sessionResolver } from "../services/web/sign-in/resolve-session.ts";
import type { SignInHouse } from "../services/web/sign-in/sign-in-house.ts";
import type { Database } from "../store/db.ts";

/** What the settings say about ways in. */
export function signInOf(config: Config): SignInHouse {
  const issuer = config.oidcIssuer;
  const clientId = config.oidcClientId;
  return {
    registrationOpen: config.registrationOpen,
    mail: config.smtpHost !== null,
    proxyHeader: config.remoteUserHeader,
    oidc:
      issuer === null || clientId === null
        ? null
        : oidcClient({
            issuer,
            clientId,
            clientSecret: config.oidcClientSecret,
            name: config.oidcName,
            createsAccounts: config.oidcCreatesAccounts,
            redirectUri: `${config.siteUrl}/accounts/oidc/`,
          }),
  };
}

/** Finds out who asks, by a cookie or as a proxy says. */
export function resolverOf(
  config: Config,
  { database, secretKey }: { database: Database; secretKey: string },
): ReturnType<typeof sessionResolver> {
  return sessionResolver({
    database,
    secretKey,
    siteUrl: new URL(config.siteUrl),
    proxyHeader: config.remoteUserHeader,
    isTrusted: trustedPeers(config.trustedProxies),
  });
}
