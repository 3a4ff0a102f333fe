// What was sent by a channel, newest first, with the way to send something again that was given up.
import { channelName } from "../../../src/contract/web/list-words.ts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelCard, DeliveriesPage, DeliveryRow } from "../../../src/contract/web/channels.ts";
import { get, send } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Empty, Failed, Loading } from "../../ui/page-state.tsx";
import { toast, toastTrouble } from "../../ui/toast.tsx";
import { When } from "../../ui/when.tsx";
import { channelsWords as words, deliveryWhat } from "../../words/channels.ts";
import { DeliveryDetail, DeliveryMark } from "./delivery-detail.tsx";

type Props = { project: string; channel: ChannelCard; mayEdit: boolean; onClose: () => void };

export function DeliveryLog({ project, channel, mayEdit, onClose }: Props) {
  const query = useInfiniteQuery({
    queryKey: ["deliveries", channel.id],
    queryFn: ({ pageParam }) =>
      get<DeliveriesPage>(`/channels/${channel.id}/deliveries`, { from: pageParam }),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.from,
  });
  const deliveries = query.data?.pages.flatMap((page) => page.deliveries) ?? [];
  const retry = (delivery: DeliveryRow) => {
    send("POST", `/projects/${project}/deliveries/${delivery.id}/retry`)
      .then(() => toast({ text: words.retried }), toastTrouble)
      .finally(() => void query.refetch());
  };
  return (
    <Drawer isOpen onClose={onClose} title={words.logTitle(channelName(channel))}>
      {query.isPending && <Loading />}
      {query.isError && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && deliveries.length === 0 && <Empty title={words.logNone} />}
      <ul className="channels-log">
        {deliveries.map((delivery) => (
          <Line key={delivery.id} delivery={delivery} onRetry={mayEdit ? () => retry(delivery) : null} />
        ))}
      </ul>
      {query.hasNextPage && (
        <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {words.older}
        </Button>
      )}
    </Drawer>
  );
}

function Line({ delivery, onRetry }: { delivery: DeliveryRow; onRetry: (() => void) | null }) {
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
          {delivery.state === "dead" && onRetry !== null && <Button onClick={onRetry}>{words.retry}</Button>}
        </div>
      )}
    </li>
  );
}
