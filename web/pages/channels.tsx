// The channels page: channels, whether they work, and what was sent.
import "./channels.css";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { useSearchParams } from "wouter";
import type { Channel, ChannelKindInfo, Delivery } from "../../src/contract/api/channels.ts";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { channelName, checkName } from "../../src/contract/api/words.ts";
import { ROWS_PAGE_MAX } from "../../src/contract/api/limits.ts";
import { call } from "../api.ts";
import { mayIn } from "../boot.ts";
import { checksStore, nameKey, searchText, useAllRows } from "../live/checks-store.ts";
import { type PageProps, usePageTitle } from "../page-location.ts";
import { Button, Icon, IconButton } from "../ui/button.tsx";
import { Dialog, Drawer } from "../ui/dialog.tsx";
import { TextField, Toggle } from "../ui/field.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Menu, MenuItem, MenuLine } from "../ui/menu.tsx";
import { Empty, Failed, Loading, Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { Ago, Until, When } from "../ui/when.tsx";
import {
  channelChecksWords,
  channelsWords,
  deliveryOutcome,
  deliveryWhat,
  reasonAdvice,
} from "../words/channels.ts";
import { formatDuration } from "../words/format.ts";
import { words as shared } from "../words/shared.ts";
import { ChannelForm, fieldsOf } from "./channel-form.tsx";
import { connectChecks } from "./checks-actions.ts";
import { useChannelKinds, useChannels } from "./use-channels.ts";

/** What is currently open over the page. */
type OpenDialog =
  | { what: "gallery" }
  | { what: "new"; kind: string }
  | { what: "edit" | "test" | "log" | "checks"; channel: Channel }
  | null;

export function ChannelsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useChannels(project);
  const kinds = useChannelKinds();
  const channels = query.data ?? [];
  const title = query.data === undefined ? channelsWords.tab : channelsWords.title(channels);
  usePageTitle(title);
  // The setup page links to the gallery.
  const [search] = useSearchParams();
  const [dialog, setDialog] = useState<OpenDialog>(
    search.get("open") === "gallery" ? { what: "gallery" } : null,
  );
  const mayEdit = mayIn(project, "editChannels");
  const add = () => setDialog({ what: "gallery" });
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        {mayEdit && channels.length > 0 && (
          <Button kind="primary" onClick={add}>
            {channelsWords.add}
          </Button>
        )}
      </header>
      <Queried query={query}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              title={channelsWords.none.title}
              action={
                mayEdit && (
                  <Button kind="primary" onClick={add}>
                    {channelsWords.add}
                  </Button>
                )
              }
            >
              {channelsWords.none.text}
            </Empty>
          ) : (
            <List channels={all} kinds={kinds.data ?? []} {...{ mayEdit, project }} onDialog={setDialog} />
          )
        }
      </Queried>
      {kinds.isError && <Failed error={kinds.error} onRetry={() => void kinds.refetch()} />}
      {query.data !== undefined && kinds.data !== undefined && (
        <Windows
          channels={query.data}
          kinds={kinds.data}
          {...{ mayEdit, project, dialog }}
          onDialog={setDialog}
        />
      )}
    </>
  );
}

function List(props: {
  channels: readonly Channel[];
  kinds: readonly ChannelKindInfo[];
  mayEdit: boolean;
  project: string;
  onDialog: (dialog: OpenDialog) => void;
}) {
  const { channels, kinds, mayEdit, project, onDialog } = props;
  return (
    <table className="table channels-table">
      <thead>
        <tr>
          <th scope="col">{channelsWords.columns.name}</th>
          <th scope="col">{channelsWords.columns.checkColumn}</th>
          <th scope="col">{channelsWords.columns.last}</th>
          <th scope="col">
            <span className="sr">{channelsWords.columns.act}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {channels.map((channel) => (
          <ChannelRow
            key={channel.id}
            channel={channel}
            kind={kinds.find(({ name }) => name === channel.kind)}
            mayEdit={mayEdit}
            project={project}
            onOpen={(what) => onDialog({ what, channel })}
          />
        ))}
      </tbody>
    </table>
  );
}

function Windows(props: {
  channels: readonly Channel[];
  kinds: readonly ChannelKindInfo[];
  mayEdit: boolean;
  project: string;
  dialog: OpenDialog;
  onDialog: (dialog: OpenDialog) => void;
}) {
  const { channels, kinds, mayEdit, project, dialog, onDialog } = props;
  const mayEditChecks = mayIn(project, "editChecks");
  const client = useQueryClient();
  const close = () => onDialog(null);
  const changed = () => {
    void client.invalidateQueries({ queryKey: ["channels", project] });
    // Rows of checks show their channels, and no event updates them after this change.
    checksStore(project).reload();
  };
  const reload = async (opened: OpenDialog) => {
    await client.refetchQueries({ queryKey: ["channels", project] });
    const all = client.getQueryData<Channel[]>(["channels", project]) ?? [];
    const channel = opened?.what === "edit" ? all.find(({ id }) => id === opened.channel.id) : undefined;
    onDialog(channel === undefined ? null : { what: "edit", channel });
  };
  switch (dialog?.what) {
    case undefined:
      return null;
    case "gallery":
      return <Gallery kinds={kinds} onPick={(kind) => onDialog({ what: "new", kind })} onClose={close} />;
    case "new":
    case "edit": {
      const name = dialog.what === "new" ? dialog.kind : dialog.channel.kind;
      const kind = kinds.find((one) => one.name === name);
      const channel = dialog.what === "edit" ? dialog.channel : null;
      if (kind === undefined) return null;
      return (
        <ChannelForm
          // A new version resets the form.
          key={channel?.version ?? "new"}
          {...{ kind, channel, channels, project }}
          onDone={changed}
          onClose={close}
          onReload={() => void reload(dialog)}
        />
      );
    }
    case "test":
      return <TestDialog project={project} channel={dialog.channel} onClose={close} onDone={changed} />;
    case "checks":
      return (
        <ChannelChecks {...{ project, mayEdit: mayEditChecks }} channel={dialog.channel} onClose={close} />
      );
    case "log":
      return <DeliveryLog {...{ project, mayEdit }} channel={dialog.channel} onClose={close} />;
  }
}

// The gallery of channel kinds.

export function Gallery(props: {
  kinds: readonly ChannelKindInfo[];
  onPick: (kind: string) => void;
  onClose: () => void;
}) {
  return (
    <Dialog
      isOpen
      onClose={props.onClose}
      title={channelsWords.gallery.title}
      description={channelsWords.gallery.text}
    >
      <ul className="channels-gallery">
        {props.kinds.map(({ name, title, description }) => (
          <li key={name}>
            <button type="button" className="channels-card" onClick={() => props.onPick(name)}>
              <b>{title}</b>
              <span className="muted">{description}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

// One channel.

type ChannelRowProps = {
  channel: Channel;
  kind: ChannelKindInfo | undefined;
  mayEdit: boolean;
  project: string;
  onOpen: (what: "edit" | "test" | "log" | "checks") => void;
};

export function ChannelRow({ channel, kind, mayEdit, project, onOpen }: ChannelRowProps) {
  return (
    <tr className={channel.isEnabled ? undefined : "is-off"}>
      <td>
        <span className="channels-name">{channelName(channel)}</span>
        <span className="muted channels-kind">
          {kind?.title ?? channel.kind}
          {summaryOf(channel, kind)}
        </span>
      </td>
      <td className="channels-hears" data-label={channelsWords.columns.checkColumn}>
        <button
          type="button"
          className="link"
          aria-label={channelsWords.chooseChecks(
            channelName(channel),
            channelsWords.checkCount(channel.checkCount),
          )}
          onClick={() => onOpen("checks")}
        >
          {channelsWords.checkCount(channel.checkCount)}
        </button>
      </td>
      <td>
        <Health channel={channel} />
        {[...new Set(channel.warnings.map(({ text }) => text))].map((text) => (
          <p key={text} className="warning">
            {text}
          </p>
        ))}
      </td>
      <td className="channels-acts">
        <Button onClick={() => onOpen("test")}>{channelsWords.test}</Button>
        <Button kind="bare" onClick={() => onOpen("log")}>
          {channelsWords.log}
        </Button>
        {mayEdit && <More channel={channel} project={project} onEdit={() => onOpen("edit")} />}
      </td>
    </tr>
  );
}

/** The first setting that shows the destination, unless it is secret. */
function summaryOf(channel: Channel, kind: ChannelKindInfo | undefined): string {
  const fields = kind === undefined ? [] : fieldsOf(kind);
  const shown = fields.find(
    ({ name, type, isSecret }) =>
      (type === "text" || type === "url") && !isSecret && (channel.config[name] ?? "") !== "",
  );
  const value = shown === undefined ? undefined : channel.config[shown.name];
  return typeof value === "string" && value !== channelName(channel) ? ` · ${value}` : "";
}

function Health({ channel }: { channel: Channel }) {
  const { isEnabled, disabledReason, isVerified, lastNotifiedAt, lastError, lastDurationMs } = channel;
  if (!isEnabled) return <span className="channels-bad">{channelsWords.off(disabledReason)}</span>;
  if (isVerified === false) return <span className="channels-waits">{channelsWords.unverified}</span>;
  if (lastNotifiedAt === null) return <span className="muted">{channelsWords.neverUsed}</span>;
  return (
    <span>
      <Ago at={lastNotifiedAt} />
      {lastError === null ? (
        <span className="muted">
          , {channelsWords.delivered}
          {lastDurationMs !== null && ` ${channelsWords.duration(formatDuration(lastDurationMs))}`}
        </span>
      ) : (
        <span className="channels-bad">, {channelsWords.failed(lastError)}</span>
      )}
    </span>
  );
}

function More({ channel, project, onEdit }: { channel: Channel; project: string; onEdit: () => void }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const again = () => {
    void client.invalidateQueries({ queryKey: ["channels", project] });
    checksStore(project).reload();
  };
  const act = (work: Promise<unknown>, text: string) => {
    work.then(() => toast({ text }), toastError).finally(again);
  };
  const turn = () =>
    act(
      call("updateChannel", { channel: channel.id, body: { isEnabled: !channel.isEnabled } }),
      channelsWords.saved,
    );
  return (
    <>
      <Menu
        align="end"
        trigger={
          <IconButton label={shared.nav.more}>
            <Icon name="more" />
          </IconButton>
        }
      >
        <MenuItem onPick={onEdit}>{channelsWords.edit}</MenuItem>
        <MenuItem onPick={turn}>{channel.isEnabled ? channelsWords.turnOff : channelsWords.turnOn}</MenuItem>
        <MenuLine />
        <MenuItem isDanger onPick={() => setAsking(true)}>
          {channelsWords.remove}
        </MenuItem>
      </Menu>
      <Dialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={channelsWords.removeTitle(channelName(channel))}
        description={channelsWords.removeText}
        footer={
          <>
            <Button onClick={() => setAsking(false)}>{shared.cancel}</Button>
            <Button
              kind="danger"
              onClick={() => {
                setAsking(false);
                act(call("deleteChannel", { channel: channel.id }), channelsWords.removed);
              }}
            >
              {channelsWords.remove}
            </Button>
          </>
        }
      >
        {null}
      </Dialog>
    </>
  );
}

// Which checks notify a channel. Each switch takes effect at once and can be undone.

/** More than fit on screen; the others are found by searching. */
const SHOWN_MAX = 200;

type ChannelChecksProps = { project: string; channel: Channel; mayEdit: boolean; onClose: () => void };

export function ChannelChecks({ project, channel, mayEdit, onClose }: ChannelChecksProps) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [isTurning, setTurning] = useState(false);
  const rows = useFound(project, useDeferredValue(text));
  const queryKey = ["heard", channel.id];
  const query = useQuery({ queryKey, queryFn: () => checksOf(channel.id), staleTime: 0 });
  const onChanged = () => {
    void client.invalidateQueries({ queryKey });
    void client.invalidateQueries({ queryKey: ["channels", project] });
  };
  const name = channelName(channel);
  const turn = async (chosen: readonly CheckRow[], isOn: boolean) => {
    setTurning(true);
    await connectChecks(project, chosen, { channel: channel.id, name, isOn, onChanged });
    setTurning(false);
  };
  const isBusy = isTurning || query.isFetching;
  return (
    <Drawer
      isOpen
      onClose={onClose}
      title={channelChecksWords.title(name)}
      description={channelChecksWords.about}
    >
      <TextField
        label={channelChecksWords.find}
        type="search"
        value={text}
        autoComplete="off"
        onChange={(change) => setText(change.target.value)}
      />
      <Queried query={query}>
        {(assigned) => (
          <>
            {mayEdit && <Many {...{ rows, assigned, isBusy }} onTurn={(isOn) => void turn(rows, isOn)} />}
            <ul className="channels-heard" aria-label={channelChecksWords.list}>
              {rows.slice(0, SHOWN_MAX).map((row) => (
                <li key={row.id}>
                  <Toggle
                    label={<bdi>{checkName(row)}</bdi>}
                    checked={assigned.has(row.id)}
                    disabled={!mayEdit || isBusy}
                    onCheckedChange={(isOn) => void turn([row], isOn)}
                  />
                </li>
              ))}
            </ul>
            {rows.length === 0 && <p className="muted">{channelChecksWords.none}</p>}
            {rows.length > SHOWN_MAX && (
              <p className="hint">{channelChecksWords.more(rows.length - SHOWN_MAX)}</p>
            )}
          </>
        )}
      </Queried>
    </Drawer>
  );
}

type ManyProps = {
  rows: readonly CheckRow[];
  assigned: ReadonlySet<string>;
  isBusy: boolean;
  onTurn: (isOn: boolean) => void;
};

/** All matches at once, visible or not. */
function Many({ rows, assigned, isBusy, onTurn }: ManyProps) {
  const on = rows.filter(({ id }) => assigned.has(id)).length;
  return (
    <div className="channels-many">
      <span className="muted figures" role="status">
        {channelChecksWords.count(on, rows.length)}
      </span>
      <Button isBusy={isBusy} disabled={on === rows.length} onClick={() => onTurn(true)}>
        {channelChecksWords.all}
      </Button>
      <Button isBusy={isBusy} disabled={on === 0} onClick={() => onTurn(false)}>
        {channelChecksWords.nothing}
      </Button>
    </div>
  );
}

/** The checks of the project that match the text, by name. */
function useFound(project: string, text: string): readonly CheckRow[] {
  const all = useAllRows(project);
  const sorted = useMemo(() => all.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1)), [all]);
  const wanted = text.trim().toLowerCase();
  return useMemo(() => sorted.filter((row) => searchText(row).includes(wanted)), [sorted, wanted]);
}

async function checksOf(channel: string): Promise<ReadonlySet<string>> {
  const checks = new Set<string>();
  let cursor: string | null = null;
  do {
    const query: { limit: number; cursor?: string } = { limit: ROWS_PAGE_MAX };
    if (cursor !== null) query.cursor = cursor;
    const page = await call("listChecksOfChannel", { channel, query });
    for (const { id } of page.checks) checks.add(id);
    cursor = page.next;
  } while (cursor !== null);
  return checks;
}

// Sends a test notification and shows the request, the response and the duration.

const ASK_EVERY_MS = 700;

export function TestDialog(props: {
  project: string;
  channel: Channel;
  onClose: () => void;
  onDone: () => void;
}) {
  const { project, channel, onClose, onDone } = props;
  const planned = useQuery({
    queryKey: ["channel-test", channel.id],
    queryFn: () => call("testChannel", { channel: channel.id }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={channelsWords.testing.title}
      description={channelName(channel)}
      footer={<Button onClick={onClose}>{shared.close}</Button>}
    >
      {planned.isPending && <Loading rows={2} />}
      {planned.isError && <Failed error={planned.error} />}
      {planned.data?.deliveries.map((delivery) => (
        <Watched key={delivery.id} project={project} first={delivery} onDone={onDone} />
      ))}
    </Dialog>
  );
}

/** Polls until the message was attempted. */
function Watched({ project, first, onDone }: { project: string; first: Delivery; onDone: () => void }) {
  const query = useQuery({
    queryKey: ["delivery", first.id],
    queryFn: () => call("getDelivery", { project, delivery: first.id }),
    initialData: first,
    refetchInterval: ({ state }) => (isTried(state.data) ? false : ASK_EVERY_MS),
  });
  const delivery = query.data;
  const isOver = isTried(delivery);
  useEffect(() => {
    if (isOver) onDone();
    // The list is refetched once the result is known.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isOver]);
  return (
    <div aria-live="polite">
      {isOver ? (
        <DeliveryDetail delivery={delivery} isMarked />
      ) : (
        <p className="muted">{channelsWords.testing.waits}</p>
      )}
    </div>
  );
}

function isTried(delivery: Delivery | undefined): boolean {
  return (
    delivery !== undefined &&
    (delivery.state !== "pending" || delivery.responseCode !== null || delivery.reason !== null)
  );
}

// Deliveries of a channel, newest first. Failed ones can be retried.

type DeliveryLogProps = { project: string; channel: Channel; mayEdit: boolean; onClose: () => void };

export function DeliveryLog({ project, channel, mayEdit, onClose }: DeliveryLogProps) {
  const query = useInfiniteQuery({
    queryKey: ["deliveries", channel.id],
    queryFn: ({ pageParam }) =>
      call("listDeliveries", {
        channel: channel.id,
        query: pageParam === null ? {} : { cursor: pageParam },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const deliveries = query.data?.pages.flatMap((page) => page.deliveries) ?? [];
  const retry = (delivery: Delivery) => {
    call("retryDelivery", { project, delivery: delivery.id })
      .then(() => toast({ text: channelsWords.retried }), toastError)
      .finally(() => void query.refetch());
  };
  return (
    <Drawer isOpen onClose={onClose} title={channelsWords.logTitle(channelName(channel))}>
      {query.isPending && <Loading />}
      {query.isError && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && deliveries.length === 0 && <Empty title={channelsWords.logNone} />}
      <ul className="channels-log">
        {deliveries.map((delivery) => (
          <Line key={delivery.id} delivery={delivery} onRetry={mayEdit ? () => retry(delivery) : null} />
        ))}
      </ul>
      {query.hasNextPage && (
        <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {channelsWords.older}
        </Button>
      )}
    </Drawer>
  );
}

function Line({ delivery, onRetry }: { delivery: Delivery; onRetry: (() => void) | null }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <button type="button" className="channels-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span>
          <When at={delivery.createdAt} />
          <span className="muted"> · {deliveryWhat(delivery)}</span>
        </span>
        <DeliveryMark delivery={delivery} />
      </button>
      {isOpen && (
        <div className="channels-opened">
          <DeliveryDetail delivery={delivery} isMarked={false} />
          {delivery.state === "dead" && onRetry !== null && (
            <Button onClick={onRetry}>{channelsWords.retry}</Button>
          )}
        </div>
      )}
    </li>
  );
}

// One delivery: request, response, duration and next attempt.

const SHAPES = {
  pending: "late",
  sent: "up",
  merged: "up",
  withdrawn: "paused",
  skipped: "paused",
  dead: "down",
} as const;

export function DeliveryMark({ delivery }: { delivery: Delivery }) {
  return (
    <span className="channels-outcome">
      <StateShape state={SHAPES[delivery.state]} label={null} />
      <span>{deliveryOutcome(delivery)}</span>
    </span>
  );
}

/** `isMarked`: shows the outcome too, if nothing above shows it. */
export function DeliveryDetail({ delivery, isMarked }: { delivery: Delivery; isMarked: boolean }) {
  const { attemptedAt, settledAt, attempts, nextAttemptAt, request, response } = delivery;
  const advice = delivery.state === "sent" ? null : reasonAdvice(delivery.reason);
  const tookMs = attemptedAt === null || settledAt === null ? null : settledAt - attemptedAt;
  return (
    <div className="channels-detail">
      {isMarked && <DeliveryMark delivery={delivery} />}
      {advice !== null && <p>{advice}</p>}
      <p className="muted">
        {channelsWords.attempts(attempts)}
        {tookMs !== null && ` · ${channelsWords.duration(formatDuration(tookMs))}`}
        {nextAttemptAt !== null && (
          <>
            {" "}
            · {channelsWords.nextTry} <Until at={nextAttemptAt} />
          </>
        )}
      </p>
      {request !== null && <Excerpt label={channelsWords.request} text={request} />}
      {response !== null && response !== "" && <Excerpt label={channelsWords.response} text={response} />}
    </div>
  );
}

function Excerpt({ label, text }: { label: string; text: string }) {
  return (
    <div className="field">
      <b>{label}</b>
      <div className="code">
        <pre tabIndex={0} aria-label={label}>
          {text}
        </pre>
      </div>
    </div>
  );
}
