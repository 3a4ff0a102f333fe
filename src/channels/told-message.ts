// What kinds are handed, and who speaks in it.
import type { AlertMessage, TestMessage } from "../core/alerts/message.ts";

/** A test has become a message about a check that does not exist: see example-check.ts. */
export type ToldMessage = Exclude<AlertMessage, TestMessage> & { isTest?: true };

/** What an installation calls itself, and its public address without a slash at the end. */
export type Site = { name: string; url: string };
