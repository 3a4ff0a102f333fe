// The address of a Kafka topic, as in OVERDUE_LOG: kafka://host:9092,host2:9092/topic, with kafkas:// for TLS, and
// user and password for SASL.
import { MASK, type ValueKind } from "./setting-value.ts";

export type KafkaBroker = { host: string; port: number };

export type SaslMechanism = "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";

export type KafkaAddress = {
  brokers: readonly KafkaBroker[];
  topic: string;
  isTls: boolean;
  sasl: { mechanism: SaslMechanism; username: string; password: string } | null;
};

const DEFAULT_PORT = 9092;
const PORT_MAX = 65_535;
const BROKERS_MAX = 20;
const MECHANISMS: readonly SaslMechanism[] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
const ADDRESS =
  /^(?<scheme>kafkas?):\/\/(?:(?<user>[^:@/]{1,200}):(?<password>[^@/]{1,500})@)?(?<brokers>[^/?@]{1,2000})\/(?<topic>[A-Za-z0-9._-]{1,200})(?:\?sasl=(?<sasl>[A-Za-z0-9-]{1,20}))?$/;
const BROKER = /^(?:\[(?<six>[0-9a-fA-F:.]{2,45})\]|(?<name>[A-Za-z0-9.-]{1,253}))(?::(?<port>\d{1,5}))?$/;

/** The address in a text, or what is wrong with it. */
export function parseKafkaAddress(text: string): { value: KafkaAddress } | { problem: string } {
  const found = ADDRESS.exec(text)?.groups;
  if (found === undefined) {
    return { problem: "must have the form kafka://host:9092,host2:9092/topic" };
  }
  const brokers: KafkaBroker[] = [];
  for (const part of (found["brokers"] ?? "").split(",")) {
    const { six, name, port } = BROKER.exec(part.trim())?.groups ?? {};
    const host = six ?? name;
    const number = port === undefined ? DEFAULT_PORT : Number(port);
    if (host === undefined || number < 1 || number > PORT_MAX) {
      return { problem: `must name brokers as host:port, separated by commas; "${part}" is not one` };
    }
    brokers.push({ host, port: number });
  }
  if (brokers.length > BROKERS_MAX) return { problem: `must name at most ${BROKERS_MAX} brokers` };
  const { user, password, sasl } = found;
  const mechanism = MECHANISMS.find((one) => one === (sasl?.toUpperCase() ?? "SCRAM-SHA-512"));
  if (mechanism === undefined) return { problem: `must use one of these for sasl: ${MECHANISMS.join(", ")}` };
  const username = decoded(user);
  const secret = decoded(password);
  if (username === null || secret === null) {
    return { problem: "must percent-encode special characters in the user and the password" };
  }
  return {
    value: {
      brokers,
      topic: found["topic"] ?? "",
      isTls: found["scheme"] === "kafkas",
      sasl: user === undefined ? null : { mechanism, username, password: secret },
    },
  };
}

function decoded(text: string | undefined): string | null {
  try {
    return decodeURIComponent(text ?? "");
  } catch {
    return null;
  }
}

/** A topic as the value of a setting; its password is masked. */
export const kafkaKind: ValueKind<KafkaAddress> = {
  describe: "Kafka URL",
  parse: parseKafkaAddress,
  print: (value) => printAddress(value),
  mask: (value) => printAddress(value, MASK),
  secretsIn: ({ sasl }) => (sasl === null ? [] : [sasl.password, encodeURIComponent(sasl.password)]),
};

function printAddress(
  { brokers, topic, isTls, sasl }: KafkaAddress,
  shownPassword: string | null = null,
): string {
  const hosts = brokers.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
  const password = sasl === null ? "" : (shownPassword ?? encodeURIComponent(sasl.password));
  const user = sasl === null ? "" : `${encodeURIComponent(sasl.username)}:${password}@`;
  const query = sasl === null ? "" : `?sasl=${sasl.mechanism.toLowerCase()}`;
  return `${isTls ? "kafkas" : "kafka"}://${user}${hosts.join(",")}/${topic}${query}`;
}
