// Tar archives (ustar) of regular files with short names, written and read as streams. The reader accepts only what
// the writer writes, and never creates a file.

const BLOCK_BYTES = 512;
const NAME_BYTES_MAX = 100;
const END = Buffer.alloc(2 * BLOCK_BYTES);
const FILE_MODE = "0000600";
const CHECKSUM_AT = 148;
const SPACES = " ".repeat(8);

/** The bytes are not an archive that `tarFile` has written, or they end too early. */
export class TarError extends Error {
  override readonly name = "TarError";
}

export type TarFile = { name: string; bytes: Buffer };

/** One file of an archive: header, content, and padding. */
export function tarFile({ name, bytes }: TarFile, { modifiedAt }: { modifiedAt: number }): Buffer {
  const header = headerOf({ name, size: bytes.length, seconds: Math.floor(modifiedAt / 1_000) });
  return Buffer.concat([header, bytes, Buffer.alloc(paddingOf(bytes.length))]);
}

/** The end of an archive. */
export function tarEnd(): Buffer {
  return END;
}

function paddingOf(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}

function headerOf({ name, size, seconds }: { name: string; size: number; seconds: number }): Buffer {
  if (!/^[\x21-\x7e]+$/.test(name) || name.length > NAME_BYTES_MAX) {
    throw new TarError("a name is empty, too long, or has special characters");
  }
  const block = Buffer.alloc(BLOCK_BYTES);
  const fields: readonly (readonly [number, string])[] = [
    [0, name],
    [100, FILE_MODE],
    [108, "0000000"],
    [116, "0000000"],
    [124, octal(size)],
    [136, octal(seconds)],
    [CHECKSUM_AT, SPACES],
    [156, "0"],
    [257, "ustar"],
    [263, "00"],
  ];
  for (const [at, text] of fields) block.write(text, at, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM_AT, "latin1");
  return block;
}

function octal(number: number): string {
  return number.toString(8).padStart(11, "0");
}

/** The largest content that a file of this name may have. Throws an error of its own for a name it does not expect. */
export type AllowedSize = (name: string) => number;

export type ReadFile = TarFile & {
  /** The bytes of the archive that the file takes, header and padding included. */
  raw: readonly Buffer[];
};

/** The files of an archive. Throws TarError at the first byte that differs from what the writer writes. */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  { sizeMax }: { sizeMax: AllowedSize },
): AsyncGenerator<ReadFile> {
  const source = exactReader(chunks);
  for (;;) {
    const header = await source.read(BLOCK_BYTES);
    if (header.every((byte) => byte === 0)) break;
    const { name, size } = parseHeader(header);
    if (size > sizeMax(name)) throw new TarError(`${name} is too large`);
    const bytes = await source.read(size);
    const padding = await source.read(paddingOf(size));
    if (padding.some((byte) => byte !== 0)) throw new TarError("the padding of a file is not empty");
    yield { name, bytes, raw: [header, bytes, padding] };
  }
  const rest = await source.read(BLOCK_BYTES);
  if (rest.some((byte) => byte !== 0) || !(await source.isAtEnd())) {
    throw new TarError("there is data after the end of the archive");
  }
}

function parseHeader(block: Buffer): { name: string; size: number } {
  const end = block.indexOf(0);
  const name = block.toString("latin1", 0, Math.min(end, NAME_BYTES_MAX));
  const size = numberAt(block, 124);
  const seconds = numberAt(block, 136);
  if (!headerOf({ name, size, seconds }).equals(block)) throw new TarError("a header is damaged");
  return { name, size };
}

function numberAt(block: Buffer, at: number): number {
  const text = block.toString("latin1", at, at + 11);
  if (!/^[0-7]{11}$/.test(text)) throw new TarError("a header is damaged");
  return Number.parseInt(text, 8);
}

type ExactReader = {
  /** Exactly this many bytes. Throws TarError if there are fewer. */
  read(size: number): Promise<Buffer>;
  isAtEnd(): Promise<boolean>;
};

function exactReader(chunks: AsyncIterable<Uint8Array>): ExactReader {
  const iterator = chunks[Symbol.asyncIterator]();
  let left: Buffer = Buffer.alloc(0);
  const more = async (): Promise<boolean> => {
    const next = await iterator.next();
    if (next.done === true) return false;
    const { buffer, byteOffset, byteLength } = next.value;
    left = Buffer.from(buffer, byteOffset, byteLength);
    return true;
  };
  return {
    read: async (size) => {
      const parts: Buffer[] = [];
      let missing = size;
      while (missing > 0) {
        if (left.length === 0 && !(await more())) throw new TarError("the archive ends too early");
        const part = left.subarray(0, missing);
        left = left.subarray(part.length);
        missing -= part.length;
        parts.push(part);
      }
      const [first] = parts;
      return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts, size);
    },
    isAtEnd: async () => {
      while (left.length === 0) if (!(await more())) return true;
      return false;
    },
  };
}
