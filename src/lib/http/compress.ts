// Compression of responses.
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Below this a packet is not saved. */
const COMPRESSED_BYTES_MIN = 1_400;
/** Responses are compressed while the client waits. */
const GZIP_LEVEL = 5;
const BROTLI_QUALITY = 4;

/** The better of the two encodings that the client accepts; null: none. */
export function encodingFor(acceptEncoding: string | undefined): "br" | "gzip" | null {
  const accepted = (acceptEncoding ?? "").split(",").map((item) => item.trim().toLowerCase());
  const takes = (name: string) =>
    accepted.some((item) => item === name || (item.startsWith(`${name};`) && !/;\s*q=0(\.0*)?$/.test(item)));
  if (takes("br")) return "br";
  return takes("gzip") ? "gzip" : null;
}

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** The bytes in the best encoding that the client accepts; short ones are unchanged. */
export async function compress(
  bytes: Buffer,
  acceptEncoding: string | undefined,
): Promise<{ bytes: Buffer; encoding: string | null }> {
  const encoding = bytes.length < COMPRESSED_BYTES_MIN ? null : encodingFor(acceptEncoding);
  if (encoding === null) return { bytes, encoding };
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  const packed =
    encoding === "br" ? await brotli(bytes, { params }) : await zip(bytes, { level: GZIP_LEVEL });
  return { bytes: packed, encoding };
}
