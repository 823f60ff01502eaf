/**
 * The connection to one service process: requests, responses and events.
 *
 * The connection always reads what the service sends, because answers and news come the same way as the output of a stream.
 * A stream whose reader is behind is paused at the service.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { inspect } from "node:util";

import {
  AbortError,
  type BashfulError,
  ClosedError,
  errorFromWire,
  InvalidRequestError,
  ProgramNotFoundError,
  ProtocolError,
  ServiceEndedError,
} from "./errors.js";
import type { Question, Update } from "./messages.js";
import { type ChunkQueue, chunkFromWire, isLast, type UpdateBoard } from "./streaming.js";

/** Version of the messages that this client knows. */
export const PROTOCOL = 1;

/** Longest request line in bytes, until `hello` tells the limit of the service. */
const LONGEST_LINE = 16 << 20;

/** Characters of the service's standard error that an error shows. */
const STDERR_SHOWN = 4096;

/** Milliseconds that an orderly end may take. Commands have a grace of 15 s in it. */
const END_WITHIN = 30_000;

/** Milliseconds between the end of the output and that of the process. A service that closes its output early needs more. */
const EXIT_WITHIN = 2_000;

const NEWLINE = 10;

export type Ask = (question: Question, signal: AbortSignal) => boolean | Promise<boolean>;
export type Fields = Record<string, unknown>;

/** The data of a response. Its type is that of the request. */
export type Data = any;

/** A request that is on its way, and its answer. */
export class Request {
  readonly id: number;
  readonly answered: Promise<Data>;
  readonly chunks: ChunkQueue | undefined;
  readonly updates: UpdateBoard | undefined;
  isDone = false;
  resolve!: (data: Data) => void;
  reject!: (error: Error) => void;

  constructor(id: number, chunks: ChunkQueue | undefined, updates: UpdateBoard | undefined) {
    this.id = id;
    this.chunks = chunks;
    this.updates = updates;
    this.answered = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Nobody may be left who wants to know why it failed.
    this.answered.catch(() => undefined);
  }
}

export interface ConnectionOptions {
  program: string;
  arguments: string[];
  cwd: string | undefined;
  env: NodeJS.ProcessEnv | undefined;
  ask: Ask | undefined;
}

/** One service process, until `close`. */
export class Connection {
  longestLine = LONGEST_LINE;
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ask: Ask | undefined;
  readonly #requests = new Map<number, Request>();
  /** Answered requests whose jobs still send updates. */
  readonly #followed = new Map<number, Request>();
  readonly #questions = new Map<string, AbortController>();
  readonly #exited: Promise<void>;
  readonly #over: Promise<void>;
  #count = 0;
  #rest: Buffer[] = [];
  #said = "";
  #ended: BashfulError | undefined;

  constructor(options: ConnectionOptions) {
    this.#ask = options.ask;
    this.#process = spawnService(options);
    this.#exited = new Promise((resolve) => {
      this.#process.once("exit", () => resolve());
      this.#process.once("error", (error) => {
        this.#end(whyNotStarted(options, error));
        resolve();
      });
    });
    // The end of the output tells more.
    this.#process.stdin.on("error", () => undefined);
    this.#process.stderr.setEncoding("utf8");
    this.#process.stderr.on("data", (text: string) => {
      this.#said = (this.#said + text).slice(-STDERR_SHOWN);
    });
    const closed = new Promise<void>((resolve) => this.#process.stderr.once("close", resolve));
    this.#over = new Promise((resolve) => {
      this.#process.stdout.on("data", (data: Buffer) => this.#read(data));
      this.#process.stdout.once("close", () => {
        // The reason is on standard error, and the process about to exit.
        void within(EXIT_WITHIN, Promise.all([this.#exited, closed])).then(() => {
          this.#end(new ServiceEndedError(this.#process.exitCode, this.#process.signalCode, this.#said));
          resolve();
        });
      });
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  // Requests

  /** The data of the response. The signal aborts the request, and the error comes when it has ended. */
  async request(type: string, fields: Fields, signal?: AbortSignal, updates?: UpdateBoard): Promise<Data> {
    if (signal?.aborted) throw new AbortError(signal.reason);
    return (await this.answer(this.send(type, fields, undefined, updates), signal)).data;
  }

  /** Sends a request. Fields that are undefined are left out. */
  send(type: string, fields: Fields, chunks?: ChunkQueue, updates?: UpdateBoard): Request {
    if (this.#ended !== undefined) throw this.#ended;
    this.#count += 1;
    const line = this.#encode({ id: this.#count, type, ...fields });
    const request = new Request(this.#count, chunks, updates);
    if (chunks !== undefined) chunks.onPause = (isPaused) => this.#pause(request, isPaused);
    this.#requests.set(request.id, request);
    this.#process.stdin.write(line);
    return request;
  }

  /** Makes the service hold back the output of one stream, or send it again. */
  #pause(request: Request, isPaused: boolean): void {
    if (this.#ended !== undefined || request.isDone) return;
    this.send(isPaused ? "stream_pause" : "stream_resume", { target: request.id });
  }

  #encode(message: Fields): Buffer {
    // The service cannot tell the id of a line that it cannot parse, so such a line must never be sent.
    const line = Buffer.from(`${JSON.stringify(message, refuseHalfValues)}\n`, "utf8");
    if (line.length > this.longestLine) {
      const text = `a request has at most ${this.longestLine} bytes, and this ${line.length}`;
      throw new InvalidRequestError("line_too_long", text);
    }
    return line;
  }

  /** Waits for the response. A signal aborts the request. */
  async answer(request: Request, signal?: AbortSignal): Promise<Data> {
    if (signal === undefined) return request.answered;
    const abort = (): void => this.abort(request);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    let response: Data;
    try {
      response = await request.answered;
    } catch (error) {
      if (signal.aborted && !(error instanceof ServiceEndedError)) throw new AbortError(signal.reason);
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
    // A command that ended just before the signal has an ordinary result.
    const isAborted = signal.aborted && (response.data.cancelled === true || response.data.conclusion === "abort");
    if (isAborted) throw new AbortError(signal.reason, response.data);
    return response;
  }

  /** Aborts a request, if it is not answered yet. A second abort kills its command at once. */
  abort(request: Request): void {
    if (this.#ended === undefined && !request.isDone) this.send("abort_bash", { target: request.id });
  }

  // Messages of the service

  #read(data: Buffer): void {
    let begin = 0;
    for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, begin)) {
      const line = data.subarray(begin, end);
      begin = end + 1;
      const whole = this.#rest.length === 0 ? line : Buffer.concat([...this.#rest, line]);
      this.#rest = [];
      try {
        this.#accept(JSON.parse(whole.toString("utf8")));
      } catch (error) {
        // Nothing that follows can be trusted. The keepers of its commands stop them then.
        this.#process.kill("SIGKILL");
        this.#end(error instanceof ProtocolError ? error : new ProtocolError(`unknown message: ${error}`));
        return;
      }
    }
    if (begin < data.length) this.#rest.push(data.subarray(begin));
  }

  #accept(message: Data): void {
    switch (message.type) {
      case "response":
        return this.#acceptResponse(message);
      case "chunk":
        return this.#requests.get(message.id)?.chunks?.put(chunkFromWire(message));
      case "dropped":
        return this.#requests.get(message.id)?.chunks?.put({ type: "dropped", bytes: message.bytes });
      case "update":
        return this.#acceptUpdate(message);
      case "approve":
        return void this.#answer(message.question, message);
      case "approve_closed":
        return this.#questions.get(message.question)?.abort();
    }
  }

  #acceptResponse(message: Data): void {
    const request = this.#requests.get(message.id);
    if (request === undefined) {
      const text = JSON.stringify(message.error ?? message);
      throw new ProtocolError(`the service answered a request that nobody made: ${text}`);
    }
    this.#requests.delete(request.id);
    request.isDone = true;
    if (message.success) {
      if (request.updates !== undefined && message.data.job !== undefined) this.#followed.set(request.id, request);
      request.resolve(message);
    } else {
      request.reject(errorFromWire(message.error));
    }
    request.chunks?.finish();
  }

  #acceptUpdate(update: Update & { id: number }): void {
    const request = this.#requests.get(update.id) ?? this.#followed.get(update.id);
    if (isLast(update)) this.#followed.delete(update.id);
    request?.updates?.put(update);
  }

  // Questions

  async #answer(name: string, question: Question): Promise<void> {
    if (this.#ask === undefined) return;
    const closing = new AbortController();
    this.#questions.set(name, closing);
    let approve = false;
    try {
      const answer: unknown = await this.#ask(question, closing.signal);
      // A text such as "n" is true for JavaScript, and no yes.
      if (typeof answer !== "boolean") throw new TypeError(`it must return true or false, not ${inspect(answer)}`);
      approve = answer;
    } catch (error) {
      if (!closing.signal.aborted) process.emitWarning(`the approve callback failed; the command is refused: ${error}`);
    }
    this.#questions.delete(name);
    // A question that was closed meanwhile has no answer.
    if (!closing.signal.aborted && this.#ended === undefined) this.send("answer", { question: name, approve });
  }

  // The end

  #end(error: BashfulError): void {
    this.#ended ??= error;
    this.#process.stdin.end();
    for (const closing of this.#questions.values()) closing.abort();
    const unanswered = [...this.#requests.values()];
    const followed = [...this.#followed.values()];
    this.#requests.clear();
    this.#followed.clear();
    for (const request of unanswered) {
      request.isDone = true;
      request.reject(this.#ended);
      request.chunks?.finish();
    }
    for (const request of followed) request.updates?.fail(this.#ended);
  }

  /** Ends the service: its commands are stopped with all their processes. Jobs go on. */
  async close(): Promise<void> {
    if (this.#ended === undefined) {
      this.send("shutdown", {});
      this.#ended = new ClosedError("the client is closed");
      // The service sends the rest of every stream now, paused or not.
      for (const request of this.#requests.values()) request.chunks?.dropFromNowOn();
    }
    this.#process.stdin.end();
    if (this.#process.pid === undefined) return;
    await within(END_WITHIN, Promise.all([this.#over, this.#exited]));
    // The keepers of its commands stop them then.
    if (this.#process.exitCode === null && this.#process.signalCode === null) this.#process.kill("SIGKILL");
  }
}

function spawnService(options: ConnectionOptions): ChildProcessByStdio<Writable, Readable, Readable> {
  try {
    return spawn(options.program, options.arguments, {
      stdio: ["pipe", "pipe", "pipe"],
      cwd: options.cwd,
      env: options.env,
      // Ctrl-C at the host's terminal is for the host. It ends the service by hanging up.
      detached: true,
    });
  } catch (error) {
    // Some errors come as an event, and others at once.
    throw whyNotStarted(options, error as Error);
  }
}

function whyNotStarted({ program, cwd }: ConnectionOptions, error: Error): BashfulError {
  // The error of the system does not tell which of the two is missing.
  if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    return new InvalidRequestError("invalid_field", `cwd is not a directory: ${cwd}`, "cwd");
  }
  if (cwd !== undefined && !canEnter(cwd)) {
    return new InvalidRequestError("invalid_field", `cwd cannot be entered: ${cwd}`, "cwd");
  }
  return new ProgramNotFoundError(`cannot start ${program}: ${error.message}`, { cause: error });
}

function canEnter(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Waits for a promise, but not forever. */
async function within(milliseconds: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** Refuses numbers and texts that JSON would change: NaN becomes null, and half of a surrogate pair is no UTF-8. */
function refuseHalfValues(key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new InvalidRequestError("invalid_field", "not a number that JSON has", key);
  }
  if (typeof value === "string" && !value.isWellFormed()) {
    throw new InvalidRequestError("invalid_field", "half of a surrogate pair is no text", key);
  }
  return value;
}
