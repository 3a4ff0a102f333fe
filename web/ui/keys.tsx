// A shortcut as it is printed on keys: "g c" is one after the other, "Control+k" at once.
const PRINTED: Readonly<Record<string, string>> = {
  Control: "Ctrl",
  $mod: "Ctrl",
  Shift: "Shift",
  Enter: "↵",
  Escape: "Esc",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
};

export function Keys({ keys }: { keys: string }) {
  const parts = keys.split(" ").flatMap((chord) => chord.split("+"));
  return (
    <span className="keys">
      {parts.map((key, index) => (
        <kbd key={index}>{PRINTED[key] ?? key}</kbd>
      ))}
    </span>
  );
}
