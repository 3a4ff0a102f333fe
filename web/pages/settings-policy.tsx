// The notification policy of a project, its acknowledge links and its tag rules.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { listNames, channelName } from "../../src/contract/api/words.ts";
import type { ProjectPolicy, ProjectPolicyChange, TagRules } from "../../src/contract/api/policies.ts";
import { call, errorText } from "../api.ts";
import { mayIn } from "../boot.ts";
import { fieldOf, PolicyFields, policyChange, PolicyTrouble, withChange } from "../parts/policy-fields.tsx";
import { Row, Rows, Section } from "../parts/section.tsx";
import { Button, Icon, IconButton } from "../ui/button.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { TextField, Tick, Toggle } from "../ui/field.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { inheritedText, policySummary, policyWords, projectPolicyWords as words } from "../words/policy.ts";
import { words as shared } from "../words/shared.ts";
import { useChannels } from "./use-channels.ts";

type TagRule = TagRules["rules"][number];

const policyKey = (project: string) => ["policy", project] as const;
const rulesKey = (project: string) => ["tag-rules", project] as const;

export function PolicySections({ project }: { project: string }) {
  const policy = useQuery({
    queryKey: policyKey(project),
    queryFn: ({ signal }) => call("getProjectPolicy", { project }, signal),
  });
  const mayEdit = mayIn(project, "editPolicies");
  return (
    <Queried query={policy} rows={3}>
      {(shown) => (
        <>
          <PolicySection {...{ project, mayEdit }} policy={shown} />
          {mayEdit && <LinksSection project={project} policy={shown} />}
          <RulesSection {...{ project, mayEdit }} />
        </>
      )}
    </Queried>
  );
}

type Given = { project: string; policy: ProjectPolicy };

/** Saves a change of the policy and shows the response. */
function usePolicyChange(project: string) {
  const client = useQueryClient();
  return async (body: ProjectPolicyChange, version: number) => {
    const saved = await call("updateProjectPolicy", { project, body, ifMatch: version });
    client.setQueryData(policyKey(project), saved);
    // Checks inherit it.
    void client.invalidateQueries({ queryKey: ["check"] });
    return saved;
  };
}

function PolicySection({ project, policy, mayEdit }: Given & { mayEdit: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Section title={words.policy.title} about={words.policy.about} docs="alerts">
      <p>{policy.sentence}</p>
      {mayEdit && <Button onClick={() => setOpen(true)}>{words.policy.edit}</Button>}
      {isOpen && <PolicyDrawer project={project} policy={policy} onClose={() => setOpen(false)} />}
    </Section>
  );
}

function PolicyDrawer({ project, policy, onClose }: Given & { onClose: () => void }) {
  // The policy when the form was opened, so that changes of others are not overwritten.
  const [{ own, effective, version }] = useState(policy);
  const [form, setForm] = useState(own);
  const send = usePolicyChange(project);
  const formId = useId();
  const change = policyChange(own, form);
  const save = useMutation({
    mutationFn: () => send(change, version),
    onSuccess: (saved) => {
      toast({ text: words.policy.saved, undo: () => send(policyChange(form, own), saved.version) });
      onClose();
    },
  });
  const isChanged = Object.keys(change).length > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isChanged}
      title={words.policy.drawer}
      description={words.policy.about}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" type="submit" form={formId} isBusy={save.isPending} disabled={!isChanged}>
            {shared.save}
          </Button>
        </>
      }
    >
      <form id={formId} className="form" onSubmit={submit} noValidate>
        <PolicyTrouble trouble={save.error} />
        <PolicyFields
          policy={form}
          set={(next) => {
            save.reset();
            setForm(withChange(form, next));
          }}
          unsetText={(field) =>
            field in own ? policyWords.useDefault : inheritedText(field, effective[field], "default")
          }
          errorAt={(field) => (fieldOf(save.error) === field ? errorText(save.error) : null)}
        />
      </form>
    </Drawer>
  );
}

function LinksSection({ project, policy }: Given) {
  const send = usePolicyChange(project);
  const save = useMutation({
    mutationFn: (ackLinks: boolean) => send({ ackLinks }, policy.version),
    onSuccess: (saved, ackLinks) =>
      toast({
        text: ackLinks ? words.links.on : words.links.off,
        undo: () => send({ ackLinks: !ackLinks }, saved.version),
      }),
    onError: toastError,
  });
  return (
    <Section title={words.links.title} about={words.links.about} docs="ackLinks">
      <Toggle
        label={words.links.label}
        checked={policy.ackLinks}
        disabled={save.isPending}
        onCheckedChange={(isOn) => save.mutate(isOn)}
      />
    </Section>
  );
}

// Tag rules, in their order.

const ruleWords = words.rules;

function RulesSection({ project, mayEdit }: { project: string; mayEdit: boolean }) {
  const query = useQuery({
    queryKey: rulesKey(project),
    queryFn: ({ signal }) => call("getTagRules", { project }, signal),
  });
  return (
    <Section title={ruleWords.title} about={ruleWords.about} docs="tagRules">
      <Queried query={query} rows={2}>
        {(rules) => <Rules {...{ project, mayEdit, rules }} />}
      </Queried>
    </Section>
  );
}

/** Replaces the rules, shows them, and offers undo. */
function useRulesChange(project: string, { rules: before, version }: TagRules) {
  const client = useQueryClient();
  const send = async (rules: readonly TagRule[], ifMatch: number) => {
    const saved = await call("setTagRules", { project, body: { rules: [...rules] }, ifMatch });
    client.setQueryData(rulesKey(project), saved);
    void client.invalidateQueries({ queryKey: ["check"] });
    return saved;
  };
  return useMutation({
    mutationFn: ({ rules }: { rules: readonly TagRule[]; message: string }) => send(rules, version),
    onSuccess: (saved, { message }) => toast({ text: message, undo: () => send(before, saved.version) }),
  });
}

type RulesProps = { project: string; mayEdit: boolean; rules: TagRules };

function Rules({ project, mayEdit, rules }: RulesProps) {
  /** The position of the rule in the form; -1: a new one. */
  const [edited, setEdited] = useState<number | null>(null);
  const change = useRulesChange(project, rules);
  const { data: channels = [] } = useChannels(project);
  const all = rules.rules;
  const put = (next: readonly TagRule[], message: string) =>
    change.mutate({ rules: next, message }, { onError: toastError });
  return (
    <>
      <Rows label={ruleWords.list} none={ruleWords.none}>
        {all.map((rule, index) => (
          <Row
            key={`${rule.tag} ${index}`}
            name={rule.tag}
            about={aboutRule(rule, channels)}
            acts={
              mayEdit && (
                <>
                  <IconButton
                    label={ruleWords.up(rule.tag)}
                    className="is-up"
                    disabled={index === 0}
                    onClick={() => put(moved(all, index, -1), ruleWords.moved(rule.tag))}
                  >
                    <Icon name="down" />
                  </IconButton>
                  <IconButton
                    label={ruleWords.down(rule.tag)}
                    disabled={index === all.length - 1}
                    onClick={() => put(moved(all, index, 1), ruleWords.moved(rule.tag))}
                  >
                    <Icon name="down" />
                  </IconButton>
                  <Button
                    kind="bare"
                    aria-label={ruleWords.editOf(rule.tag)}
                    onClick={() => setEdited(index)}
                  >
                    {ruleWords.edit}
                  </Button>
                  <Button
                    kind="bare"
                    aria-label={ruleWords.removeOf(rule.tag)}
                    onClick={() => put(all.toSpliced(index, 1), ruleWords.removed(rule.tag))}
                  >
                    {ruleWords.remove}
                  </Button>
                </>
              )
            }
          />
        ))}
      </Rows>
      {mayEdit && <Button onClick={() => setEdited(-1)}>{ruleWords.add}</Button>}
      {edited !== null && (
        <RuleDrawer project={project} rules={rules} index={edited} onClose={() => setEdited(null)} />
      )}
    </>
  );
}

/** The list with the item one place earlier or later. */
function moved<T>(items: readonly T[], index: number, by: 1 | -1): T[] {
  const next = [...items];
  const [item] = next.splice(index, 1);
  if (item !== undefined) next.splice(index + by, 0, item);
  return next;
}

type Named = { id: string; name: string; kind: string };

function aboutRule({ policy, channels }: TagRule, known: readonly Named[]): string {
  const names = known.filter(({ id }) => channels.includes(id)).map(channelName);
  const parts = [
    ...policySummary(policy),
    ...(names.length > 0 ? [ruleWords.channels(listNames(names))] : []),
  ];
  return parts.length === 0 ? ruleWords.empty : parts.join(" · ");
}

type RuleDrawerProps = { project: string; rules: TagRules; index: number; onClose: () => void };

const NEW_RULE: TagRule = { tag: "", policy: {}, channels: [] };

function RuleDrawer({ project, rules, index, onClose }: RuleDrawerProps) {
  const [before] = useState(() => rules.rules[index] ?? NEW_RULE);
  // The rules when the form was opened, so that changes of others are not overwritten.
  const [opened] = useState(rules);
  const [form, setForm] = useState(before);
  const change = useRulesChange(project, opened);
  const { data: channels = [] } = useChannels(project);
  const formId = useId();
  const isNew = before === NEW_RULE;
  const tag = form.tag.trim();
  const isChanged = JSON.stringify(form) !== JSON.stringify(before);
  const set = (next: Partial<TagRule>) => {
    change.reset();
    setForm((was) => ({ ...was, ...next }));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const saved = { ...form, tag };
    const next = isNew ? [...opened.rules, saved] : opened.rules.with(index, saved);
    const message = isNew ? ruleWords.added(tag) : ruleWords.saved(tag);
    change.mutate({ rules: next, message }, { onSuccess: onClose });
  };
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isChanged}
      title={isNew ? ruleWords.newTitle : ruleWords.editTitle(before.tag)}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button
            kind="primary"
            type="submit"
            form={formId}
            isBusy={change.isPending}
            disabled={!isChanged || tag === ""}
          >
            {isNew ? ruleWords.create : shared.save}
          </Button>
        </>
      }
    >
      <form id={formId} className="form" onSubmit={submit} noValidate>
        <PolicyTrouble trouble={change.error} />
        <TextField
          label={ruleWords.tag}
          hint={ruleWords.tagHint}
          value={form.tag}
          onChange={(event) => set({ tag: event.target.value })}
          autoComplete="off"
          dir="auto"
        />
        <fieldset className="settings-channels">
          <legend>{ruleWords.channelsLabel}</legend>
          <p className="hint">{channels.length === 0 ? ruleWords.noChannels : ruleWords.channelsHint}</p>
          {channels.map((channel) => (
            <Tick
              key={channel.id}
              label={<bdi>{channelName(channel)}</bdi>}
              checked={form.channels.includes(channel.id)}
              onCheckedChange={(isOn) =>
                set({
                  channels:
                    isOn === true
                      ? [...form.channels, channel.id]
                      : form.channels.filter((id) => id !== channel.id),
                })
              }
            />
          ))}
        </fieldset>
        <PolicyFields
          policy={form.policy}
          set={(next) => set({ policy: withChange(form.policy, next) })}
          unsetText={() => policyWords.notSet}
          errorAt={() => null}
        />
      </form>
    </Drawer>
  );
}
