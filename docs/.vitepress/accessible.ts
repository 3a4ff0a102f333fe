// Corrects the markup of the theme's components where axe finds something wrong. Fails if a component has changed.
import type { DefaultTheme, UserConfig } from "vitepress";

type Plugin = NonNullable<NonNullable<UserConfig<DefaultTheme.Config>["vite"]>["plugins"]>[number];

const CORRECTIONS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  // The page has no main landmark, and the link another name than its text.
  "NotFound.vue": [
    ['<div class="NotFound">', '<main class="NotFound">'],
    ["  </div>\n</template>", "  </main>\n</template>"],
    [":aria-label=\"theme.notFound?.linkLabel ?? 'go to home'\"", ""],
  ],
  // A button in a button: the outer one toggles the section, too.
  "VPSidebarItem.vue": [
    [
      "(isLink.value ? undefined : 'button')",
      "(isLink.value || props.item.collapsed != null ? undefined : 'button')",
    ],
    [':tabindex="item.items && 0"', ':tabindex="item.items && item.collapsed == null ? 0 : undefined"'],
  ],
  // The keys are part of the button's text, but not of its name.
  "VPNavBarSearchButton.vue": [
    ['<span class="DocSearch-Button-Keys">', '<span v-if="false" class="DocSearch-Button-Keys">'],
  ],
  // A dialog is not a button, an option must not contain a link, and a key without a role has no name.
  "VPLocalSearchBox.vue": [
    ["<kbd :aria-label=", '<kbd role="img" :aria-label='],
    ['      role="button"\n', '      role="dialog"\n      aria-modal="true"\n'],
    ["      :aria-owns=\"results?.length ? 'localsearch-list' : undefined\"\n", ""],
    ['      aria-expanded="true"\n', ""],
    [
      '      aria-haspopup="listbox"\n      aria-labelledby="localsearch-label"\n',
      '      :aria-label="buttonText"\n',
    ],
    ['            aria-labelledby="localsearch-label"\n', '            :aria-label="buttonText"\n'],
    [":aria-labelledby=\"results?.length ? 'localsearch-label' : undefined\"", ':aria-label="buttonText"'],
    ["            :id=\"'localsearch-item-' + index\"\n", ""],
    ["            :aria-selected=\"selectedIndex === index ? 'true' : 'false'\"\n", ""],
    ['            role="option"\n', '            role="presentation"\n'],
    [
      "              :aria-label=\"[...p.titles, p.title].join(' > ')\"\n",
      '              role="option"\n              tabindex="-1"\n              :id="\'localsearch-item-\' + index"\n              :aria-selected="selectedIndex === index ? \'true\' : \'false\'"\n',
    ],
  ],
};

export const accessible: Plugin = {
  name: "accessible",
  enforce: "pre",
  transform(code, id) {
    const corrections = CORRECTIONS[id.split("/").at(-1) ?? ""];
    if (corrections === undefined) return null;
    return corrections.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${id} no longer contains ${from}`);
      return text.replaceAll(from, () => to);
    }, code);
  },
};
