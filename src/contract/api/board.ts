// The wall board of a project, and the links that share it.
import { type Static, Type } from "typebox";
import { BOARD_CANDLES_MAX, BOARD_GROUPS_MAX, BOARD_LINKS_MAX } from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FIELD_LENGTHS } from "./limits.ts";
import { MonitoringGap } from "./overview.ts";
import { route } from "./route.ts";
import { nullable, Time, UuidText } from "./types.ts";

const State = Type.Enum(["new", "up", "late", "down", "paused"]);

const Fuse = Type.Object({ fromAt: Time, lateAt: Time, alertAt: Time });

const Candle = Type.Object({
  name: Type.String(),
  state: State,
  runningSince: nullable(Time, "When the run in progress began."),
  fuse: nullable(Fuse, "The time until an alert. Null if no ping is expected."),
});
export type BoardCandle = Static<typeof Candle>;

export const BoardTally = Type.Object(
  {
    down: Type.Integer(),
    late: Type.Integer(),
    up: Type.Integer(),
    new: Type.Integer(),
    paused: Type.Integer(),
  },
  { description: "The number of checks by state. Checks with a run in progress are counted by their state." },
);
export type BoardTally = Static<typeof BoardTally>;

const Group = Type.Object({
  tag: nullable(Type.String(), "The first tag of its checks. Null: checks without tags."),
  counts: BoardTally,
  candles: Type.Array(Candle, {
    description:
      "Down and late checks first, then those nearest to their alert. If `isSummary` is set, only checks that need attention.",
  }),
});
export type BoardGroup = Static<typeof Group>;

const Cause = Type.Enum(["failed", "missed", "overrun", "tooFast", "tooOften"]);

const IncidentCard = {
  firstName: Type.String({ description: "The name of its first check." }),
  tag: nullable(Type.String(), "The tag that its checks share, if they are grouped by one."),
  openCount: Type.Integer({ description: "How many of its checks have not recovered." }),
  openedAt: Time,
  cause: nullable(Cause),
  acknowledged: nullable(
    Type.Object({ at: Time, by: nullable(Type.String(), "Name of the account. Null if it has none.") }),
  ),
  nextStepAt: nullable(Time, "When notifications are repeated, or the acknowledgment ends."),
};

const Card = Type.Union([
  Type.Object({ kind: Type.Literal("open"), ...IncidentCard }),
  Type.Object({ kind: Type.Literal("acknowledged"), ...IncidentCard }),
  Type.Object({
    kind: Type.Literal("down"),
    name: Type.String(),
    since: nullable(Time),
    reason: nullable(Type.Enum(["fail", "timeout"])),
    exitStatus: nullable(Type.Integer()),
  }),
  Type.Object({ kind: Type.Literal("late"), name: Type.String(), fuse: nullable(Fuse) }),
]);
export type BoardCard = Static<typeof Card>;

const Headline = Type.Union([
  Type.Object({ kind: Type.Literal("empty") }),
  Type.Object({ kind: Type.Literal("tagDown"), tag: Type.String(), count: Type.Integer() }),
  Type.Object({
    kind: Type.Enum(["down", "late"]),
    count: Type.Integer(),
    name: nullable(Type.String(), "The name of the check, if it is the only one."),
  }),
  Type.Object({ kind: Type.Literal("fine"), count: Type.Integer() }),
]);
export type BoardHeadline = Static<typeof Headline>;

export const Board = Type.Object({
  project: Type.String({ description: "The name of the project." }),
  tz: Type.String({ description: "The time zone of the project." }),
  now: Time,
  headline: Headline,
  counts: BoardTally,
  total: Type.Integer({ description: "The number of checks." }),
  cards: Type.Array(Card, { description: "The most important problems." }),
  moreCount: Type.Integer({ description: "Open incidents and late checks without a card." }),
  isSummary: Type.Boolean({
    description: `Whether the project has more than ${BOARD_CANDLES_MAX} checks. Then only checks that need attention are listed one by one.`,
  }),
  groups: Type.Array(Group, {
    description: `Checks by their first tag, at most ${BOARD_GROUPS_MAX} groups. Groups with problems come first.`,
  }),
  rest: nullable(BoardTally, "The checks of all other groups. Null if there are none."),
  next: Type.Array(Type.Object({ name: Type.String(), at: Time }), {
    description: "The next expected pings.",
  }),
  monitoringGap: nullable(MonitoringGap),
});
export type Board = Static<typeof Board>;

const BoardLink = Type.Object({
  id: UuidText,
  name: Type.String(),
  createdAt: Time,
  lastUsedAt: nullable(Time, "Accurate to a minute."),
});
export type BoardLink = Static<typeof BoardLink>;

const BoardLinkList = Type.Object({ links: Type.Array(BoardLink, { description: "Newest first." }) });
export type BoardLinkList = Static<typeof BoardLinkList>;

const BoardLinkBody = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: FIELD_LENGTHS.boardLinkName, [RULE]: "storable" }) },
  { additionalProperties: false },
);

const BoardLinkMade = Type.Object({
  link: BoardLink,
  url: Type.String({ description: "The address for the screen. It is only in this response." }),
});
export type BoardLinkMade = Static<typeof BoardLinkMade>;

const EXAMPLE_LINK: BoardLink = {
  id: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21",
  name: "Office, 2nd floor",
  createdAt: 1_794_735_000_000,
  lastUsedAt: null,
};

const LINKS = "/projects/{project}/board-links";

export const boardRoutes = {
  getBoard: route({
    method: "GET",
    path: "/projects/{project}/board",
    access: "view",
    keys: "readOnly",
    tag: "Projects",
    summary: "Get the wall board",
    description: "Returns what the wall board of a project shows.",
    success: { status: 200, description: "The board.", schema: Board },
  }),
  listBoardLinks: route({
    method: "GET",
    path: LINKS,
    access: "manageKeys",
    keys: null,
    tag: "Projects",
    summary: "List share links of the wall board",
    success: {
      status: 200,
      description: "The links.",
      schema: BoardLinkList,
      example: { links: [EXAMPLE_LINK] },
    },
  }),
  createBoardLink: route({
    method: "POST",
    path: LINKS,
    access: "manageKeys",
    keys: null,
    tag: "Projects",
    summary: "Create a share link of the wall board",
    description: `Anyone with the link can view the board, without an account. A project can have ${BOARD_LINKS_MAX} links.`,
    body: BoardLinkBody,
    bodyExample: { name: "Office, 2nd floor" },
    success: {
      status: 201,
      description: "The link, and its URL.",
      schema: BoardLinkMade,
      example: {
        link: EXAMPLE_LINK,
        url: "https://overdue.example.org/board/mJ2cVw0bYkq9r3nTqLxP7s5fHd8aZ1eGuK4oWi6NvBc/",
      },
    },
    errors: [409],
  }),
  revokeBoardLink: route({
    method: "DELETE",
    path: `${LINKS}/{link}`,
    access: "manageKeys",
    keys: null,
    tag: "Projects",
    summary: "Revoke a share link of the wall board",
    description: "Screens with the link stop within seconds. This cannot be undone.",
    success: { status: 204, description: "The link was revoked.", schema: null },
  }),
} as const;
