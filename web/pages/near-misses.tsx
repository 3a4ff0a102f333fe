// The near misses page: requests that reached no check, what they probably were, and what can be done about each.
import "./near-misses.css";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";
import { DOCS } from "../../src/contract/api/docs.ts";
import type { NearMiss } from "../../src/contract/api/near-misses.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { call } from "../api.ts";
import { boot, mayIn, siteUrl, userZone } from "../boot.ts";
import { useAllRows } from "../live/checks-store.ts";
import { useMinute } from "../live/clock.ts";
import { type PageProps, usePageTitle } from "../page-location.ts";
import { CheckChoice } from "../parts/check-choice.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { Empty, Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { When } from "../ui/when.tsx";
import { formatDay } from "../words/format.ts";
import {
  differenceOf,
  everyText,
  missText,
  missTitle,
  nearMissWords as words,
} from "../words/near-misses.ts";
import { nearMissesKey, useNearMisses } from "./use-near-misses.ts";

export function NearMissesPage({ params }: PageProps) {
  const project = params.project ?? "";
  const [search, setSearch] = useSearchParams();
  const isIgnored = search.get("show") === "ignored";
  const query = useNearMisses(project, isIgnored ? "ignored" : "open");
  const counts = query.data?.counts ?? null;
  const open = query.data?.counts.open ?? 0;
  const title = isIgnored ? words.titleIgnored : query.data === undefined ? words.tab : words.title(open);
  usePageTitle(title);
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="nearMisses" />
        {isIgnored ? (
          <Button kind="bare" onClick={() => setSearch({})}>
            {words.back}
          </Button>
        ) : (
          counts !== null &&
          counts.ignored > 0 && (
            <Button kind="bare" onClick={() => setSearch({ show: "ignored" })}>
              {words.ignored(counts.ignored)}
            </Button>
          )
        )}
      </header>
      <Queried query={query}>
        {({ nearMisses }) =>
          nearMisses.length === 0 ? (
            <Empty title={isIgnored ? words.noneIgnored : words.title(0)} docs="nearMisses">
              {!isIgnored && <p>{words.none}</p>}
            </Empty>
          ) : (
            <>
              {!isIgnored && <p className="misses-about">{words.about}</p>}
              <ul className="misses">
                {nearMisses.map((miss) => (
                  <Miss key={miss.id} miss={miss} project={project} />
                ))}
              </ul>
            </>
          )
        }
      </Queried>
    </>
  );
}

function Miss({ miss, project }: { miss: NearMiss; project: string }) {
  const reader = { now: useMinute(), zone: userZone };
  return (
    <li className="miss">
      <div className="miss-what">
        <h2 dir="auto">{missTitle(miss, (at) => formatDay(at, reader))}</h2>
        <p dir="auto">{missText(miss)}</p>
        <RequestShown miss={miss} />
        {mayIn(project, "editChecks") && <Acts miss={miss} project={project} />}
      </div>
      <Meta miss={miss} />
    </li>
  );
}

/** The path before a UUID or a ping key, such as "/ping". */
const PING_PATH = new URL(boot.site.pingUrl, location.href).pathname.replace(/\/$/, "");

/** The request with the part that is wrong and, if it is known, what is right. */
function RequestShown({ miss }: { miss: NearMiss }) {
  const { method, bySlug, address, kind, check } = miss;
  const path = `${PING_PATH}/${bySlug ? "…/" : ""}`;
  if (kind === "http") {
    return (
      <RequestBox>
        <span className="miss-method">{method}</span> <del>http</del>://{location.host}
        {path}
        {address}
      </RequestBox>
    );
  }
  if (kind === "method") {
    return (
      <RequestBox>
        <del>{method}</del> {path}
        {address}
      </RequestBox>
    );
  }
  const right =
    kind === "suffix" ? address.slice(0, address.indexOf("/") + 1) : bySlug ? check?.slug : check?.id;
  const isKnown = (kind === "uuid" || kind === "slug") && right !== undefined && right !== "";
  if (kind === "suffix") {
    return (
      <RequestBox>
        <span className="miss-method">{method}</span> {path}
        {right}
        <del>{address.slice(right?.length ?? 0)}</del>
      </RequestBox>
    );
  }
  if (!isKnown) {
    return (
      <RequestBox>
        <span className="miss-method">{method}</span> {path}
        {address}
      </RequestBox>
    );
  }
  const { start, given, wanted, end } = differenceOf(address, right);
  return (
    <RequestBox>
      <span className="miss-method">{method}</span> {path}
      {start}
      {given !== "" && <del>{given}</del>}
      {end}
      <br />
      <span className="miss-method">{words.meant}</span> {path}
      {start}
      {wanted !== "" && <ins>{wanted}</ins>}
      {end}
    </RequestBox>
  );
}

function RequestBox({ children }: { children: ReactNode }) {
  return (
    <p className="miss-request">
      <span className="sr">{words.request}: </span>
      {children}
    </p>
  );
}

const SPARK_WIDTH = 200;
const SPARK_HEIGHT = 34;
const BAR_HEIGHT_MIN = 4;
const BARS_PER_DAY = 4;

function Meta({ miss }: { miss: NearMiss }) {
  const { weekCount, spark, remoteAddr, ua, lastAt } = miss;
  const most = Math.max(1, ...spark);
  const step = SPARK_WIDTH / spark.length;
  const bars = spark.flatMap((count, at) => {
    if (count === 0) return [];
    const height = Math.max(BAR_HEIGHT_MIN, (count / most) * (SPARK_HEIGHT - BAR_HEIGHT_MIN));
    return [`M${(at * step + step / 2).toFixed(1)} ${SPARK_HEIGHT - 1}v${(-height).toFixed(1)}`];
  });
  const days = new Set(spark.flatMap((count, at) => (count > 0 ? [Math.floor(at / BARS_PER_DAY)] : [])));
  return (
    <div className="miss-meta">
      <span>
        <b>{weekCount}</b> {words.inWeek(weekCount)}
      </span>
      <svg
        viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words.sparkLabel(weekCount, days.size)}
      >
        <path className="miss-line" d={`M0 ${SPARK_HEIGHT - 0.5}H${SPARK_WIDTH}`} />
        <path className="miss-bars" d={bars.join("")} />
      </svg>
      <span className="miss-source">
        {words.from} {remoteAddr ?? words.unknownSource}
        {ua !== "" && ` · ${ua}`}
      </span>
      <span>
        {words.last} <When at={lastAt} />
      </span>
    </div>
  );
}

type ActsProps = { miss: NearMiss; project: string };

function Acts({ miss, project }: ActsProps) {
  const client = useQueryClient();
  const [busy, setBusy] = useState<string | null>(null);
  const [isChoosing, setChoosing] = useState(false);
  const { id, address, check, deleted, schedule, actions, ignoredAt } = miss;
  const refresh = () => client.invalidateQueries({ queryKey: nearMissesKey(project) });
  const run = async (name: string, work: () => Promise<void>) => {
    setBusy(name);
    try {
      await work();
      await refresh();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(null);
    }
  };
  const setIgnored = (isIgnored: boolean) =>
    call("updateNearMiss", { project, nearMiss: id, body: { isIgnored } });
  const ignore = (isIgnored: boolean) =>
    run("ignore", async () => {
      await setIgnored(isIgnored);
      const text = isIgnored ? words.doneIgnore(address) : words.doneUnignore(address);
      const undo = async () => {
        await setIgnored(!isIgnored);
        await refresh();
      };
      toast({ text, undo });
    });
  const addAlias = (to: { id: string; name: string }) =>
    run("alias", async () => {
      const alias = await call("createAlias", { project, nearMiss: id, body: { check: to.id } });
      const undo = async () => {
        await call("deleteAlias", { check: to.id, alias: alias.id });
        await refresh();
      };
      toast({ text: words.doneAlias(address, checkName(to)), undo });
    });
  const removeCheck = async (made: string) => {
    await call("deleteCheck", { check: made });
    await refresh();
  };
  const create = () =>
    run("create", async () => {
      const made = await call("createMissedCheck", { project, nearMiss: id, body: {} });
      const undo = () => removeCheck(made.id);
      toast({ text: words.doneCreate(miss.bySlug ? address : (deleted?.name ?? address)), undo });
    });
  const restore = (gone: { id: string; name: string }) =>
    run("restore", async () => {
      await call("restoreCheck", { check: gone.id });
      const undo = () => removeCheck(gone.id);
      toast({ text: words.doneRestore(checkName(gone)), undo });
    });
  if (ignoredAt !== null) {
    return (
      <div className="miss-acts">
        <Button
          isBusy={busy === "ignore"}
          aria-label={words.unignoreLong(address)}
          onClick={() => void ignore(false)}
        >
          {words.unignore}
        </Button>
      </div>
    );
  }
  const isMeant = check !== null && check.deletedAt === null;
  const every = schedule === null ? null : everyText(schedule.timeoutSeconds);
  const kindAt = (at: number) => (at === 0 ? "primary" : "quiet");
  const shown = {
    alias: () => (isMeant ? void addAlias(check) : setChoosing(true)),
    create: () => void create(),
    restore: () => check !== null && void restore(check),
  };
  const labels = {
    alias: words.alias,
    create: every === null ? words.create : words.createEvery(every),
    restore: words.restore,
  };
  const longLabels = {
    alias: isMeant ? words.aliasOf(checkName(check)) : words.aliasLong(address),
    create: words.createLong(address, every),
    restore: words.restoreLong(check === null ? address : checkName(check)),
  };
  return (
    <div className="miss-acts">
      {actions.map((action, at) => (
        <Button
          key={action}
          kind={kindAt(at)}
          isBusy={busy === action}
          disabled={busy !== null}
          aria-label={`${labels[action]}: ${longLabels[action]}`}
          onClick={shown[action]}
        >
          {labels[action]}
        </Button>
      ))}
      {actions.length === 0 && (
        <a className="button is-primary" href={siteUrl(DOCS.nearMissFix)} target="_blank" rel="noopener">
          {words.fix}
        </a>
      )}
      <Button
        kind="bare"
        isBusy={busy === "ignore"}
        disabled={busy !== null}
        aria-label={words.ignoreLong(address)}
        onClick={() => void ignore(true)}
      >
        {words.ignore}
      </Button>
      {isChoosing && (
        <ChooseCheck
          address={address}
          project={project}
          isBusy={busy === "alias"}
          onClose={() => setChoosing(false)}
          onChosen={async (chosen) => {
            await addAlias(chosen);
            setChoosing(false);
          }}
        />
      )}
    </div>
  );
}

type ChooseProps = {
  address: string;
  project: string;
  isBusy: boolean;
  onClose: () => void;
  onChosen: (check: { id: string; name: string }) => Promise<void>;
};

function ChooseCheck({ address, project, isBusy, onClose, onChosen }: ChooseProps) {
  const rows = useAllRows(project);
  const [id, setId] = useState<string | null>(null);
  const chosen = rows.find((row) => row.id === id);
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={words.choose.title}
      description={words.choose.text(address)}
      docs="nearMisses"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (chosen !== undefined) void onChosen(chosen);
        }}
      >
        <CheckChoice
          rows={rows}
          chosen={id === null ? [] : [id]}
          label={words.choose.label}
          onChange={(ids) => setId(ids.at(-1) ?? null)}
        />
        <FormActions
          act={words.choose.act}
          onClose={onClose}
          isBusy={isBusy}
          disabled={chosen === undefined}
        />
      </form>
    </Dialog>
  );
}
