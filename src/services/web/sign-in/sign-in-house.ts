// What signing in works with besides the rest of the house.
import type { OidcClient } from "./oidc.ts";

export type SignInHouse = {
  /** Whether anybody may make an account. */
  registrationOpen: boolean;
  /** Whether mail is sent at all. */
  mail: boolean;
  /** The header in which a proxy says who is there, in lower case; every other way in is off then. */
  proxyHeader: string | null;
  oidc: OidcClient | null;
};
