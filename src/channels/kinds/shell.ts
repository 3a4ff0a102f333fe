// Programs on the server: an admin puts them into a folder, and a channel contains the file names of those that it runs.
// No text from users becomes part of a command.
import type { Static } from "typebox";
import type { FailedResult, SendResult } from "../../core/delivery.ts";
import {
  PROGRAM_OUTPUT_BYTES_MAX,
  PROGRAMS_MAX,
  RESPONSE_EXCERPT_LENGTH_MAX,
  SEND_MS_MAX,
} from "../../core/limits.ts";
import { type ProgramResult, runProgram } from "../../lib/run-program.ts";
import type { ChannelKind, ChannelMessage, Outgoing } from "../channel-kind.ts";
import { configSchema, eventOf, textField } from "../config-fields.ts";
import { notTried } from "../http-request.ts";
import { incidentEvent } from "../incident-event.ts";
import { clipEnd, messageText, printable, shownName } from "../message-text.ts";
import { defaultBody } from "./webhook.ts";

/** EX_TEMPFAIL of sysexits. */
const TRY_AGAIN = 75;
const NAME_LENGTH_MAX = 100;
const SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const NO_FOLDER = "Programs are not enabled on this server: OVERDUE_SHELL_FOLDER is not set";

function programField(when: string) {
  return textField({
    about: `The file name of the program to run ${when}. Leave blank to skip.`,
    lengthMax: NAME_LENGTH_MAX,
    pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
    must: "a file name of letters, digits, dots, hyphens, or underscores that does not start with a dot",
    fallback: "",
  });
}

const schema = configSchema({
  program_down: programField("when a check goes down"),
  program_up: programField("when a check comes back up"),
  program_notice: programField("for notices, such as monitoring gap notices"),
});

type Config = Static<typeof schema>;

/** A test may be about an event for which the channel has no program. */
function programFor(message: ChannelMessage, config: Config): string {
  const { program_down, program_up, program_notice } = config;
  const name = config[`program_${eventOf(message)}`];
  return name || (message.isTest === true ? program_down || program_up || program_notice : "");
}

/** Contains nothing from the environment of the server, which contains secrets. */
function environmentOf(message: ChannelMessage, out: Outgoing): Record<string, string> {
  const words = messageText(message, out);
  const incident = incidentEvent(message, words, out);
  const settings = "check" in message ? message.check.settings : null;
  return {
    PATH: SEARCH_PATH,
    LANG: "C.UTF-8",
    OVERDUE_STATUS: eventOf(message),
    OVERDUE_NAME: settings === null ? words.headline : shownName(settings),
    OVERDUE_TAGS: printable(settings?.tags ?? ""),
    OVERDUE_PROJECT: printable(incident.source),
    OVERDUE_TITLE: words.headline,
    OVERDUE_URL: words.link.url,
    OVERDUE_ACK_URL: words.ack?.url ?? "",
    OVERDUE_INCIDENT_KEY: incident.key,
    OVERDUE_DEDUPE_KEY: out.dedupeKey,
    OVERDUE_ATTEMPT: String(out.attempt),
    OVERDUE_TEST: message.isTest === true ? "1" : "",
    ...("drill" in message && message.drill !== undefined ? { OVERDUE_DRILL: "1" } : {}),
  };
}

function excerptOf(text: string): string | null {
  const shown = printable(text).trim();
  return shown === "" ? null : clipEnd(shown, RESPONSE_EXCERPT_LENGTH_MAX);
}

/** A program is run again only if it requests that with its exit status, or if it was killed. */
function resultOf(name: string, result: ProgramResult): SendResult {
  const summary = `run ${name}`;
  if (result.kind === "refused") return notTried(`The program ${name} ${result.text}`, summary);
  const outcome = { summary, code: null, excerpt: excerptOf(result.stdout) };
  const failed = (reason: string, more: Pick<FailedResult, "permanent" | "keepsChannel" | "inDoubt">) => {
    const said = excerptOf(result.stderr);
    return {
      kind: "failed" as const,
      ...outcome,
      ...more,
      retryAfterMs: null,
      reason: said === null ? reason : `${reason}: ${said}`,
    };
  };
  const again = { permanent: false, inDoubt: true };
  if (result.kind === "timeout") return failed(`The program ran longer than ${SEND_MS_MAX / 1_000} s`, again);
  switch (result.status) {
    case 0:
      return { kind: "sent", ...outcome };
    case null:
      return failed("The program was killed", again);
    case TRY_AGAIN:
      return failed("The program requested another attempt", { permanent: false, inDoubt: false });
    default:
      return failed(`The program failed with exit status ${result.status}`, {
        permanent: true,
        keepsChannel: true,
        inDoubt: false,
      });
  }
}

export const shell: ChannelKind<Config> = {
  name: "shell",
  title: "Program",
  about: "Runs a program or script on the server when a check goes down or comes back up.",
  category: "automation",
  icon: null,
  example: { program_down: "notify.sh", program_up: "notify.sh" },
  guide: [
    "An admin sets `OVERDUE_SHELL_FOLDER` to a folder on the server and puts an executable file into it.",
    "In the form, enter the file name for each event that should run the program.",
    "The program receives the message as JSON on standard input and the main values in environment variables, such as `OVERDUE_STATUS`, `OVERDUE_NAME`, and `OVERDUE_DEDUPE_KEY`.",
    "The program must exit with status 0 on success, or with 75 to be run again later. Any other status is a failure, and the end of standard error is shown as the reason. After 30 seconds, the program and its child processes are killed.",
  ],
  schema,
  validate: ({ program_down, program_up, program_notice }) =>
    program_down === "" && program_up === "" && program_notice === ""
      ? "At least one of program_down, program_up, and program_notice is required."
      : null,
  isSubscribed: (config, what) => config[`program_${what}`] !== "",
  rate: { perMinute: 12, burst: 4 },
  unavailable: ({ providers }) => (providers.shellFolder === null ? NO_FOLDER : null),
  send: async (message, config, out) => {
    const { shellFolder: folder } = out.providers;
    if (folder === null) return notTried(NO_FOLDER);
    const name = programFor(message, config);
    if (name === "") return notTried("The channel has no program for this type of message");
    const result = await runProgram({
      folder,
      name,
      environment: environmentOf(message, out),
      input: `${JSON.stringify(defaultBody(message, out))}\n`,
      timeoutMs: SEND_MS_MAX,
      outputBytesMax: PROGRAM_OUTPUT_BYTES_MAX,
      runningMax: PROGRAMS_MAX,
    });
    return resultOf(name, result);
  },
};
