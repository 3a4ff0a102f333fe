// Redirects the functions of the store to other tables, so that layouts are compared with the code in use.
import type { Db } from "../../src/store/db.ts";

export type Aim = {
  /** Distinguishes the prepared statements of one aim from those of another. */
  key: string;
  /** Tables to use instead of those of the schema, by the names of those. */
  tables: Readonly<Record<string, string>>;
  /** The store's statements adapted to the tables, by the name that the store gives them. */
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
