// Changes a check by what it is at that moment: a tag or a channel more or less. Two who do so at once both get what
// they asked for, because what was there before is read under the check's lock.
import { fieldText, FIELD_PROBLEM } from "../../core/errors.ts";
import { withTag } from "../../core/identity.ts";
import { TAGS_LENGTH_MAX } from "../../core/limits.ts";
import { isLongerThan } from "../../core/request/check-params.ts";
import type { Database } from "../../store/db.ts";
import { type Edit, editCheck } from "./edit.ts";
import {
  type Absent,
  channelUuidsOf,
  type CheckName,
  type CheckWithChannels,
  lockCheck,
  type Refused,
} from "./locked-check.ts";
import { inRetriedTransaction } from "./retried.ts";

/** One tag, or one channel of the check's project by its UUID, to be there or not. */
export type Adjustment = { isOn: boolean } & ({ tag: string } | { channel: string });

type AdjustRequest = CheckName &
  Omit<Edit, "params" | "channels" | "deriveSlug"> & { adjustment: Adjustment };

/** What is so already stays without a trace, and is not changed. Refused: more tags than fit, or an unknown channel. */
export function adjustCheck(
  database: Database,
  request: AdjustRequest,
): Promise<{ kind: "adjusted"; check: CheckWithChannels; isChanged: boolean } | Refused | Absent> {
  const { adjustment } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const edit: Edit = { ...request, params: {}, channels: null, deriveSlug: false };
    if ("tag" in adjustment) {
      const tags = withTag(locked.check.settings.tags, adjustment);
      if (adjustment.isOn && isLongerThan(tags, TAGS_LENGTH_MAX))
        return { kind: "refused", code: "invalid", text: fieldText("tags", FIELD_PROBLEM.tooLong) };
      edit.params = { tags };
    } else {
      const { channel, isOn } = adjustment;
      const rest = (await channelUuidsOf(tx, locked.check.id)).filter((uuid) => uuid !== channel);
      edit.channels = (isOn ? [...rest, channel] : rest).join(",");
    }
    const edited = await editCheck(tx, locked, edit);
    return edited.kind === "refused" ? edited : { ...edited, kind: "adjusted" };
  });
}
