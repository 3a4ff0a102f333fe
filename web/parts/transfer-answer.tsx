// Accept or decline a transfer of ownership.
import { useMutation } from "@tanstack/react-query";
import { call } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { toastError } from "../ui/toast.tsx";
import { settingsWords } from "../words/settings.ts";

export type Answer = "accept" | "decline";

const words = settingsWords.transfer;

export function TransferAnswer(props: { project: string; onAnswered: (answer: Answer) => void }) {
  const { project, onAnswered } = props;
  const answered = useMutation({
    mutationFn: (answer: Answer) =>
      call(answer === "accept" ? "acceptTransfer" : "declineTransfer", { project }),
    onSuccess: (_, answer) => onAnswered(answer),
    onError: toastError,
  });
  return (
    <div className="section-acts">
      <Button kind="primary" isBusy={answered.isPending} onClick={() => answered.mutate("accept")}>
        {words.accept}
      </Button>
      <Button isBusy={answered.isPending} onClick={() => answered.mutate("decline")}>
        {words.decline}
      </Button>
    </div>
  );
}
