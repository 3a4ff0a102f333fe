// A warning above the list: checks are down and no channel is notified. Which they are is told by the server; one press
// assigns the channels that there are, and can be undone.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { ProjectHead } from "../../../src/contract/web/boot.ts";
import { SILENT_WORDS as words, silentAction } from "../../../src/contract/web/list-words.ts";
import type { SilentChecks } from "../../../src/contract/web/silent.ts";
import { get } from "../../api/api.ts";
import type { ChecksSnapshot } from "../../live/checks-snapshot.ts";
import { pageHref } from "../../shell/page-address.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useSettled } from "../../parts/use-settled.ts";
import { connectAll } from "./actions.ts";

/** Rows may change many times a second; the question is asked again when they have been still for this long. */
const STILL_MS = 400;

type Props = { project: ProjectHead; snapshot: ChecksSnapshot };

export function SilentBand({ project, snapshot }: Props) {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const down = useSettled(downMark(snapshot), STILL_MS);
  const key = ["silent", project.id];
  const { data } = useQuery({
    queryKey: [...key, down],
    queryFn: () => get<SilentChecks>(`/projects/${project.id}/silent`),
    placeholderData: (before) => before ?? snapshot.silent ?? undefined,
    // Channels are changed on other pages and by other people.
    refetchOnWindowFocus: true,
    staleTime: 0,
  });
  if (data === undefined || data.downCount === 0) return null;
  const { downCount, downIds, channels } = data;
  const rows = downIds.flatMap((id) => snapshot.rows.get(id) ?? []);
  // While the list is still loading, some of them may be missing.
  const isLoading = rows.length < downIds.length && !snapshot.isComplete;
  const assign = async () => {
    setBusy(true);
    await connectAll(project.id, rows, {
      channels,
      onChanged: () => void client.invalidateQueries({ queryKey: key }),
    });
    setBusy(false);
  };
  const action = silentAction(data, project);
  return (
    <section className="band silent-band" aria-label={words.label}>
      <Icon name="warn" />
      <div className="silent-text" role="status">
        <b>{words.title(downCount)}</b> {words.text(data)}
      </div>
      {action !== null &&
        (channels.length === 0 ? (
          <Link className="button is-primary" href={pageHref("channels", { project: project.id })}>
            {action}
          </Link>
        ) : (
          <Button kind="primary" isBusy={isBusy || isLoading} onClick={() => void assign()}>
            {action}
          </Button>
        ))}
    </section>
  );
}

/** Another text whenever a check goes down or up, or gets or loses a channel while it is down. */
function downMark({ rows, counts, isComplete, version }: ChecksSnapshot): string {
  if (!isComplete) return `${counts?.down ?? 0} ${version > 0}`;
  let down = 0;
  let channels = 0;
  for (const row of rows.values()) {
    if (row.state !== "down") continue;
    down += 1;
    channels += row.channels;
  }
  return `${down} ${channels}`;
}
