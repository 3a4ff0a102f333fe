// Network addresses as text: listen addresses and address ranges. Resolves no names and opens no socket.
import { isIP } from "node:net";
import { domainToASCII } from "node:url";

export type ListenAddress = { host: string; port: number };

const PORT_MAX = 65_535;
const HOST_NAME_LENGTH_MAX = 253;
const HOST_LABEL = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}_])?$/u;
const PREFIX_MAX = { 4: 32, 6: 128 } as const;

/** "127.0.0.1:8000", "[::1]:8000", "localhost:0" or ":8000" (every interface); null for anything else. */
export function parseListenAddress(text: string): ListenAddress | null {
  const parts = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:[\]\s]*)):(?<port>\d{1,5})$/.exec(text);
  const port = Number(parts?.groups?.["port"] ?? Number.NaN);
  if (parts === null || port > PORT_MAX) return null;
  const six = parts.groups?.["six"];
  if (six !== undefined) return isIP(six) === 6 ? { host: six, port } : null;
  const host = parts.groups?.["host"] ?? "";
  // "::" accepts IPv4 connections, too, if the system supports both.
  return { host: host === "" ? "::" : host, port };
}

/** The address as written in a URL or a setting. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True for "mail", "smtp.example.org" and names in other scripts; underscores occur in private networks. */
export function isHostName(text: string): boolean {
  const labels = text.replace(/\.$/, "").split(".");
  if (text.length > HOST_NAME_LENGTH_MAX || !labels.every((label) => HOST_LABEL.test(label))) return false;
  return domainToASCII(text) !== "";
}

/** True for "10.0.0.1", "10.0.0.0/8", "::1" and "fd00::/8": one address, or a range of them. */
export function isAddressRange(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || address.includes("%")) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= PREFIX_MAX[family === 4 ? 4 : 6];
}
