// OpenID Connect: authorization code with PKCE, state and nonce. Only identifies the user; access is decided elsewhere.
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretPost,
  type Configuration,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";
import { DAY_MS, SECOND_MS } from "../../core/instant.ts";
import { SESSION_DAYS_MAX } from "../../core/sign-in.ts";
import type { Identified } from "../../operations/sign-in.ts";

const TIMEOUT_SECONDS = 10;
/** The provider asks for credentials again if the last sign-in is older. */
const AGE_SECONDS_MAX = (SESSION_DAYS_MAX * DAY_MS) / SECOND_MS;

export type OidcSettings = {
  issuer: string;
  clientId: string;
  clientSecret: string | null;
  name: string;
  createsAccounts: boolean;
  redirectUri: string;
};

export type OidcClient = {
  name: string;
  issuer: string;
  createsAccounts: boolean;
  /** The URL to redirect the user to, and what to store until they return. */
  begin(of: { again: boolean }): Promise<{ url: string; state: string; codeVerifier: string; nonce: string }>;
  /** The user who returned. Throws if the response is invalid. */
  finish(of: { query: string; state: string; codeVerifier: string; nonce: string }): Promise<Identified>;
};

/** A client of the provider. Discovery happens at the first sign-in, and again after a failure. */
export function oidcClient(settings: OidcSettings): OidcClient {
  const { issuer, name, createsAccounts, redirectUri } = settings;
  let known: Promise<Configuration> | null = null;
  const configuration = () => {
    known ??= discover(settings);
    known.catch(() => (known = null));
    return known;
  };
  return {
    name,
    issuer,
    createsAccounts,
    begin: async ({ again }) => {
      const [state, nonce, codeVerifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
      const url = buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: "openid email profile",
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
        state,
        nonce,
        // If a maximum age is requested, the provider must return the time of the last authentication.
        max_age: String(again ? 0 : AGE_SECONDS_MAX),
        ...(again && { prompt: "login" }),
      });
      return { url: url.href, state, codeVerifier, nonce };
    },
    finish: async ({ query, state, codeVerifier, nonce }) => {
      const config = await configuration();
      const tokens = await authorizationCodeGrant(config, new URL(`${redirectUri}?${query}`), {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error("the identity provider sent no ID token");
      // Many providers return the email address only from the userinfo endpoint.
      const hasInfo = typeof claims["email"] !== "string" && config.serverMetadata().userinfo_endpoint;
      const info = hasInfo ? await fetchUserInfo(config, tokens.access_token, claims.sub) : {};
      return identified({ ...info, ...claims }, claims.auth_time);
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const url = new URL(issuer);
  const authentication = clientSecret === null ? None() : ClientSecretPost(clientSecret);
  // The operator configured this URL; on one machine it may be plain HTTP.
  const execute = url.protocol === "http:" ? [allowInsecureRequests] : [];
  const options = { execute, timeout: TIMEOUT_SECONDS };
  const config = await discovery(url, clientId, undefined, authentication, options);
  const { id_token_signing_alg_values_supported: algorithms = ["RS256"] } = config.serverMetadata();
  // By default the library relies on TLS and does not verify signatures. A provider that signs only with the client
  // secret publishes no keys, so the check stays off for it.
  if (!algorithms.every((name) => name.startsWith("HS"))) enableNonRepudiationChecks(config);
  return config;
}

function identified(
  claims: Readonly<Record<string, unknown>> & { iss: string; sub: string },
  /** Of the ID token, which is signed; in seconds. */
  authTime: number | undefined,
): Identified {
  const text = (name: string) => (typeof claims[name] === "string" ? claims[name] : null);
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: text("email"),
    isEmailVerified: claims["email_verified"] === true || claims["email_verified"] === "true",
    name: text("name") ?? "",
    authenticatedAt: authTime === undefined ? null : authTime * SECOND_MS,
  };
}
