/** A source that cannot be read. The message is for the person who runs the import, and contains no secrets. */
export class SourceError extends Error {
  override readonly name = "SourceError";
}
