// What a password may be. Length is all that is asked for; what it is made of is its owner's choice.

export const PASSWORD_LENGTH_MIN = 8;
export const PASSWORD_LENGTH_MAX = 1_000;

/** What is wrong with a password, as a sentence; null: nothing. Lengths are in code points. */
export function passwordProblem(password: string, { email }: { email: string }): string | null {
  const { length } = Array.from(password);
  if (length < PASSWORD_LENGTH_MIN)
    return `The password must have at least ${PASSWORD_LENGTH_MIN} characters.`;
  if (length > PASSWORD_LENGTH_MAX)
    return `The password must have at most ${PASSWORD_LENGTH_MAX} characters.`;
  if (password.toLowerCase() === email.toLowerCase()) return "The password must not be your email address.";
  return /^(.)\1*$/u.test(password) ? "The password must not be a single repeated character." : null;
}
