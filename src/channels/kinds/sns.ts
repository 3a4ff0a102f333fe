// Amazon SNS: publishes to a topic, which forwards messages to its subscribers.
import { AwsV4Signer } from "aws4fetch";
import type { Static } from "typebox";
import { type Instant, MINUTE_MS } from "../../core/instant.ts";
import type { OutgoingRequest } from "../../lib/outgoing-http.ts";
import type { ChannelKind } from "../channel-kind.ts";
import { configSchema, textField, tokenField } from "../config-fields.ts";
import { toOutgoing } from "../http-kind.ts";
import { type Answers, rejectionsIn, sendRequest } from "../http-request.ts";
import { incidentEvent } from "../incident-event.ts";
import { fullText, PLAIN } from "../layout.ts";
import { clipStart, type MessageText, messageText } from "../message-text.ts";

/** AWS requires fewer than 100. */
const SUBJECT_LENGTH_MAX = 99;
const ELLIPSIS = "...";
const SMS_LENGTH_MAX = 140;
const LIMITS = { max: 8_000, output: 2_000, value: 500, names: 3_000 } as const;

const schema = configSchema({
  topic_arn: textField({
    about: "The ARN of the topic, such as arn:aws:sns:eu-west-1:123456789012:alerts.",
    lengthMax: 350,
    pattern: "^arn:aws(-cn|-us-gov)?:sns:[a-z]{2}(-[a-z]+)+-[0-9]:[0-9]{12}:[A-Za-z0-9_-]{1,256}(\\.fifo)?$",
    must: "an ARN such as arn:aws:sns:eu-west-1:123456789012:alerts",
  }),
  access_key: tokenField({
    about: "The access key ID of an IAM user that is allowed to publish to the topic.",
    lengthMax: 128,
  }),
  secret_key: tokenField({ about: "The secret access key of the IAM user.", lengthMax: 128 }),
});

type Config = Static<typeof schema>;

/** The beginning of a text as ASCII. */
function asciiOf(text: string): string {
  const ascii = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^ -~]+/g, "?")
    .trim();
  return ascii.length <= SUBJECT_LENGTH_MAX
    ? ascii
    : ascii.slice(0, SUBJECT_LENGTH_MAX - ELLIPSIS.length) + ELLIPSIS;
}

/** The message for each kind of subscriber: text messages are short, because they are billed by length. */
function messagesOf(words: MessageText): string {
  return JSON.stringify({
    default: `${words.headline}\n\n${fullText(words, PLAIN, { limits: LIMITS })}`,
    sms: clipStart(words.headline, SMS_LENGTH_MAX),
  });
}

async function signed(
  request: OutgoingRequest,
  { config, region, now }: { config: Config; region: string; now: Instant },
): Promise<OutgoingRequest> {
  const signer = new AwsV4Signer({
    ...request,
    accessKeyId: config.access_key,
    secretAccessKey: config.secret_key,
    service: "sns",
    region,
    datetime: new Date(now).toISOString().replace(/[-:]|\.\d+/g, ""),
  });
  const { headers } = await signer.sign();
  return { ...request, headers: Object.fromEntries(headers) };
}

const ANSWERS: Answers = {
  gone: [
    { status: 404, text: /<Code>NotFound</, reason: "The topic does not exist" },
    { status: 403, text: /<Code>InvalidClientTokenId</, reason: "AWS rejected the access key ID" },
    {
      status: 403,
      // If the clock of this server is wrong, AWS reports the same code.
      text: /<Code>SignatureDoesNotMatch<(?!.*(expired|not yet current))/s,
      reason: "AWS rejected the secret access key",
    },
    {
      status: 403,
      text: /<Code>AuthorizationError</,
      reason: "The access key is not allowed to publish to the topic",
    },
  ],
  once: [{ status: 400, text: /<Code>InvalidParameter(Value)?</, reason: "Amazon SNS rejected the message" }],
  wait: [{ status: [400, 429], text: /<Code>(KMS)?Throttl/, ms: () => MINUTE_MS }],
};

export const sns: ChannelKind<Config> = {
  name: "sns",
  title: "Amazon SNS",
  about: "Publishes messages to an Amazon SNS topic.",
  category: "automation",
  icon: null,
  example: {
    topic_arn: "arn:aws:sns:eu-west-1:123456789012:alerts",
    access_key: "your-access-key-id",
    secret_key: "your-secret-access-key",
  },
  guide: [
    "In the [Amazon SNS console](https://console.aws.amazon.com/sns/), create a topic, add subscriptions to it, and copy its ARN.",
    "In the [IAM console](https://console.aws.amazon.com/iam/), create a user whose policy allows only `sns:Publish` on the topic.",
    "Create an access key for the user. Paste the access key ID and the secret access key into the form, together with the ARN.",
  ],
  schema,
  isSubscribed: () => true,
  rejections: () => rejectionsIn(ANSWERS),
  rate: { perMinute: 60, burst: 30 },
  send: async (message, config, out) => {
    const words = messageText(message, out);
    const [, partition, , region = ""] = config.topic_arn.split(":");
    const domain = partition === "aws-cn" ? "amazonaws.com.cn" : "amazonaws.com";
    const isFifo = config.topic_arn.endsWith(".fifo");
    const request = toOutgoing({
      url: `https://sns.${region}.${domain}/`,
      form: {
        Action: "Publish",
        Version: "2010-03-31",
        TopicArn: config.topic_arn,
        Subject: asciiOf(words.subject),
        MessageStructure: "json",
        Message: messagesOf(words),
        ...(isFifo
          ? {
              MessageGroupId: incidentEvent(message, words, out).key,
              MessageDeduplicationId: out.dedupeKey,
            }
          : {}),
      },
    });
    return sendRequest(await signed(request, { config, region, now: out.now }), out, ANSWERS);
  },
};
