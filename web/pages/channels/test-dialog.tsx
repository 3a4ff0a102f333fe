// Sends a test and shows what came of it: the request, the answer and the time it took.
import { channelName } from "../../../src/contract/web/list-words.ts";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import type { ChannelCard, DeliveryRow } from "../../../src/contract/web/channels.ts";
import { get, send } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failed, Loading } from "../../ui/page-state.tsx";
import { channelsWords as words } from "../../words/channels.ts";
import { words as shared } from "../../words/shared.ts";
import { DeliveryDetail } from "./delivery-detail.tsx";

const ASK_EVERY_MS = 700;

export function TestDialog(props: {
  project: string;
  channel: ChannelCard;
  onClose: () => void;
  onDone: () => void;
}) {
  const { project, channel, onClose, onDone } = props;
  const planned = useQuery({
    queryKey: ["channel-test", channel.id],
    queryFn: () => send<{ deliveries: DeliveryRow[] }>("POST", `/channels/${channel.id}/test`),
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
      title={words.testing.title}
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

/** Asks again until the message was tried. */
function Watched({ project, first, onDone }: { project: string; first: DeliveryRow; onDone: () => void }) {
  const query = useQuery({
    queryKey: ["delivery", first.id],
    queryFn: () => get<DeliveryRow>(`/projects/${project}/deliveries/${first.id}`),
    initialData: first,
    refetchInterval: ({ state }) => (isTried(state.data) ? false : ASK_EVERY_MS),
  });
  const delivery = query.data;
  const isOver = isTried(delivery);
  useEffect(() => {
    if (isOver) onDone();
    // The list behind is told once, when the outcome is there.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isOver]);
  return (
    <div aria-live="polite">
      {isOver ? (
        <DeliveryDetail delivery={delivery} isMarked />
      ) : (
        <p className="muted">{words.testing.waits}</p>
      )}
    </div>
  );
}

function isTried(delivery: DeliveryRow | undefined): boolean {
  return (
    delivery !== undefined &&
    (delivery.state !== "pending" || delivery.code !== null || delivery.reason !== null)
  );
}
