// Aims the functions of the store at other tables, so that layouts are compared with the code that is shipped.
import type { Db } from "../../src/store/db.ts";

export type Aim = {
  /** Tells the prepared statements of one aim from those of another. */
  key: string;
  /** Tables to use in place of the shipped ones, by the names of those. */
  tables: Readonly<Record<string, string>>;
  /** The shipped text of a statement, made to fit: by the name that the store gives it. */
  texts?: Readonly<Record<string, (shipped: string) => string>>;
};

/** A session whose statements go to the tables of the aim. */
export function aimed<Session extends Db>(session: Session, aim: Aim): Session {
  const names = new RegExp(`\\b(${Object.keys(aim.tables).join("|")})\\b(?!\\.)`, "g");
  const query: Db["query"] = (what, values) => {
    const fitted = aim.texts?.[what.name]?.(what.text) ?? what.text;
    const text = fitted.replaceAll(names, (name) => aim.tables[name] ?? name);
    return session.query({ name: `${what.name} ${aim.key}`, text }, values);
  };
  return { ...session, query };
}
