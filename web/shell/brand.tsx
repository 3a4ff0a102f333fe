// The mark of the house: a clock whose hand has gone past, with the signal at its open end.
export function Brand({ size = 22 }: { size?: number }) {
  return (
    <svg viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <path
        d="M12 2.5a9.5 9.5 0 1 0 9.5 9.5"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.4"
        strokeLinecap="round"
      />
      <path
        d="M12 7v5l3.2 2.2"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <circle cx="18.6" cy="5.4" r="2.6" fill="var(--down-mark)" />
    </svg>
  );
}
