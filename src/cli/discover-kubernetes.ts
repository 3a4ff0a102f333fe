import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
export function defineDiscoverKubernetes(_command: Command, _context: CommandContext): void {}
