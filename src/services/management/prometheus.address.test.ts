// Which paths are Prometheus endpoints.
import { expect, test } from "vitest";
import { decodePrometheusPath } from "./prometheus.ts";

const UUID = "0f3a4b5c-1111-4222-8333-444455556666";

test.each([
  [`/projects/${UUID}/metrics/secret`, { key: "secret" }],
  [`/projects/${UUID}/metrics/`, { key: null }],
  [`/projects/${UUID}/metrics`, { key: null }],
  ["/checks/metrics/secret", { key: "secret" }],
  ["/api/v1/metrics/", "closed"],
  ["/api/v3/metrics", "closed"],
])("%s is one", (path, address) => {
  expect(decodePrometheusPath(path)).toEqual(address);
});

test.each([
  "/projects/x/metrics/secret",
  `/projects/${UUID.toUpperCase()}/metrics/secret`,
  `/projects/${UUID}/metrics/secret/more`,
  `/projects/${UUID}/metricsx`,
  `/projects/${UUID}/`,
  "/checks/metrics/",
  "/checks/metrics",
  "/metrics",
  "/api/v4/metrics/",
  "/api/v3/metrics/x",
])("%s is none", (path) => {
  expect(decodePrometheusPath(path)).toBeNull();
});
