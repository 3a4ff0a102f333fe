// Transactions: all or nothing, and "done" only when the server confirmed COMMIT.
import { connect as connectTcp, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { statement } from "../../src/store/db.ts";
import { CommitInDoubtError, OutOfTimeError, postgresErrorName } from "../../src/store/errors.ts";
import { inSavepoint, inTransaction, type Tx } from "../../src/store/transaction.ts";
import { openTestDatabase, useDatabase } from "../support/database.ts";

const database = useDatabase();

const PUT = statement({
  name: "test.put",
  text: "insert into instance_settings (name, value) values ($1, 'x')",
});
const FAIL = statement({ name: "test.fail", text: "select 1 / $1::int" });
const WARN = statement({
  name: "test.warn",
  text: `create constraint trigger warn after insert on instance_settings deferrable initially deferred
    for each row execute function warn()`,
});

/** No caller waits for this statement, although the server continues it. */
const SLOW_SECONDS = 8;

const put = (tx: Tx, name: string) => tx.query(PUT, [name]);

async function has(name: string): Promise<boolean> {
  const { rowCount } = await database.db.pool.query("select 1 from instance_settings where name = $1", [
    name,
  ]);
  return rowCount === 1;
}

describe("a transaction", () => {
  test("commits what it did and returns its result", async () => {
    const result = await inTransaction(database.db, async (tx) => {
      await put(tx, "kept");
      return 42;
    });
    expect(result).toBe(42);
    expect(await has("kept")).toBe(true);
  });

  test("leaves nothing behind when its work fails, and gives the connection back", async () => {
    const failing = inTransaction(database.db, async (tx) => {
      await put(tx, "dropped");
      throw new Error("on purpose");
    });
    await expect(failing).rejects.toThrow("on purpose");
    expect(await has("dropped")).toBe(false);
    expect(database.db.pool.idleCount).toBe(database.db.pool.totalCount);
  });

  test("whose failed statement was swallowed does not pass for done", async () => {
    const swallowed = inTransaction(database.db, async (tx) => {
      await put(tx, "lost");
      await tx.query(FAIL, [0]).catch(() => {});
    });
    await expect(swallowed).rejects.toThrow("rolled back");
    expect(await has("lost")).toBe(false);
  });

  test("that a constraint stops at the very end was refused, and is not in doubt", async () => {
    await database.db.pool.query(
      `create table late (name text unique deferrable initially deferred);
       insert into late values ('taken')`,
    );
    const insert = statement({ name: "test.late", text: "insert into late values ('taken')" });
    const refused = await inTransaction(database.db, (tx) => tx.query(insert, [])).catch(
      (error: unknown) => error,
    );
    expect(postgresErrorName(refused)).toBe("unique_violation");
  });

  test("that the server commits with a warning is in doubt", async () => {
    await database.db.pool.query(
      `create function warn() returns trigger language plpgsql as
         $$ begin raise warning 'not on the standby'; return null; end $$`,
    );
    await database.db.query(WARN, []);
    const warned = inTransaction(database.db, (tx) => put(tx, "warned"));
    await expect(warned).rejects.toThrow("Committed with a warning: not on the standby");
    await database.db.pool.query("drop trigger warn on instance_settings");
    expect(await has("warned")).toBe(true);
  });
});

describe("statements that are sent at once", () => {
  const fails = (tx: Tx) => tx.query(FAIL, [0]);

  test("send nothing more when one of them has failed: it would take effect by itself", async () => {
    let sent: Promise<unknown> = Promise.resolve();
    const work = inTransaction(database.db, async (tx) => {
      const chain = (async () => {
        await pause(50);
        sent = put(tx, "straggler");
        await sent;
      })();
      await Promise.all([fails(tx), chain]);
    });
    await expect(work).rejects.toThrow("division by zero");
    await pause(100);
    await expect(sent).rejects.toThrow("after the end of its transaction");
    expect(await has("straggler")).toBe(false);
  });

  test("in a part that has failed leave the rest of the transaction alone", async () => {
    await inTransaction(database.db, async (tx) => {
      const part = inSavepoint(tx, async (inner) => {
        const chain = (async () => {
          await pause(50);
          await put(inner, "part");
        })();
        await Promise.all([fails(inner), chain]);
      });
      await expect(part).rejects.toThrow("division by zero");
      await pause(100);
      await put(tx, "rest");
    });
    expect([await has("part"), await has("rest")]).toEqual([false, true]);
  });
});

describe("a connection that is cut", () => {
  let proxy: Server | undefined;
  afterEach(
    () => new Promise<void>((resolve) => (proxy === undefined ? resolve() : proxy.close(() => resolve()))),
  );

  /** Forwards everything until COMMIT is seen; then the test decides. */
  async function through(onCommit: (client: Socket, server: Socket, chunk: Buffer) => void): Promise<string> {
    const url = new URL(database.url);
    const target = { host: url.hostname, port: Number(url.port) };
    proxy = createServer((client) => {
      const server = connectTcp(target);
      for (const socket of [client, server]) socket.on("error", () => {});
      client.on("data", (chunk) => {
        if (chunk.toString("latin1").startsWith("Q") && chunk.includes("commit"))
          onCommit(client, server, chunk);
        else server.write(chunk);
      });
      server.on("data", (chunk) => client.write(chunk));
      client.on("close", () => server.destroy());
      server.on("close", () => client.destroy());
    });
    await new Promise<void>((resolve) => proxy?.listen(0, "127.0.0.1", resolve));
    const address = proxy.address();
    url.port = String(address !== null && typeof address === "object" ? address.port : 0);
    return url.href;
  }

  test("after COMMIT was sent leaves the outcome in doubt, here: done", async () => {
    const db = openTestDatabase(
      await through((client, server, chunk) => {
        server.removeAllListeners("data");
        server.write(chunk);
        server.once("data", () => client.destroy());
      }),
      () => {},
    );
    await expect(inTransaction(db, (tx) => put(tx, "done in doubt"))).rejects.toThrow(CommitInDoubtError);
    await db.close();
    await expect.poll(() => has("done in doubt")).toBe(true);
  });

  test("before COMMIT arrives leaves it in doubt as well, here: not done", async () => {
    const db = openTestDatabase(await through((client) => client.destroy()), () => {});
    await expect(inTransaction(db, (tx) => put(tx, "undone in doubt"))).rejects.toThrow(CommitInDoubtError);
    await db.close();
    expect(await has("undone in doubt")).toBe(false);
  });

  test("or hangs is given up after the time limit", async () => {
    const db = openTestDatabase(await through(() => {}), () => {});
    const begun = performance.now();
    const silent = inTransaction(db, (tx) => put(tx, "silent"), { commitTimeoutMs: 100 });
    await expect(silent).rejects.toThrow(CommitInDoubtError);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(db.pool.totalCount).toBe(0);
    await db.close();
  });

  test("or stopped is given up when the time for all of it is over, and nothing was done", async () => {
    const db = openTestDatabase(database.url, () => {});
    const sleep = statement({ name: "test.sleep", text: "select pg_sleep($1::float8)" });
    // Connected before: the time limit is reached in the middle of the work.
    await db.pool.query("select 1");
    const begun = performance.now();
    const slow = inTransaction(
      db,
      async (tx) => {
        await put(tx, "slow");
        await tx.query(sleep, [SLOW_SECONDS]);
      },
      { giveUpAtMs: begun + 1_000 },
    );
    await expect(slow).rejects.toThrow(OutOfTimeError);
    expect(performance.now() - begun).toBeLessThan(SLOW_SECONDS * 1_000);
    expect(db.pool.totalCount).toBe(0);
    expect(await inTransaction(db, async () => 1, { giveUpAtMs: performance.now() + 20_000 })).toBe(1);
    await db.close();
    expect(await has("slow")).toBe(false);
  });

  test("or not to be had is given up in time, and whatever connects later is not left open", async () => {
    const db = openTestDatabase(database.url, () => {});
    const held = await Promise.all(Array.from({ length: 10 }, () => db.pool.connect()));
    const begun = performance.now();
    const waiting = inTransaction(db, (tx) => put(tx, "waited"), { giveUpAtMs: begun + 100 });
    await expect(waiting).rejects.toThrow(OutOfTimeError);
    expect(performance.now() - begun).toBeLessThan(10_000);
    for (const client of held) client.release();
    await expect.poll(() => db.pool.idleCount).toBe(10);
    await db.close();
    expect(await has("waited")).toBe(false);
  });

  test("is in doubt when the time is over while COMMIT is under way", async () => {
    const db = openTestDatabase(await through(() => {}), () => {});
    // Connected before, so that the whole time limit is for the transaction, which must reach its COMMIT.
    await db.pool.query("select 1");
    const begun = performance.now();
    const silent = inTransaction(db, (tx) => put(tx, "late"), {
      giveUpAtMs: begun + 2_000,
      commitTimeoutMs: 60_000,
    });
    await expect(silent).rejects.toThrow(CommitInDoubtError);
    expect(performance.now() - begun).toBeLessThan(10_000);
    await db.close();
  });

  test("during the work rolls back and reports the first error", async () => {
    const kill = statement({ name: "test.kill", text: "select pg_terminate_backend(pg_backend_pid())" });
    const killed = inTransaction(database.db, async (tx) => {
      await put(tx, "killed");
      await tx.query(kill, []);
    });
    await expect(killed).rejects.toThrow("terminating connection");
    expect(await has("killed")).toBe(false);
  });
});

describe("statements that the commit does not wait for", () => {
  test("are committed with it", async () => {
    const { db } = database;
    await inTransaction(db, async (tx) => tx.commitWith(put(tx, "deferred")));
    expect(await has("deferred")).toBe(true);
  });

  test("roll back everything if one of them fails, with its error, and leave the connection usable", async () => {
    const { db } = database;
    const failing = inTransaction(db, async (tx) => {
      await put(tx, "before the failure");
      tx.commitWith(Promise.all([put(tx, "beside the failure"), tx.query(FAIL, [0])]));
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    expect(await has("before the failure")).toBe(false);
    expect(await has("beside the failure")).toBe(false);
    expect(await inTransaction(db, async () => 1)).toBe(1);
  });

  test("cause no unhandled rejection when they are sent after the time is over", async () => {
    const { db } = database;
    const late = Promise.withResolvers<void>();
    const work = async (tx: Tx) => {
      await pause(200);
      tx.commitWith(put(tx, "late").finally(late.resolve));
    };
    await expect(inTransaction(db, work, { giveUpAtMs: performance.now() + 50 })).rejects.toBeInstanceOf(
      OutOfTimeError,
    );
    await late.promise;
    // A rejection that nothing handles would end the process; the test runner reports it.
    await pause(50);
    expect(await has("late")).toBe(false);
  });
});
