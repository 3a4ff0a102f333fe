// Text with a button that copies it.
import { useEffect, useState } from "react";
import { words } from "../words/shared.ts";
import { Icon, IconButton } from "./button.tsx";
import { toast } from "./toast.tsx";

const COPIED_MS = 2_000;

/** Copies a text to the clipboard; false if the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https there is no clipboard: selected text can still be copied manually.
    return false;
  }
}

export function CopyButton({ text, label = words.copy }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const take = async () => {
    if (!(await copyText(text))) {
      toast({ kind: "trouble", text: words.copyRefused });
      return;
    }
    setCopied(true);
  };
  return (
    <IconButton label={isCopied ? words.copied : label} onClick={() => void take()}>
      <Icon name={isCopied ? "tick" : "copy"} />
    </IconButton>
  );
}

/** Lines of code with their copy button. */
export function CodeBlock({ text, label }: { text: string; label?: string }) {
  return (
    <div className="code">
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
