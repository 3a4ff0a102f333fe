// The channels page: channels, whether they work, and what was sent.
import "./channels.css";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import type { Channel, ChannelHealth, ChannelKindInfo, Delivery } from "../../src/contract/api/channels.ts";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { channelName, checkName } from "../../src/contract/api/words.ts";
import { ROWS_PAGE_MAX } from "../../src/contract/api/limits.ts";
import { call } from "../api.ts";
import { mayIn } from "../boot.ts";
import { checksStore, nameKey, searchText, useAllRows } from "../live/checks-store.ts";
import { pageHref, type PageProps, usePageTitle } from "../page-location.ts";
import { useOpen } from "../parts/hooks.ts";
import { Button, ButtonLink, Icon, IconButton } from "../ui/button.tsx";
import { Dialog, Drawer } from "../ui/dialog.tsx";
import { DocsLink, LearnMore } from "../ui/docs-link.tsx";
import { TextField, Toggle } from "../ui/field.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Menu, MenuItem, MenuLine } from "../ui/menu.tsx";
import { Empty, Failed, Loading, Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { Ago, When } from "../ui/when.tsx";
import { channelChecksWords, channelsWords, deliveryWhat, needsAttention } from "../words/channels.ts";
import { drillSentence, fireDrillWords } from "../words/fire-drill.ts";
import { formatDuration } from "../words/format.ts";
import { words as shared } from "../words/shared.ts";
import { DeliveryDetail, DeliveryMark, Watched } from "./channel-deliveries.tsx";
import { ChannelForm, fieldsOf } from "./channel-form.tsx";
import { Gallery } from "./channel-gallery.tsx";
import { KindIcon } from "./channel-icon.tsx";
import { connectChecks } from "./checks-actions.ts";
import { useChannelHealth, useChannelKinds, useChannels } from "./use-channels.ts";

/** What is open over the page, except for the form of a new channel: its kind is in the URL. */
type OpenDialog = { what: "edit" | "test" | "log" | "checks"; channel: Channel } | null;

/** In the place of a kind in the URL, it leads to the gallery; the setup page links to it. */
const GALLERY = "gallery";

export function ChannelsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useChannels(project);
  const kinds = useChannelKinds();
  const channels = query.data ?? [];
  const title = query.data === undefined ? channelsWords.tab : channelsWords.title(channels);
  usePageTitle(title);
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const [kind, setKind] = useOpen([GALLERY, ...(kinds.data ?? []).map(({ name }) => name)]);
  const mayEdit = mayIn(project, "editChannels");
  const field = useRef<HTMLInputElement>(null);
  const find = () => field.current?.focus();
  const isLoading = query.data === undefined || kinds.data === undefined;
  useEffect(() => {
    if (kind !== GALLERY || isLoading) return;
    setKind(null);
    find();
    // Only when the page is opened by such a link.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [kind, isLoading]);
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="channels" />
        {channels.length > 0 && (
          <ButtonLink href={pageHref("fire-drill", { project })}>{fireDrillWords.link}</ButtonLink>
        )}
        {mayEdit && channels.length > 0 && (
          <Button kind="primary" onClick={find}>
            {channelsWords.add}
          </Button>
        )}
      </header>
      <Queried query={query}>
        {(all) => (
          <>
            <Lead channels={all} />
            {all.length > 0 && <LastFireDrill project={project} />}
            {all.length > 0 && (
              <List channels={all} kinds={kinds.data ?? []} {...{ mayEdit, project }} onDialog={setDialog} />
            )}
            {mayEdit && kinds.data !== undefined && (
              <Gallery kinds={kinds.data} channels={all} field={field} onPick={setKind} />
            )}
          </>
        )}
      </Queried>
      {kinds.isError && <Failed error={kinds.error} onRetry={() => void kinds.refetch()} />}
      {query.data !== undefined && kinds.data !== undefined && (
        <Windows
          channels={query.data}
          kinds={kinds.data}
          {...{ mayEdit, project, dialog }}
          newKind={mayEdit ? kind : null}
          onDialog={setDialog}
          onNewKind={setKind}
        />
      )}
    </>
  );
}

/** The result of the last fire drill that has ended. */
function LastFireDrill({ project }: { project: string }) {
  const { data } = useQuery({
    queryKey: ["fireDrills", project],
    queryFn: ({ signal }) => call("listFireDrills", { project }, signal),
  });
  const last = data?.fireDrills.find(({ endedAt }) => endedAt !== null);
  if (last === undefined) return null;
  return (
    <p className="channels-lead">
      <StateShape state={last.outcome === "ok" ? "up" : "down"} label={null} />{" "}
      {fireDrillWords.last(drillSentence(last))} (<Ago at={last.startedAt} />)
    </p>
  );
}

/** Below the title: which channels need attention, or what a channel is. */
function Lead({ channels }: { channels: readonly Channel[] }) {
  const broken = channels.filter(needsAttention).map(channelName);
  if (channels.length > 0 && broken.length === 0) return null;
  return (
    <p className="channels-lead">
      {channels.length === 0 ? channelsWords.none : channelsWords.mayNotArrive(broken)}{" "}
      <LearnMore to={channels.length === 0 ? "channels" : "troubleshooting"} />
    </p>
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
  const health = useChannelHealth(project);
  // Those that need attention come first; the others stay in their order.
  const sorted = channels.toSorted((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)));
  return (
    <table className="table channels-table">
      <thead>
        <tr>
          <th scope="col">{channelsWords.columns.name}</th>
          <th scope="col">{channelsWords.columns.recent}</th>
          <th scope="col" className="is-number">
            {channelsWords.columns.share}
          </th>
          <th scope="col" className="is-number">
            {channelsWords.columns.median}
          </th>
          <th scope="col">{channelsWords.columns.last}</th>
          <th scope="col">
            <span className="sr">{channelsWords.columns.act}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sorted.map((channel) => (
          <ChannelRow
            key={channel.id}
            channel={channel}
            kind={kinds.find(({ name }) => name === channel.kind)}
            health={health.data?.get(channel.id)}
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
  newKind: string | null;
  onDialog: (dialog: OpenDialog) => void;
  onNewKind: (kind: null) => void;
}) {
  const { channels, kinds, mayEdit, project, dialog, newKind, onDialog, onNewKind } = props;
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
  const kindOf = (name: string) => kinds.find((one) => one.name === name);
  const form = { channels, project, onDone: changed };
  switch (dialog?.what) {
    case undefined: {
      const kind = newKind === null ? undefined : kindOf(newKind);
      if (kind === undefined) return null;
      return (
        <ChannelForm
          key={kind.name}
          {...form}
          kind={kind}
          channel={null}
          onClose={() => onNewKind(null)}
          onEdit={(channel) => {
            onNewKind(null);
            onDialog({ what: "edit", channel });
          }}
        />
      );
    }
    case "edit": {
      const { channel } = dialog;
      const kind = kindOf(channel.kind);
      if (kind === undefined) return null;
      return (
        <ChannelForm
          // A new version resets the form.
          key={channel.version}
          {...form}
          {...{ kind, channel }}
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

// One channel.

type ChannelRowProps = {
  channel: Channel;
  kind: ChannelKindInfo | undefined;
  health: ChannelHealth | undefined;
  mayEdit: boolean;
  project: string;
  onOpen: (what: "edit" | "test" | "log" | "checks") => void;
};

export function ChannelRow({ channel, kind, health, mayEdit, project, onOpen }: ChannelRowProps) {
  const name = channelName(channel);
  const checkCount = channelsWords.checkCount(channel.checkCount);
  return (
    <tr className={rowClass(channel)}>
      <td className="channels-first">
        <span className="channels-who">
          {kind !== undefined && <KindIcon kind={kind} />}
          <span>
            <span className="channels-name">{name === kind?.name ? kind.title : name}</span>
            <span className="muted channels-kind">
              <span>
                {kind?.title ?? channel.kind}
                {summaryOf(channel, kind)}
              </span>
              <button
                type="button"
                className="link"
                aria-label={channelsWords.chooseChecks(name, checkCount)}
                onClick={() => onOpen("checks")}
              >
                {checkCount}
              </button>
            </span>
          </span>
        </span>
      </td>
      <HealthCells health={health} />
      <td className="channels-last">
        <Health channel={channel} failingSince={health?.failingSince ?? null} />
        {[...new Set(channel.warnings.map(({ text }) => text))].map((text) => (
          <p key={text} className="warning">
            {text}
          </p>
        ))}
        {mayEdit && (!channel.isEnabled || (channel.lastError !== null && channel.warnings.length === 0)) && (
          <Fix channel={channel} project={project} onEdit={() => onOpen("edit")} />
        )}
      </td>
      <td className="channels-acts">
        <Button aria-label={channelsWords.test} onClick={() => onOpen("test")}>
          {channelsWords.testShort}
        </Button>
        <Button kind="bare" onClick={() => onOpen("log")}>
          {channelsWords.log}
        </Button>
        {mayEdit && <More channel={channel} project={project} onEdit={() => onOpen("edit")} />}
      </td>
    </tr>
  );
}

function rowClass(channel: Channel): string | undefined {
  if (isDisabledByOwner(channel)) return "is-off";
  return needsAttention(channel) ? "is-bad" : undefined;
}

/** And not because its receiver refused messages. */
function isDisabledByOwner({ isEnabled, disabledReason }: Channel): boolean {
  return !isEnabled && (disabledReason === null || disabledReason.startsWith("Disabled"));
}

/** The first setting that shows the destination, unless it is secret. */
function summaryOf(channel: Channel, kind: ChannelKindInfo | undefined): string {
  const fields = kind === undefined ? [] : fieldsOf(kind);
  const shown = fields.find(
    ({ name, type, isSecret }) =>
      (type === "text" || type === "url") && !isSecret && (channel.config[name] ?? "") !== "",
  );
  const value = shown === undefined ? undefined : channel.config[shown.name];
  if (typeof value !== "string" || value === channelName(channel)) return "";
  return ` · ${value.replace(/^https?:\/\//, "")}`;
}

function Health({ channel, failingSince }: { channel: Channel; failingSince: number | null }) {
  const { isEnabled, disabledReason, disabledAt, isVerified, notifies } = channel;
  const { lastNotifiedAt, lastError } = channel;
  if (!isEnabled) {
    return (
      <span className="channels-bad">
        {channelsWords.off(disabledReason)}
        {disabledAt !== null && (
          <>
            {" "}
            (<When at={disabledAt} />)
          </>
        )}
      </span>
    );
  }
  if (isVerified === false && !notifies) {
    return <span className="channels-waits">{channelsWords.unverified}</span>;
  }
  if (lastNotifiedAt === null) return <span className="muted">{channelsWords.neverUsed}</span>;
  if (lastError === null) {
    return (
      <span className="muted">
        {channelsWords.delivered} <Ago at={lastNotifiedAt} />
      </span>
    );
  }
  return (
    <>
      <span className="channels-bad">{channelsWords.failed(lastError)}</span>
      <span className="muted channels-since">
        {failingSince === null ? (
          <Ago at={lastNotifiedAt} />
        ) : (
          <>
            {channelsWords.failingSince} <When at={failingSince} />
          </>
        )}
      </span>
    </>
  );
}

const BAR_PX = 4;
/** A worse result has a shorter bar. */
const BARS = { delivered: "V1", retried: "V7", failed: "V11" } as const;

/** The results of the last deliveries, the newest on the right; their share and their median duration. */
function HealthCells({ health }: { health: ChannelHealth | undefined }) {
  const recent = health?.recent ?? [];
  const failed = recent.filter((outcome) => outcome === "failed").length;
  const median = health?.medianMs ?? null;
  const isBad = recent.at(-1) === "failed";
  return (
    <>
      <td className="channels-strip">
        {recent.length > 0 && <Strip recent={recent} label={channelsWords.recent(recent.length, failed)} />}
      </td>
      <td className={isBad ? "channels-share is-number channels-bad" : "channels-share is-number"}>
        {recent.length > 0 && channelsWords.share(1 - failed / recent.length)}
      </td>
      <td className="channels-median is-number muted">{median !== null && formatDuration(median)}</td>
    </>
  );
}

function Strip({ recent, label }: { recent: ChannelHealth["recent"]; label: string }) {
  const path = (wanted: ChannelHealth["recent"][number]) =>
    recent.map((one, index) => (one === wanted ? `M${index * BAR_PX + 1.5} 17${BARS[one]}` : "")).join("");
  const width = recent.length * BAR_PX;
  return (
    <svg viewBox={`0 0 ${width} 18`} width={width} height="18" role="img" aria-label={label}>
      {(["delivered", "retried", "failed"] as const).map((outcome) => (
        <path key={outcome} className={`is-${outcome}`} d={path(outcome)} />
      ))}
    </svg>
  );
}

/** What to do about a channel that does not work: enable it, or change its settings if its receiver refused. */
function Fix({ channel, project, onEdit }: { channel: Channel; project: string; onEdit: () => void }) {
  const { turn } = useTurn(channel, project);
  const isByOwner = isDisabledByOwner(channel);
  return (
    <p>
      <button type="button" className="link" onClick={isByOwner ? turn : onEdit}>
        {isByOwner ? channelsWords.enable : channelsWords.fix}
        <span className="sr"> {channelName(channel)}</span>
      </button>
    </p>
  );
}

/** Enables or disables a channel, with undo, and reloads after any change. */
function useTurn(channel: Channel, project: string) {
  const client = useQueryClient();
  const again = () => {
    void client.invalidateQueries({ queryKey: ["channels", project] });
    checksStore(project).reload();
  };
  const set = (isEnabled: boolean) =>
    call("updateChannel", { channel: channel.id, body: { isEnabled } }).finally(again);
  const turn = () => {
    const { isEnabled } = channel;
    const text = isEnabled
      ? channelsWords.turnedOff(channelName(channel))
      : channelsWords.turnedOn(channelName(channel));
    set(!isEnabled).then(() => toast({ text, undo: () => set(isEnabled) }), toastError);
  };
  return { turn, again };
}

function More({ channel, project, onEdit }: { channel: Channel; project: string; onEdit: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const { turn, again } = useTurn(channel, project);
  const remove = () => {
    call("deleteChannel", { channel: channel.id })
      .then(() => toast({ text: channelsWords.removed }), toastError)
      .finally(again);
  };
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
                remove();
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
