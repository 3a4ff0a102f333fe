// What the forms of signing in send, and what passkeys answer. Fields of a form are texts; what is missing is empty.
import { Type } from "typebox";

const FIELD_LENGTH_MAX = 1_000;
const field = () => Type.Optional(Type.String({ maxLength: FIELD_LENGTH_MAX }));

export const LinkForm = Type.Object({ email: field(), next: field() });
export const PasswordForm = Type.Object({ email: field(), password: field(), next: field() });
export const CodeForm = Type.Object({ code: field(), next: field() });
export const SetUpForm = Type.Object({ email: field(), name: field(), password: field() });
export const ConfirmForm = Type.Object({
  /** By what it is to be proven: password, mailed, code; or mail, to be sent a code. */
  way: field(),
  password: field(),
  /** The code from the mail. */
  mailed: field(),
  /** Of the app, or a recovery code. */
  code: field(),
  next: field(),
});
export const JoinForm = Type.Object({ password: field() });
export const EmptyForm = Type.Object({});
export const NextQuery = Type.Object({ next: field() });

export const PasskeyOptionsBody = Type.Object({ next: field() });
export const PasskeyAnswerBody = Type.Object({
  next: field(),
  response: Type.Record(Type.String(), Type.Unknown()),
});
