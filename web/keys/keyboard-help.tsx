// The list of shortcuts, opened by "?": what works on the page that is shown, in the order it was registered.
import { Dialog } from "../ui/dialog.tsx";
import { Toggle } from "../ui/field.tsx";
import { Keys } from "../ui/keys.tsx";
import { paletteWords, words } from "../words/shared.ts";
import { closeWindows, useOpened } from "./open-windows.ts";
import { useKnownShortcuts } from "./shortcuts.ts";
import { switchSingleKeys, useSingleKeys } from "./single-keys.ts";

export function KeyboardHelp() {
  const known = useKnownShortcuts();
  const groups = [...new Set(known.map(({ group }) => group))];
  return (
    <Dialog isOpen={useOpened() === "help"} onClose={closeWindows} title={words.nav.keys} className="is-wide">
      <Toggle label={paletteWords.singleKeys} checked={useSingleKeys()} onCheckedChange={switchSingleKeys} />
      <div className="help">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {known
                .filter((one) => one.group === group)
                .map((one) => (
                  <div key={one.keys}>
                    <dt>{one.says}</dt>
                    <dd>
                      <Keys keys={one.keys.replace("Shift+", "")} />
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
