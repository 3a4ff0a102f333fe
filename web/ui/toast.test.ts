// What the "undo" key undoes: the newest action that can be undone, then the one before it, and each once.
import { expect, test, vi } from "vitest";
import { toast, undoLast } from "./toast.tsx";

vi.mock("../api.ts", () => ({ errorText: String }));
vi.mock("../shortcuts.ts", () => ({ useShortcuts: () => undefined }));

test("the newest action is undone first, those without undo are skipped, and nothing twice", () => {
  const undone: string[] = [];
  const act = (name: string) => toast({ text: name, undo: async () => undone.push(name) });
  act("paused");
  act("tagged");
  toast({ text: "saved" });
  undoLast();
  expect(undone).toEqual(["tagged"]);
  undoLast();
  undoLast();
  expect(undone).toEqual(["tagged", "paused"]);
});

test("an action whose toast was replaced by newer ones cannot be undone any more", () => {
  const undone: string[] = [];
  toast({ text: "first", undo: async () => undone.push("first") });
  for (const text of ["second", "third", "fourth"]) toast({ text });
  undoLast();
  expect(undone).toEqual([]);
});
