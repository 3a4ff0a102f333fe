// The shape that stands for a kind of channel. Its word stands beside it, or is read out by whoever draws it.
const PATHS: Readonly<Record<string, string>> = {
  email: "M2.5 4h11v8h-11zM2.5 4.5 8 8.7l5.5-4.2",
  webhook: "M6 4 2.5 8 6 12M10 4l3.5 4-3.5 4",
  slack: "M6.7 2.5 5.2 13.5M10.8 2.5 9.3 13.5M2.8 6h10.7M2.5 10h10.7",
  discord: "M2.5 3.5h11v7H8.3L5.5 13v-2.5h-3z",
  telegram: "M13.7 2.6 2.3 7.4l4 1.7 1.6 4.5zM6.3 9.1l3.2-2.6",
  ntfy: "M4.3 11V7a3.7 3.7 0 0 1 7.4 0v4M2.8 11h10.4M7 13.6h2",
  pagerduty: "M4.8 2.5h6.4v11H4.8zM7.3 11.2h1.4",
  group:
    "M6 7.6a2.1 2.1 0 1 0 0-4.2 2.1 2.1 0 0 0 0 4.2ZM2 13c.1-2.1 1.7-3.2 4-3.2s3.9 1.1 4 3.2M10.6 7.4a1.9 1.9 0 0 0 0-3.8M11.6 9.9c1.5.4 2.3 1.5 2.4 3.1",
};
/** Of a kind that this release does not know. */
const OTHER = "M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Z";

export function ChannelMark({ kind, isOff }: { kind: string; isOff: boolean }) {
  return (
    <svg
      className={`channel-mark${isOff ? " is-off" : ""}`}
      viewBox="0 0 16 16"
      width={14}
      height={14}
      aria-hidden="true"
    >
      <path d={PATHS[kind] ?? OTHER} fill="none" stroke="currentColor" strokeWidth="1.4" />
    </svg>
  );
}
