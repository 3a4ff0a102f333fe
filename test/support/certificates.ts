// Certificates for tests, created by openssl: a certificate authority, and a certificate that it signed for one host
// name.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export type Certificates = { authority: string; certificate: string; key: string };

/** Writes PEM files to a folder and returns their paths. */
export function makeCertificates(
  folder: string,
  { name, host }: { name: string; host: string },
): Certificates {
  const at = (file: string) => join(folder, `${name}-${file}`);
  const files = { authority: at("ca.crt"), certificate: at("server.crt"), key: at("server.key") };
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const newKey = ["-newkey", "rsa:2048", "-nodes", "-days", "2"];
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-subj",
    `/CN=${name}`,
    "-keyout",
    at("ca.key"),
    "-out",
    files.authority,
  );
  openssl("req", ...newKey, "-subj", `/CN=${host}`, "-keyout", files.key, "-out", at("server.csr"));
  writeFileSync(at("server.ext"), `subjectAltName=DNS:${host}\n`);
  const signing = ["-CA", files.authority, "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "2"];
  const extensions = ["-extfile", at("server.ext")];
  openssl("x509", "-req", "-in", at("server.csr"), ...signing, ...extensions, "-out", files.certificate);
  return files;
}
