// What the built documentation contains in place of the URLs of a server.

/** The base path of the site. Unique, so that it can be replaced in any file. */
export const DOCS_BASE = "/__overdue_docs__/";

/** The server in samples and links. Ping URLs begin with it and `/ping`. */
export const EXAMPLE_URL = "https://overdue.example.org";
