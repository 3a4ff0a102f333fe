// The text of an HTML document as one line, for looking for keywords in it. Tags are dropped, with nothing in their
// place, and so is the content of scripts and styles.
import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";

/** Elements whose content no reader sees. */
const HIDDEN: ReadonlySet<string> = new Set(["script", "style"]);
const SPACE = /\s+/g;

const ignore = () => {};

/** What a reader would see. A text without tags is returned as it is, with its white space collapsed. */
export function htmlText(html: string): string {
  const pieces: string[] = [];
  let isHidden = false;
  // The tokenizer reads each character once. The library's parser keeps a stack of open elements, which costs
  // quadratic time on a document that opens elements and never closes them.
  const callbacks: TokenizerCallbacks = {
    ontext: (start, end) => void (isHidden || pieces.push(html.slice(start, end))),
    ontextentity: (codePoint) => void (isHidden || pieces.push(String.fromCodePoint(codePoint))),
    onopentagname: (start, end) => {
      isHidden = HIDDEN.has(html.slice(start, end).toLowerCase());
    },
    onclosetag: () => {
      isHidden = false;
    },
    onattribdata: ignore,
    onattribend: ignore,
    onattribentity: ignore,
    onattribname: ignore,
    oncdata: ignore,
    oncomment: ignore,
    ondeclaration: ignore,
    onend: ignore,
    onopentagend: ignore,
    onprocessinginstruction: ignore,
    onselfclosingtag: ignore,
  };
  const tokenizer = new Tokenizer({ decodeEntities: true }, callbacks);
  tokenizer.write(html);
  tokenizer.end();
  return pieces.join("").replace(SPACE, " ").trim();
}
