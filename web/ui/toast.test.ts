// What the key for "undo" takes back: the newest that can be, then the one before it, and each once.
import { expect, test, vi } from "vitest";
import { toast, undoLast } from "./toast.tsx";

vi.mock("../api.ts", () => ({ errorText: String }));
vi.mock("../shortcuts.ts", () => ({ useShortcuts: () => undefined }));

test("the newest deed is taken back first, what cannot be taken back is passed by, and nothing twice", () => {
  const undone: string[] = [];
  const deed = (name: string) => toast({ text: name, undo: async () => undone.push(name) });
  deed("paused");
  deed("tagged");
  toast({ text: "saved" });
  undoLast();
  expect(undone).toEqual(["tagged"]);
  undoLast();
  undoLast();
  expect(undone).toEqual(["tagged", "paused"]);
});

test("what has left the screen for newer notices is not taken back any more", () => {
  const undone: string[] = [];
  toast({ text: "first", undo: async () => undone.push("first") });
  for (const text of ["second", "third", "fourth"]) toast({ text });
  undoLast();
  expect(undone).toEqual([]);
});
