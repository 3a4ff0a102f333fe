// Length limits of form fields and requests, for the schemas here and the forms in the browser. No schemas, so that the
// browser does not load them.
import {
  ACCESS_TOKEN_NAME_LENGTH_MAX,
  ACCOUNT_NAME_LENGTH_MAX,
  API_KEY_NAME_LENGTH_MAX,
  CHANNEL_NAME_LENGTH_MAX,
  PAGE_LENGTH_MAX,
  PASSKEY_NAME_LENGTH_MAX,
} from "../../core/limits.ts";

/** What the fields of forms take, in characters. */
export const FIELD_LENGTHS = {
  accessTokenName: ACCESS_TOKEN_NAME_LENGTH_MAX,
  accountName: ACCOUNT_NAME_LENGTH_MAX,
  apiKeyName: API_KEY_NAME_LENGTH_MAX,
  channelName: CHANNEL_NAME_LENGTH_MAX,
  /** What people look for is a few words. */
  eventSearch: 100,
  passkeyName: PASSKEY_NAME_LENGTH_MAX,
  /** A project may have a longer name by the command line; cards and menus have no room for more. */
  projectName: 60,
} as const;

/** So many rows can be changed at once. */
export const BULK_CHECKS_MAX = 1_000;
/** So many rows are looked at in detail at once. */
export const DETAIL_ROWS_MAX = 100;
/** The most lean rows in a page. */
export const ROWS_PAGE_MAX = 1_000;
/** The most items in a page of any other list. */
export const LIST_PAGE_MAX = PAGE_LENGTH_MAX;

/** `2026-11-16T12:00`, as a field for date and time has it. Later years no database can hold. */
export const LOCAL_MINUTE = String.raw`^(?!0000)[0-8]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d$`;
