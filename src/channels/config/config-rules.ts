// The kinds' say in what becomes of a channel, in the form in which operations ask for it.
import type { ConfigRules } from "../../core/alerts/channel-request.ts";
import { didYouMean } from "../../lib/nearest-name.ts";
import { KINDS, kindNamed } from "../registry.ts";
import { readConfig, withMadeSecrets } from "./channel-config.ts";

const NAMES = KINDS.map(({ name }) => name);

export const CONFIG_RULES: ConfigRules = {
  read: (name, input) => {
    const kind = kindNamed(name);
    if (kind === null) {
      return {
        ok: false,
        text: `Unknown channel kind "${name}".${didYouMean(name, NAMES)} Valid kinds: ${NAMES.join(", ")}.`,
      };
    }
    return readConfig(kind, input, { strict: true });
  },
  complete: (name, config) => {
    const kind = kindNamed(name);
    if (kind === null) throw new Error("a configuration was validated for an unknown kind");
    return withMadeSecrets(kind, config);
  },
};
