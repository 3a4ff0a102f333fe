// The sentence under the name. It counts by itself.
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useNow } from "../../../live/clock.ts";
import { promiseOf } from "../../../words/check/promise.ts";

type Props = { page: CheckPage; row: CheckRow };

export function Promised({ page, row }: Props) {
  const parts = promiseOf({ page, row, reader: { now: useNow(), zone: readerZone } });
  return (
    <p className="check-promise">
      {parts.map(({ text, is, isWhole }, index) =>
        is === undefined ? (
          text
        ) : (
          <b key={index} className={`is-${is}${isWhole ? " is-whole" : ""}`}>
            {text}
          </b>
        ),
      )}
    </p>
  );
}
