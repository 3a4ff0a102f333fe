// Lists of any length: rendered in pieces, sent whole with a tag and a length while they are small, and streamed when
// they are large, so that neither a large project nor a slow client decides how much memory is used.
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { API_ANSWER_MS_MAX } from "../../core/limits.ts";
import { type ByteBudget, byteBudget } from "../../lib/http/body.ts";
import { inTime } from "./trouble.ts";

/** A longer answer is streamed: without an ETag and without a Content-Length. */
const WHOLE_LENGTH_MAX = 10 * 1024 * 1024;
/** All answers that are collected at once. Beyond it they are streamed, however short they are. */
const COLLECTED_LENGTH_MAX = 32 * 1024 * 1024;
/** Streams at once, in the process and of one project. Each holds a piece or two. */
const STREAMS_MAX = 100;
const STREAMS_PER_PROJECT_MAX = 10;

/** Everything, or a stream of everything. `release` is called once, when the answer was sent or its client is gone. */
export type BegunAnswer = ({ content: string } | { stream: AsyncGenerator<string> }) & {
  release: () => void;
};

export class AnswerBeginner {
  readonly #budget: ByteBudget = byteBudget(COLLECTED_LENGTH_MAX);
  readonly #streams = new Map<number, number>();
  #streamCount = 0;

  /**
   * Renders as much as may be held. Throws AppError `unavailable` when that takes too long, or too many answers are
   * being streamed.
   */
  async begin(source: AsyncGenerator<string>, { projectId }: { projectId: number }): Promise<BegunAnswer> {
    const pieces: string[] = [];
    let length = 0;
    const endMs = performance.now() + API_ANSWER_MS_MAX;
    const release = () => {
      this.#budget.giveBack(length);
      length = 0;
    };
    try {
      for (;;) {
        const next = await inTime(source.next(), Math.max(1, endMs - performance.now()));
        if (next.done === true) return { content: pieces.join(""), release };
        pieces.push(next.value);
        const isRoom = length + next.value.length <= WHOLE_LENGTH_MAX && this.#budget.take(next.value.length);
        if (!isRoom) break;
        length += next.value.length;
      }
      const endStream = this.#takeStream(projectId);
      const done = () => {
        release();
        endStream();
      };
      return { stream: continued(pieces, source), release: done };
    } catch (error) {
      release();
      abandon(source);
      throw error;
    }
  }

  #takeStream(projectId: number): () => void {
    const count = this.#streams.get(projectId) ?? 0;
    if (this.#streamCount >= STREAMS_MAX || count >= STREAMS_PER_PROJECT_MAX) {
      throw new AppError("unavailable", ERROR_TEXT.unavailable);
    }
    this.#streamCount += 1;
    this.#streams.set(projectId, count + 1);
    return () => {
      this.#streamCount -= 1;
      const left = (this.#streams.get(projectId) ?? 1) - 1;
      if (left === 0) this.#streams.delete(projectId);
      else this.#streams.set(projectId, left);
    };
  }
}

async function* continued(
  pieces: string[],
  source: AsyncGenerator<string>,
): AsyncGenerator<string, void, void> {
  try {
    pieces.reverse();
    for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) yield piece;
    for (;;) {
      const next = await inTime(source.next(), API_ANSWER_MS_MAX);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    abandon(source);
  }
}

/** Ends a source. It may still wait for the database, and is not waited for. */
function abandon(source: AsyncGenerator<string>): void {
  source.return(undefined).catch(() => undefined);
}
