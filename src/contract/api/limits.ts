// Length limits of form fields and requests, for the schemas here and the forms in the browser. No schemas, so that the
// browser does not load them.
import {
  ACCESS_TOKEN_NAME_LENGTH_MAX,
  ACCOUNT_NAME_LENGTH_MAX,
  API_KEY_NAME_LENGTH_MAX,
  BOARD_LINK_NAME_LENGTH_MAX,
  CHANNEL_NAME_LENGTH_MAX,
  INCIDENT_NOTE_LENGTH_MAX,
  PAGE_LENGTH_MAX,
  PASSKEY_NAME_LENGTH_MAX,
  SILENCE_CHECKS_MAX,
  SILENCE_REASON_LENGTH_MAX,
  SILENCED_RUNS_COUNTED_MAX,
  STATUS_DESCRIPTION_LENGTH_MAX,
  STATUS_DOMAIN_LENGTH_MAX,
  STATUS_ENTRIES_MAX,
  STATUS_ENTRY_NAME_LENGTH_MAX,
  STATUS_GROUPS_MAX,
  STATUS_LOGO_BYTES_MAX,
  STATUS_NOTE_LENGTH_MAX,
  STATUS_PASSWORD_LENGTH_MAX,
  STATUS_PASSWORD_LENGTH_MIN,
  STATUS_POST_TITLE_LENGTH_MAX,
  STATUS_SLUG_LENGTH_MAX,
  STATUS_TITLE_LENGTH_MAX,
} from "../../core/limits.ts";

/** Maximum lengths of form fields, in characters. */
export const FIELD_LENGTHS = {
  accessTokenName: ACCESS_TOKEN_NAME_LENGTH_MAX,
  accountName: ACCOUNT_NAME_LENGTH_MAX,
  apiKeyName: API_KEY_NAME_LENGTH_MAX,
  boardLinkName: BOARD_LINK_NAME_LENGTH_MAX,
  channelName: CHANNEL_NAME_LENGTH_MAX,
  /** Search texts are a few words. */
  eventSearch: 100,
  incidentNote: INCIDENT_NOTE_LENGTH_MAX,
  passkeyName: PASSKEY_NAME_LENGTH_MAX,
  /** The command line allows longer project names; cards and menus have no room for more. */
  projectName: 60,
  silenceReason: SILENCE_REASON_LENGTH_MAX,
  statusDescription: STATUS_DESCRIPTION_LENGTH_MAX,
  statusDomain: STATUS_DOMAIN_LENGTH_MAX,
  statusEntryName: STATUS_ENTRY_NAME_LENGTH_MAX,
  statusNote: STATUS_NOTE_LENGTH_MAX,
  statusPassword: STATUS_PASSWORD_LENGTH_MAX,
  statusPostTitle: STATUS_POST_TITLE_LENGTH_MAX,
  statusSlug: STATUS_SLUG_LENGTH_MAX,
  statusTitle: STATUS_TITLE_LENGTH_MAX,
} as const;

/** Limits of a status page. */
export const STATUS_PAGE_LIMITS = {
  entries: STATUS_ENTRIES_MAX,
  groups: STATUS_GROUPS_MAX,
  logoBytes: STATUS_LOGO_BYTES_MAX,
  passwordLengthMin: STATUS_PASSWORD_LENGTH_MIN,
} as const;

/** Rows that can be changed at once. */
export const BULK_CHECKS_MAX = 1_000;
/** Checks that one silence can name. */
export const SILENCED_CHECKS_MAX = SILENCE_CHECKS_MAX;
/** Runs of one check that the preview of a silence counts. */
export const COUNTED_RUNS_MAX = SILENCED_RUNS_COUNTED_MAX;
/** Rows whose details can be requested at once. */
export const DETAIL_ROWS_MAX = 100;
/** Maximum number of compact rows per page. */
export const ROWS_PAGE_MAX = 1_000;
/** Maximum number of items per page of any other list. */
export const LIST_PAGE_MAX = PAGE_LENGTH_MAX;

/** `2026-11-16T12:00`, as in a date and time field. The database cannot store later years. */
export const LOCAL_MINUTE = String.raw`^(?!0000)[0-8]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d$`;
