// Everyone who is invited: first those that run as they were published, then the replicas of those that cannot be
// installed or aimed at a server of one's own.
import type { Client } from "./client.ts";
import { BORGMATIC } from "./real/borgmatic.ts";
import { NPM_CLIENTS } from "./real/npm.ts";
import { PROMETHEUS } from "./real/prometheus.ts";
import { PYTHON_CLIENTS } from "./real/python.ts";
import { RUST_CLIENTS } from "./real/rust.ts";
import { SHELL_CLIENTS } from "./real/shell.ts";
import { ANSIBLE } from "./replicas/ansible.ts";
import { JAVA, MCP_SERVER, TAP } from "./replicas/assistants.ts";
import { HCHK, PWSH } from "./replicas/command-lines.ts";
import { DASHBOARDS } from "./replicas/dashboards.ts";
import { CLOUDFLARE_DDNS, HEALTHCHECKSIO_CLI, RUNITOR } from "./replicas/pingers.ts";
import { TERRAFORM_CLIENTS } from "./replicas/terraform.ts";

export const CLIENTS: readonly Client[] = [
  ...PYTHON_CLIENTS,
  BORGMATIC,
  ...RUST_CLIENTS,
  ...NPM_CLIENTS,
  ...SHELL_CLIENTS,
  PROMETHEUS,
  RUNITOR,
  ...TERRAFORM_CLIENTS,
  ANSIBLE,
  MCP_SERVER,
  ...DASHBOARDS,
  PWSH,
  HCHK,
  CLOUDFLARE_DDNS,
  HEALTHCHECKSIO_CLI,
  TAP,
  JAVA,
];
