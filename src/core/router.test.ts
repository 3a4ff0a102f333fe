import { describe, expect, test } from "vitest";
import { parseCells } from "./cells.ts";
import { exceptionLines, exceptionsMapOf, routerConfig, slotsMap } from "./router.ts";

const DESCRIPTION = [
  { name: "a", urls: ["http://10.0.0.1:8000"], hosts: ["a.example.org"], slots: ["000-7ff"] },
  { name: "b", urls: ["http://10.0.0.2:8000", "https://b.example.org"], slots: ["800-fff"] },
];

function described() {
  const parsed = parseCells(JSON.stringify(DESCRIPTION));
  if ("problem" in parsed) throw new Error(parsed.problem);
  const [a, b] = parsed.value.list;
  if (a === undefined || b === undefined) throw new Error("two cells");
  return { cells: parsed.value, a, b };
}

describe("maps", () => {
  const { cells, a, b } = described();

  test("every slot has a line", () => {
    const lines = slotsMap(cells).split("\n");
    expect([lines.length, lines[0], lines[0x800], lines[4_096]]).toEqual([
      4_097,
      "000 cell_a",
      "800 cell_b",
      "",
    ]);
  });

  test("ids whose slot names another cell, or none, are exceptions", () => {
    const ids = ["0001", "8001", "odw_900x", "odw_100x", "Zk9", null];
    expect(exceptionLines({ cells, cell: a }, ids)).toBe("8001 cell_a\nodw_900x cell_a\nZk9 cell_a\n");
    expect(exceptionLines({ cells, cell: b }, ids)).toBe("0001 cell_b\nodw_100x cell_b\nZk9 cell_b\n");
    expect(exceptionLines({ cells, cell: b }, [])).toBe("");
    // Imported keys that no request can contain, and that would be other lines.
    expect(exceptionLines({ cells, cell: a }, ["x\n8001 cell_a", "#9", "9 9", ""])).toBe("");
    expect(exceptionLines({ cells, cell: a }, ["9.+=!"])).toBe("9.+=! cell_a\n");
    expect(exceptionsMapOf(a)).toBe("exceptions-a.map");
  });
});

describe("the configuration", () => {
  const { cells } = described();
  const options = {
    cells,
    directory: "/maps",
    binds: [":80", ":443 ssl crt /x.pem"],
    siteUrl: new URL("https://a.example.org"),
    pingUrl: null,
    pingAliases: [],
    apiUrl: null,
    bodyLimitBytes: 10_000,
  };
  const linesOf = (given: Partial<Parameters<typeof routerConfig>[0]> = {}) =>
    routerConfig({ ...options, ...given })
      .split("\n")
      .map((line) => line.trim());
  const paths = (given: Partial<Parameters<typeof routerConfig>[0]>) =>
    linesOf(given).filter((line) => line.startsWith("http-request set-var(txn.path) 'var"));

  test("has the servers of each cell, and repeats only if there are several", () => {
    const lines = linesOf();
    expect(lines.filter((line) => line.startsWith("bind "))).toEqual([
      "bind :80",
      "bind :443 ssl crt /x.pem",
    ]);
    expect(lines.filter((line) => line.startsWith("server "))).toEqual([
      "server a-1 10.0.0.1:8000",
      "server b-1 10.0.0.2:8000",
      "server b-2 b.example.org:443 ssl verify required ca-file @system-ca sni str(b.example.org)",
    ]);
    expect(lines.filter((line) => line.startsWith("retry-on"))).toHaveLength(1);
    expect(lines).toContain("default_backend cell_a");
  });

  test("buffers a ping with its body", () => {
    const sizeOf = (bodyLimitBytes: number) =>
      Number(
        linesOf({ bodyLimitBytes })
          .find((line) => line.startsWith("tune.bufsize"))
          ?.split(" ")[1],
      );
    expect(sizeOf(0)).toBe(32_768);
    expect(sizeOf(100_000)).toBeGreaterThan(100_000);
    expect(sizeOf(64 * 1024 * 1024)).toBe(1024 * 1024);
  });

  test.each([
    [{}, []],
    [{ siteUrl: new URL("https://a.example.org/cron/") }, [`regsub("^/cron/","/")'`]],
    [
      { pingUrl: new URL("https://hc-ping.example.org") },
      [
        `regsub("^/(?!ping/)","/ping/")' if { req.hdr(host),field(1,:),lower,rtrim(.) -m str hc-ping.example.org }`,
      ],
    ],
    [
      { pingUrl: new URL("https://a.example.org:8443") },
      [`regsub("^/(?!ping/)","/ping/")' if { req.hdr(host),lower -m str a.example.org:8443 }`],
    ],
    [{ apiUrl: new URL("https://a.example.org/rest") }, [`regsub("^/rest/v3/","/api/v3/")'`]],
    [
      { siteUrl: new URL("https://a.example.org:8443"), pingUrl: new URL("https://a.example.org") },
      [`regsub("^/(?!ping/)","/ping/")' if { req.hdr(host),lower -m str a.example.org a.example.org:443 }`],
    ],
    [{ pingUrl: new URL("https://a.example.org") }, [`regsub("^/(?=[0-9a-f]{8}-)","/ping/")'`]],
    [{ pingUrl: new URL("https://a.example.org/p.x/") }, [`regsub("^/p\\.x/","/ping/")'`]],
    [
      { apiUrl: new URL("https://api.example.org/rest") },
      [
        `regsub("^/rest/v3/","/api/v3/")' if { req.hdr(host),field(1,:),lower,rtrim(.) -m str api.example.org }`,
      ],
    ],
  ])("replaces published URLs: %o", (given, rules) => {
    expect(paths(given)).toEqual(
      rules.map((rule) => `http-request set-var(txn.path) 'var(txn.path),${rule}`),
    );
  });
});
