// How a time on the clocks of a zone is asked for. It imports nothing, so that pages can read addresses by it as well.

/** `2026-11-16T12:00`, as a field for date and time has it. Later years no database can hold. */
export const LOCAL_MINUTE = String.raw`^(?!0000)[0-8]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d$`;
