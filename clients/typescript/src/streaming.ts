/** Live output and news on their way from the service to one reader. */

import type { BashfulError } from "./errors.js";
import { Chunk, type StreamItem, type Update } from "./messages.js";

/** Output that waits for a slow reader, in bytes. The service keeps as much for itself, and some is on its way between both. */
const MOST_WAITING = 1 << 20;

/** Something that readers wait for. */
class Signal {
  #waiting: (() => void)[] = [];

  fire(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  wait(): Promise<void> {
    return new Promise((wake) => this.#waiting.push(wake));
  }
}

/**
 * Pieces that the reader has not taken yet.
 *
 * A queue that drops leaves out the oldest pieces beyond the limit, and says so in their place. A queue that waits takes
 * everything. At the limit it pauses the stream by `onPause`, and resumes it when the reader has taken the pieces.
 */
export class ChunkQueue {
  /** Set by the connection. */
  onPause: (isPaused: boolean) => void = () => undefined;
  readonly #changed = new Signal();
  #drops: boolean;
  #items: StreamItem[] = [];
  #bytes = 0;
  #isPaused = false;
  #isOver = false;
  #discards = false;

  constructor(drops: boolean) {
    this.#drops = drops;
  }

  put(item: StreamItem): void {
    if (this.#discards) return;
    if (item.type === "chunk") {
      this.#bytes += item.data.length;
      if (this.#drops && this.#bytes > MOST_WAITING) this.#dropOldest();
    }
    this.#items.push(item);
    this.#changed.fire();
    if (!this.#drops && this.#bytes >= MOST_WAITING) this.#pause(true);
  }

  #pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.onPause(isPaused);
  }

  /** Makes room for a piece that is counted, and not in the queue yet. */
  #dropOldest(): void {
    let missing = 0;
    let count = 0;
    for (const item of this.#items) {
      if (this.#bytes <= MOST_WAITING) break;
      count += 1;
      missing += item.type === "chunk" ? item.data.length : item.bytes;
      if (item.type === "chunk") this.#bytes -= item.data.length;
    }
    if (missing > 0) this.#items.splice(0, count, { type: "dropped", bytes: missing });
  }

  /** The service has begun to end, and pauses no more. */
  dropFromNowOn(): void {
    this.#drops = true;
  }

  /** No piece follows. */
  finish(): void {
    this.#isOver = true;
    this.#changed.fire();
  }

  /** Nobody reads any more. */
  discard(): void {
    this.#discards = true;
    this.#items = [];
    this.#bytes = 0;
    this.finish();
    this.#pause(false);
  }

  /** All pieces that are here, at least one; null after the last. */
  async take(): Promise<StreamItem[] | null> {
    while (this.#items.length === 0) {
      if (this.#isOver) return null;
      await this.#changed.wait();
    }
    const items = this.#items;
    this.#items = [];
    this.#bytes = 0;
    this.#pause(false);
    return items;
  }
}

/** The newest update of a job. A reader that is behind misses older ones, never the last. */
export class UpdateBoard {
  readonly #listener: ((update: Update) => void) | undefined;
  readonly #changed = new Signal();
  #latest: Update | undefined;
  #error: BashfulError | undefined;

  constructor(listener?: (update: Update) => void) {
    this.#listener = listener;
  }

  put(update: Update): void {
    this.#latest = update;
    this.#changed.fire();
    // An error of the listener is its own, and not one of the connection.
    if (this.#listener !== undefined) queueMicrotask(this.#listener.bind(undefined, update));
  }

  /** The service has ended. The job goes on. */
  fail(error: BashfulError): void {
    this.#error = error;
    this.#changed.fire();
  }

  async *follow(): AsyncGenerator<Update, void, void> {
    let seen: Update | undefined;
    for (;;) {
      const changed = this.#changed.wait();
      if (this.#latest !== undefined && this.#latest !== seen) {
        seen = this.#latest;
        yield seen;
        if (isLast(seen)) return;
      } else if (this.#error !== undefined) {
        throw this.#error;
      } else {
        await changed;
      }
    }
  }
}

/** True if no other update follows. */
export function isLast(update: Update): boolean {
  return update.async?.state === "completed" || update.async?.state === "failed";
}

export function chunkFromWire(event: { text?: string; base64?: string }): Chunk {
  return new Chunk(event.text === undefined ? Buffer.from(event.base64 ?? "", "base64") : Buffer.from(event.text, "utf8"));
}
