// Status pages: what they show, what is published on them, and their subscribers.
import { type Static, type TSchema, Type } from "typebox";
import {
  EMAIL_ADDRESS_LENGTH_MAX,
  STATUS_DESCRIPTION_LENGTH_MAX,
  STATUS_DOMAIN_LENGTH_MAX,
  STATUS_ENTRIES_MAX,
  STATUS_ENTRY_DESCRIPTION_LENGTH_MAX,
  STATUS_ENTRY_NAME_LENGTH_MAX,
  STATUS_GROUPS_MAX,
  STATUS_LOGO_BYTES_MAX,
  STATUS_NOTE_LENGTH_MAX,
  STATUS_PAGES_MAX,
  STATUS_PASSWORD_LENGTH_MAX,
  STATUS_PASSWORD_LENGTH_MIN,
  STATUS_POST_TITLE_LENGTH_MAX,
  STATUS_SLUG_LENGTH_MAX,
  STATUS_SLUG_LENGTH_MIN,
  STATUS_SUBSCRIBERS_MAX,
  STATUS_TITLE_LENGTH_MAX,
  STATUS_WEBHOOK_LENGTH_MAX,
  TAGS_LENGTH_MAX,
} from "../../core/limits.ts";
import { LOGO_TYPES } from "../../core/status-page.ts";
import { RULE } from "../check.ts";
import { route } from "./route.ts";
import { Cursor, nullable, PageQuery, Time, UuidText } from "./types.ts";

/** Text that users write for the public. */
const publicText = (maxLength: number, description?: string, minLength = 0) =>
  Type.String({
    minLength,
    maxLength,
    [RULE]: "storable",
    ...(description !== undefined && { description }),
  });

const Color = Type.String({ pattern: "^#[0-9a-f]{6}$" });

export const StatusBrand = Type.Object(
  {
    background: nullable(Color, "Behind the top of the page."),
    accent: nullable(Color, "A second color at the top of the page."),
    ink: nullable(Color, "Text on the other colors. The contrast must be at least 4.5 to 1."),
    button: nullable(Color, "The button for updates."),
  },
  { additionalProperties: false, description: "Colors as `#rrggbb`. Null: the default." },
);
export type StatusBrand = Static<typeof StatusBrand>;

const entryFields = <Check extends TSchema>(check: Check) => ({
  name: publicText(
    STATUS_ENTRY_NAME_LENGTH_MAX,
    "The public name. Names of checks and tags are never shown.",
    1,
  ),
  check,
  tag: nullable(
    Type.String({ minLength: 1, maxLength: TAGS_LENGTH_MAX, pattern: "^[^ ]+$", [RULE]: "storable" }),
    "The entry combines all checks with this tag. Either `check` or `tag` is null.",
  ),
});

export const StatusEntry = Type.Object({
  id: Type.String({ description: "Names the entry within its page." }),
  description: Type.String(),
  ...entryFields(
    nullable(
      UuidText,
      "The check. Null for a tag, if the check was deleted, and in responses to a read-only API key.",
    ),
  ),
});
export type StatusEntry = Static<typeof StatusEntry>;

export const StatusGroup = Type.Object({ name: Type.String(), entries: Type.Array(StatusEntry) });
export type StatusGroup = Static<typeof StatusGroup>;

export const StatusDomain = Type.Object({
  name: Type.String(),
  state: Type.Enum(["unproved", "proved", "lost"], {
    description:
      "`unproved`: the DNS record was not found yet, and the domain is not served. `proved`: it is served. `lost`: the record has disappeared, and the domain will not be served after 3 days.",
  }),
  recordName: Type.String({ description: "Name of the TXT record that proves the ownership." }),
  recordValue: Type.String({ description: "Content of the TXT record." }),
  provedAt: nullable(Time),
  checkedAt: nullable(Time, "When DNS was last asked."),
});
export type StatusDomain = Static<typeof StatusDomain>;

export const StatusPage = Type.Object({
  id: UuidText,
  slug: Type.String(),
  url: Type.String({ description: "The public address on this server." }),
  title: Type.String(),
  description: Type.String(),
  visibility: Type.Enum(["public", "password"]),
  brand: StatusBrand,
  logo: nullable(
    Type.Object({ type: Type.Enum([...LOGO_TYPES]), url: Type.String() }),
    "Null: the title is shown instead.",
  ),
  domain: nullable(StatusDomain),
  groups: Type.Array(StatusGroup),
  state: Type.Enum(["operational", "delayed", "down", "maintenance", "unknown"], {
    description: "What the public sees now.",
  }),
  subscriberCount: Type.Integer({ description: "Confirmed subscriptions." }),
  createdAt: Time,
  deletedAt: nullable(Time, "A deleted page can be restored for 7 days."),
  version: Type.Integer({ description: "Increases with every change. The `ETag` is this number in quotes." }),
});
export type StatusPage = Static<typeof StatusPage>;

const StatusPageList = Type.Object({ pages: Type.Array(StatusPage) });

export const NewStatusGroup = Type.Object(
  {
    name: publicText(STATUS_ENTRY_NAME_LENGTH_MAX, "The public heading. Empty: none."),
    entries: Type.Array(
      Type.Object(
        {
          id: Type.Optional(
            Type.String({
              pattern: "^[0-9a-f]{8}$",
              description:
                "The ID of an existing entry, which keeps its history for subscribers. Default: a new one.",
            }),
          ),
          description: Type.Optional(publicText(STATUS_ENTRY_DESCRIPTION_LENGTH_MAX)),
          ...entryFields(nullable(UuidText, "The check. Either `check` or `tag` is null.")),
        },
        { additionalProperties: false },
      ),
      { maxItems: STATUS_ENTRIES_MAX },
    ),
  },
  { additionalProperties: false },
);

const FIELDS = {
  slug: Type.String({
    minLength: STATUS_SLUG_LENGTH_MIN,
    maxLength: STATUS_SLUG_LENGTH_MAX,
    pattern: "^[a-z0-9]+(-[a-z0-9]+)*$",
    description: "The public path is `/status/<slug>/`. Unique on the server.",
  }),
  title: publicText(STATUS_TITLE_LENGTH_MAX, undefined, 1),
  description: publicText(STATUS_DESCRIPTION_LENGTH_MAX),
  brand: StatusBrand,
  password: nullable(
    Type.String({ minLength: STATUS_PASSWORD_LENGTH_MIN, maxLength: STATUS_PASSWORD_LENGTH_MAX }),
    "Readers have to enter it. Null: the page is public.",
  ),
  domain: nullable(
    Type.String({ maxLength: STATUS_DOMAIN_LENGTH_MAX, pattern: "^[a-z0-9-]+(\\.[a-z0-9-]+)+$" }),
    "A domain on which only this page is served, after a DNS record has proved its ownership. Null: none.",
  ),
  groups: Type.Array(NewStatusGroup, {
    maxItems: STATUS_GROUPS_MAX,
    description: `Replaces all groups. A page can have at most ${STATUS_ENTRIES_MAX} entries.`,
  }),
};

export const NewStatusPage = Type.Object(
  {
    slug: FIELDS.slug,
    title: FIELDS.title,
    description: Type.Optional(FIELDS.description),
    brand: Type.Optional(FIELDS.brand),
    password: Type.Optional(FIELDS.password),
    domain: Type.Optional(FIELDS.domain),
    groups: Type.Optional(FIELDS.groups),
  },
  { additionalProperties: false },
);
export type NewStatusPage = Static<typeof NewStatusPage>;

export const StatusPageChange = Type.Partial(
  Type.Object({
    ...FIELDS,
    version: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        "If given and the page has another version by now, the request is rejected with 409. With `If-Match`, it is rejected with 412.",
    }),
  }),
  { additionalProperties: false },
);
export type StatusPageChange = Static<typeof StatusPageChange>;

const LOGO_TEXT_MAX = Math.ceil(STATUS_LOGO_BYTES_MAX / 3) * 4;

export const NewStatusLogo = Type.Object(
  {
    image: Type.String({
      minLength: 1,
      maxLength: LOGO_TEXT_MAX,
      pattern: "^[A-Za-z0-9+/]+={0,2}$",
      description: `A PNG, JPEG or WebP image in Base64, of at most ${STATUS_LOGO_BYTES_MAX / 1024} KiB.`,
    }),
  },
  { additionalProperties: false },
);

export const StatusNote = Type.Object({ id: UuidText, at: Time, text: Type.String() });
export type StatusNote = Static<typeof StatusNote>;

export const StatusPost = Type.Object({
  id: UuidText,
  kind: Type.Enum(["incident", "maintenance"]),
  title: Type.String(),
  entries: Type.Array(Type.String(), { description: "IDs of the affected entries." }),
  from: Time,
  until: nullable(Time, "When the incident was resolved, or the planned end. Null: the incident is open."),
  incident: nullable(Type.Integer(), "Number of the incident of the project. Never public."),
  silence: nullable(UuidText, "The silence that it was made from. Never public."),
  notes: Type.Array(StatusNote, { description: "Newest first." }),
  createdAt: Time,
  updatedAt: Time,
});
export type StatusPost = Static<typeof StatusPost>;

const StatusPostList = Type.Object({ posts: Type.Array(StatusPost), next: Cursor });

const moment = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

const EntryIds = Type.Array(Type.String({ pattern: "^[0-9a-f]{8}$" }), {
  maxItems: STATUS_ENTRIES_MAX,
  description: "IDs of the affected entries. During maintenance, they are shown as under maintenance.",
});

export const NewStatusPost = Type.Object(
  {
    kind: Type.Enum(["incident", "maintenance"]),
    title: publicText(STATUS_POST_TITLE_LENGTH_MAX, undefined, 1),
    text: publicText(STATUS_NOTE_LENGTH_MAX, "The first note. Public.", 1),
    entries: Type.Optional(EntryIds),
    from: Type.Optional(moment("Default: now, or the beginning of the silence.")),
    until: Type.Optional(moment("Required for maintenance that is not made from a silence.")),
    incident: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "Number of the incident of the project that this is about.",
      }),
    ),
    silence: Type.Optional(
      Type.String({
        ...UuidText,
        description: "Take the times of this silence. Its reason is not published.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type NewStatusPost = Static<typeof NewStatusPost>;

export const StatusPostChange = Type.Partial(
  Type.Object({
    title: publicText(STATUS_POST_TITLE_LENGTH_MAX, undefined, 1),
    entries: EntryIds,
    from: moment("When it began or begins."),
    until: nullable(moment("When it ended or ends."), "Null: an incident is open again."),
  }),
  { additionalProperties: false },
);
export type StatusPostChange = Static<typeof StatusPostChange>;

export const NewStatusNote = Type.Object(
  {
    text: publicText(
      STATUS_NOTE_LENGTH_MAX,
      "Public. Notes of incidents in the dashboard are never published.",
      1,
    ),
    isResolved: Type.Optional(
      Type.Boolean({ description: "Also resolve the incident, or end the maintenance." }),
    ),
  },
  { additionalProperties: false },
);

export const StatusSubscriber = Type.Object({
  id: UuidText,
  kind: Type.Enum(["email", "webhook"]),
  address: Type.String({ description: "The email address, or the URL." }),
  createdAt: Time,
  confirmedAt: nullable(Time, "Null: nothing is sent until the address is confirmed."),
  failedCount: Type.Integer({ description: "Failed messages in a row." }),
});
export type StatusSubscriber = Static<typeof StatusSubscriber>;

const SubscriberList = Type.Object({ subscribers: Type.Array(StatusSubscriber), next: Cursor });

export const NewStatusWebhook = Type.Object(
  {
    url: Type.String({
      minLength: 8,
      maxLength: STATUS_WEBHOOK_LENGTH_MAX,
      pattern: "^https?://",
      [RULE]: "storable",
      description: "Receives a signed POST request with JSON for every change.",
    }),
  },
  { additionalProperties: false },
);

const ListQuery = Type.Object(
  {
    state: Type.Optional(
      Type.Enum(["current", "deleted"], {
        description: "`deleted`: pages that can be restored. Default: `current`.",
      }),
    ),
  },
  { additionalProperties: false },
);

const EXAMPLE_AT = 1_794_735_000_000;

const EXAMPLE_PAGE: StatusPage = {
  id: "1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21",
  slug: "nordlight",
  url: "https://overdue.example.org/status/nordlight/",
  title: "Nordlight",
  description: "State of our services.",
  visibility: "public",
  brand: { background: "#241c4a", accent: "#5f3f96", ink: "#fbfaff", button: null },
  logo: null,
  domain: {
    name: "status.nordlight.example",
    state: "proved",
    recordName: "_overdue.status.nordlight.example",
    recordValue: "overdue-status-page=Zk3vXr1yQm2tB8sW",
    provedAt: EXAMPLE_AT,
    checkedAt: EXAMPLE_AT,
  },
  groups: [
    {
      name: "Billing",
      entries: [
        {
          id: "5d1c0b7a",
          name: "Invoices",
          description: "",
          check: "f618072a-7bde-4eee-af63-71a77c5723bc",
          tag: null,
        },
      ],
    },
  ],
  state: "operational",
  subscriberCount: 12,
  createdAt: EXAMPLE_AT,
  deletedAt: null,
  version: 3,
};

const EXAMPLE_NOTE: StatusNote = {
  id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e55",
  at: EXAMPLE_AT,
  text: "New invoices wait in a queue. None are lost.",
};

const EXAMPLE_POST: StatusPost = {
  id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e56",
  kind: "incident",
  title: "Invoices are not being sent",
  entries: ["5d1c0b7a"],
  from: EXAMPLE_AT,
  until: null,
  incident: 17,
  silence: null,
  notes: [EXAMPLE_NOTE],
  createdAt: EXAMPLE_AT,
  updatedAt: EXAMPLE_AT,
};

const EXAMPLE_SUBSCRIBER: StatusSubscriber = {
  id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e57",
  kind: "email",
  address: "ada@example.org",
  createdAt: EXAMPLE_AT,
  confirmedAt: EXAMPLE_AT,
  failedCount: 0,
};

const PAGES = "/projects/{project}/status-pages";
const PAGE = `${PAGES}/{page}`;
const POSTS = `${PAGE}/posts`;
const POST = `${POSTS}/{post}`;
const SUBSCRIBERS = `${PAGE}/subscribers`;

export const statusPageRoutes = {
  listStatusPages: route({
    method: "GET",
    path: PAGES,
    access: "view",
    keys: "readOnly",
    tag: "Status pages",
    summary: "List status pages",
    description: `Lists the status pages of a project by title. A project can have ${STATUS_PAGES_MAX}.`,
    query: ListQuery,
    success: {
      status: 200,
      description: "The status pages.",
      schema: StatusPageList,
      example: { pages: [EXAMPLE_PAGE] },
    },
  }),
  createStatusPage: route({
    method: "POST",
    path: PAGES,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Create a status page",
    description:
      "Creates a page at `/status/<slug>/`. It shows only what you choose, under the names that you give. Tags, notes, and names of checks are never published.",
    body: NewStatusPage,
    bodyExample: {
      slug: "nordlight",
      title: "Nordlight",
      groups: [
        {
          name: "Billing",
          entries: [{ name: "Invoices", check: "f618072a-7bde-4eee-af63-71a77c5723bc", tag: null }],
        },
      ],
    },
    success: { status: 201, description: "The new page.", schema: StatusPage, example: EXAMPLE_PAGE },
    errors: [409],
    etag: true,
  }),
  getStatusPage: route({
    method: "GET",
    path: PAGE,
    access: "view",
    keys: "readOnly",
    tag: "Status pages",
    summary: "Get a status page",
    success: { status: 200, description: "The page.", schema: StatusPage, example: EXAMPLE_PAGE },
    etag: true,
  }),
  updateStatusPage: route({
    method: "PATCH",
    path: PAGE,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Update a status page",
    description: "Changes the given fields. A new domain has to be proved again.",
    body: StatusPageChange,
    bodyExample: { title: "Nordlight status", password: null },
    success: {
      status: 200,
      description: "The updated page.",
      schema: StatusPage,
      example: { ...EXAMPLE_PAGE, title: "Nordlight status", version: 4 },
    },
    errors: [409],
    etag: true,
  }),
  deleteStatusPage: route({
    method: "DELETE",
    path: PAGE,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Delete a status page",
    description: "The page is no longer served. For 7 days, it can be restored with its subscribers.",
    success: { status: 204, description: "The page was deleted.", schema: null },
    etag: true,
  }),
  restoreStatusPage: route({
    method: "POST",
    path: `${PAGE}/restore`,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Restore a status page",
    description: "Brings back a deleted page.",
    success: { status: 200, description: "The page.", schema: StatusPage, example: EXAMPLE_PAGE },
  }),
  setStatusLogo: route({
    method: "PUT",
    path: `${PAGE}/logo`,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Set the logo of a status page",
    description:
      "Stores a PNG, JPEG or WebP image, whatever its name. SVG is not accepted, because it can contain scripts.",
    body: NewStatusLogo,
    bodyExample: {
      image:
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    },
    success: { status: 200, description: "The page.", schema: StatusPage, example: EXAMPLE_PAGE },
  }),
  removeStatusLogo: route({
    method: "DELETE",
    path: `${PAGE}/logo`,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Remove the logo of a status page",
    success: { status: 204, description: "The page has no logo.", schema: null },
  }),
  checkStatusDomain: route({
    method: "POST",
    path: `${PAGE}/domain/check`,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Check the domain of a status page",
    description:
      "Asks DNS for the record of the domain within seconds. Get the page again to see the result in `domain`.",
    success: { status: 202, description: "DNS will be asked.", schema: StatusPage, example: EXAMPLE_PAGE },
    errors: [409],
  }),
  listStatusPosts: route({
    method: "GET",
    path: POSTS,
    access: "view",
    keys: "readOnly",
    tag: "Status pages",
    summary: "List incidents and maintenance of a status page",
    description: "Lists what was published, newest first.",
    query: PageQuery,
    success: {
      status: 200,
      description: "A page of incidents and maintenance.",
      schema: StatusPostList,
      example: { posts: [EXAMPLE_POST], next: null },
    },
  }),
  createStatusPost: route({
    method: "POST",
    path: POSTS,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Publish an incident or maintenance",
    description: "Publishes it with its first note and notifies the subscribers. Everything in it is public.",
    body: NewStatusPost,
    bodyExample: {
      kind: "incident",
      title: "Invoices are not being sent",
      text: "New invoices wait in a queue. None are lost.",
      incident: 17,
    },
    success: { status: 201, description: "What was published.", schema: StatusPost, example: EXAMPLE_POST },
    errors: [409],
  }),
  updateStatusPost: route({
    method: "PATCH",
    path: POST,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Update an incident or maintenance",
    description: "Changes the given fields. Subscribers are not notified.",
    body: StatusPostChange,
    bodyExample: { title: "Invoices are delayed" },
    success: {
      status: 200,
      description: "What is published now.",
      schema: StatusPost,
      example: { ...EXAMPLE_POST, title: "Invoices are delayed" },
    },
  }),
  addStatusNote: route({
    method: "POST",
    path: `${POST}/notes`,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Publish a note",
    description: "Adds a public note and notifies the subscribers.",
    body: NewStatusNote,
    bodyExample: { text: "All invoices have been sent.", isResolved: true },
    success: {
      status: 201,
      description: "What is published now.",
      schema: StatusPost,
      example: { ...EXAMPLE_POST, until: EXAMPLE_AT },
    },
    errors: [409],
  }),
  deleteStatusPost: route({
    method: "DELETE",
    path: POST,
    access: "editStatusPages",
    keys: "readWrite",
    tag: "Status pages",
    summary: "Remove an incident or maintenance",
    description: "Removes it from the page, with its notes. It cannot be restored.",
    success: { status: 204, description: "It was removed.", schema: null },
  }),
  listStatusSubscribers: route({
    method: "GET",
    path: SUBSCRIBERS,
    access: "editStatusPages",
    keys: null,
    tag: "Status pages",
    summary: "List subscribers of a status page",
    description: `Lists the subscriptions, newest first. A page can have ${STATUS_SUBSCRIBERS_MAX}. Email addresses have at most ${EMAIL_ADDRESS_LENGTH_MAX} characters.`,
    query: PageQuery,
    success: {
      status: 200,
      description: "A page of subscriptions.",
      schema: SubscriberList,
      example: { subscribers: [EXAMPLE_SUBSCRIBER], next: null },
    },
  }),
  addStatusWebhook: route({
    method: "POST",
    path: SUBSCRIBERS,
    access: "editStatusPages",
    keys: null,
    tag: "Status pages",
    summary: "Add a webhook to a status page",
    description:
      "Every change is sent to the URL. The header `Overdue-Signature` is `sha256=` and the HMAC of the body with `secret`.",
    body: NewStatusWebhook,
    bodyExample: { url: "https://hooks.example.org/status" },
    success: {
      status: 201,
      description: "The subscription, and the secret of its signatures.",
      schema: Type.Object({ ...StatusSubscriber.properties, secret: Type.String() }),
      example: {
        ...EXAMPLE_SUBSCRIBER,
        kind: "webhook",
        address: "https://hooks.example.org/status",
        secret: "5f2d0c6f6f1b4a39b7d8f0a1c2e3d4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b",
      },
    },
    errors: [409],
  }),
  removeStatusSubscriber: route({
    method: "DELETE",
    path: `${SUBSCRIBERS}/{subscriber}`,
    access: "editStatusPages",
    keys: null,
    tag: "Status pages",
    summary: "Remove a subscriber",
    success: { status: 204, description: "The subscription has ended.", schema: null },
  }),
} as const;
