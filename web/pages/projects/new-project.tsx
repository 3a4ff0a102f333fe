// A new project needs a name and nothing else.
import { FIELD_LENGTHS } from "../../../src/contract/web/requests/sizes.ts";
import { type FormEvent, useState } from "react";
import { send, troubleText } from "../../api/api.ts";
import { siteUrl } from "../../boot/boot.ts";
import { pageHref } from "../../shell/page-address.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, FormActs } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { projectsWords } from "../../words/projects.ts";

export function NewProject() {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { uuid } = await send<{ uuid: string }>("POST", "/projects", { name: name.trim() });
      // A whole new page: the list of projects comes with it.
      location.assign(siteUrl(pageHref("checks", { project: uuid })));
    } catch (trouble) {
      setError(troubleText(trouble));
      setBusy(false);
    }
  };
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>
        {projectsWords.new}
      </Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        isUnsaved={name !== "" && !isBusy}
        title={projectsWords.new}
        description={projectsWords.newAbout}
      >
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField
            label={projectsWords.name}
            value={name}
            onChange={(event) => setName(event.target.value)}
            maxLength={FIELD_LENGTHS.projectName}
            required
            dir="auto"
            autoComplete="off"
            error={error}
          />
          <FormActs act={projectsWords.create} onClose={() => setOpen(false)} isBusy={isBusy} />
        </form>
      </Dialog>
    </>
  );
}
