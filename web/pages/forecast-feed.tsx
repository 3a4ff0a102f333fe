// Creates and revokes the calendar feed of the forecast. Its URL is shown once.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { forecastKey } from "../parts/forecast-entry.tsx";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { forecastWords } from "../words/forecast.ts";
import { formatWhen } from "../words/format.ts";

const words = forecastWords.feed;

type Props = { project: string; createdAt: number | null; onClose: () => void };

export function FeedDialog({ project, createdAt, onClose }: Props) {
  const client = useQueryClient();
  const now = useMinute();
  const [url, setUrl] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: forecastKey });
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
      await refresh();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const create = () => run(async () => setUrl((await call("createForecastFeed", { project })).url));
  const revoke = () =>
    run(async () => {
      await call("deleteForecastFeed", { project });
      onClose();
      toast({ text: words.revoked });
    });
  return (
    <Dialog
      isOpen
      title={words.title}
      description={words.about}
      docs="forecast"
      onClose={onClose}
      footer={
        <>
          {createdAt !== null && (
            <Button kind="danger" isBusy={isBusy} onClick={() => void revoke()}>
              {words.revoke}
            </Button>
          )}
          {url === null ? (
            <Button kind="primary" isBusy={isBusy} onClick={() => void create()}>
              {createdAt === null ? words.create : words.replace}
            </Button>
          ) : (
            <Button kind="primary" onClick={onClose}>
              {words.close}
            </Button>
          )}
        </>
      }
    >
      {url !== null ? (
        <>
          <p>{words.secret}</p>
          <CodeBlock text={url} label={words.url} />
        </>
      ) : (
        createdAt !== null && (
          <p>
            {words.exists(formatWhen(createdAt, { now, zone: userZone }))} {words.replaceAbout}
          </p>
        )
      )}
    </Dialog>
  );
}
