// The form that invites somebody. Where no mail is sent, the link is shown here, once.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type {
  InvitationBody,
  InvitationMade,
  ProjectSettings,
} from "../../../src/contract/web/project-settings.ts";
import { send } from "../../api/api.ts";
import { AddressDialog, LinkDialog } from "../../parts/address-dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { ROLE_ABOUT, settingsWords } from "../../words/settings.ts";
import { useKeep } from "./use-settings.ts";

const words = settingsWords.invite;
type Role = InvitationBody["role"];

export function Invite({ settings, onClose }: { settings: ProjectSettings; onClose: () => void }) {
  const keep = useKeep(settings.uuid);
  const [role, setRole] = useState<Role>("member");
  const asked = useMutation({
    mutationFn: (body: InvitationBody) =>
      send<InvitationMade>("POST", `/projects/${settings.uuid}/invitations`, body),
    onSuccess: (made, { email }) => {
      keep(made.settings);
      if (made.link !== null) return;
      toast({ text: words.sent(email) });
      onClose();
    },
  });
  const isMailed = settings.invitesBy === "mail";
  const link = asked.data?.link ?? null;
  if (link !== null)
    return <LinkDialog link={link} text={words.linkText(asked.variables?.email ?? "")} onClose={onClose} />;
  return (
    <AddressDialog
      title={words.title}
      text={isMailed ? words.aboutMail : words.aboutLink}
      label={words.email}
      whose="other"
      act={isMailed ? words.send : words.make}
      onAct={(email) => asked.mutate({ email, role })}
      onClose={onClose}
      isBusy={asked.isPending}
      error={asked.error}
    >
      <SelectField label={words.role} value={role} onChange={(event) => setRole(event.target.value as Role)}>
        {Object.entries(ROLE_ABOUT).map(([name, about]) => (
          <option key={name} value={name}>
            {about}
          </option>
        ))}
      </SelectField>
    </AddressDialog>
  );
}
