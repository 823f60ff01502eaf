/** The client. */

import { randomBytes } from "node:crypto";

import { type Ask, Connection, type Fields, PROTOCOL, type Request } from "./connection.js";
import { AbortError, NotFoundError, ProtocolError, RefusedError, ServiceError, UnavailableError } from "./errors.js";
import type {
  JobInfo,
  JobOutput,
  Link,
  Part,
  RunResult,
  Screen,
  ServiceInfo,
  SessionInfo,
  StreamItem,
  ToolResult,
  Update,
} from "./messages.js";
import { findProgram } from "./program.js";
import { ChunkQueue, UpdateBoard } from "./streaming.js";

export interface ClientOptions {
  /** Directory in which commands begin; that of this process unless given. */
  cwd?: string;
  /** Form of the tools for models: `native`, `plain` or `pi`. */
  dialect?: string;
  /** Environment of the service; that of this process unless given. */
  env?: NodeJS.ProcessEnv;
  /**
   * Answers questions about commands that the guard lets run only with approval. The signal fires when nobody waits for the
   * answer any more. Only `true` approves. An error, or any value that is not a boolean, is a warning of the process and
   * counts as a no. Without this function such commands are refused.
   */
  approve?: Ask;
  /** Seconds for an answer; 300 unless given. */
  approveSeconds?: number;
  /** Path of the program; that of the package for this platform unless given. */
  program?: string;
}

/** Options of a command. */
export interface CommandOptions {
  /** Directory that the shell changes to first, and stays in. */
  cwd?: string;
  /** Variables of this command alone. */
  env?: Record<string, string>;
  /** Seconds, 1 to 3600; 300 unless given. */
  timeout?: number;
  /** `slow` has the longer timeout. */
  mode?: "default" | "slow";
  /** Aborts the command. The call then throws an `AbortError` when the command is gone. */
  signal?: AbortSignal;
}

export interface RunOptions extends CommandOptions {
  /** Name of another persistent shell. */
  session?: string;
}

/** The choice for a reader that is slower than the command. */
export interface StreamOptions {
  /**
   * `wait`, the default: the command waits, as at any pipe, and holds up nothing else. `drop`: it never waits, and the
   * stream leaves output out.
   */
  whenBehind?: "wait" | "drop";
}

export interface ToolOptions {
  /** Seconds after which a command that still runs becomes a job. */
  patience?: number;
  /** Gets the news of a command that became a job, until it is over. */
  onUpdate?: (update: Update) => void;
  signal?: AbortSignal;
}

export interface JobOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Seconds; a day unless given. */
  timeout?: number;
}

/**
 * A service of bashful.
 *
 * `await using client = await Bashful.start()` ends the service at the end of the block. All commands are stopped then with
 * every process that they started, and the shells with them. Jobs go on, unless they were opened by `await using` too.
 */
export class Bashful implements AsyncDisposable {
  readonly #connection: Connection;
  /** The version, abilities and limits of the service. */
  readonly info: ServiceInfo;

  private constructor(connection: Connection, info: ServiceInfo) {
    this.#connection = connection;
    this.info = info;
  }

  /** Starts the service. */
  static async start(options: ClientOptions = {}): Promise<Bashful> {
    const connection = new Connection({
      program: findProgram(options.program),
      arguments: ["rpc", ...(options.dialect === undefined ? [] : ["--dialect", options.dialect])],
      cwd: options.cwd,
      env: options.env,
      ask: options.approve,
    });
    try {
      const hello = { approve: options.approve !== undefined, approveSeconds: options.approveSeconds };
      const info: ServiceInfo = await connection.request("hello", hello);
      if (info.protocol !== PROTOCOL) {
        throw new ProtocolError(`the service speaks protocol ${info.protocol}, and this client ${PROTOCOL}`);
      }
      connection.longestLine = info.limits.lineBytes;
      return new Bashful(connection, info);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Process id of the service. */
  get pid(): number {
    return this.#connection.pid;
  }

  /** Ends the service. Resolves when all its commands are stopped. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Commands

  /** Runs a command in the persistent shell of this client, or at once in one of its own if that is busy. */
  run(command: string, options: RunOptions = {}): Promise<RunResult> {
    const { signal, ...fields } = options;
    return this.#connection.request("bash", { command, ...fields }, signal);
  }

  /** Runs a command and gives its output while it runs: exact bytes, as an asynchronous iterator. */
  stream(command: string, options: RunOptions & StreamOptions = {}): Stream {
    const { signal, whenBehind = "wait", ...fields } = options;
    if (signal?.aborted) throw new AbortError(signal.reason);
    const chunks = new ChunkQueue(whenBehind === "drop");
    const request = this.#connection.send("bash", { command, ...fields, stream: true, whenBehind }, chunks);
    return new Stream(this.#connection, request, chunks, signal);
  }

  /** Aborts all commands of this client; their number. Each gives its result with `cancelled` set. */
  async cancel(): Promise<number> {
    return (await this.#connection.request("abort_bash", {})).aborted;
  }

  // Tools

  /** The definitions of the tools, for a request to a model. */
  async tools(format: "anthropic" | "openai" | "gemini" | "mcp" = "anthropic"): Promise<Record<string, unknown>[]> {
    return (await this.#connection.request("tools", { format })).tools;
  }

  /** Calls a tool with the arguments that a model gave. A refusal is a text for the model, not an error. */
  tool(name: string, args: Record<string, unknown> = {}, options: ToolOptions = {}): Promise<ToolResult> {
    const { patience, onUpdate, signal } = options;
    const fields = { name, arguments: args, patience, updates: onUpdate === undefined ? false : undefined };
    const updates = onUpdate === undefined ? undefined : new UpdateBoard(onUpdate);
    return this.#connection.request("tool", fields, signal, updates);
  }

  // Jobs, terminals and sessions

  /** Starts a job, which outlives this client. `await using` stops it at the end of the block. */
  async job(command: string, options: JobOptions & { stdin?: boolean } = {}): Promise<Job> {
    return this.#start(Job, { command, ...options });
  }

  /** Starts a job at a terminal. `await using` stops it at the end of the block. */
  async terminal(command: string, options: JobOptions & { columns?: number; rows?: number } = {}): Promise<Terminal> {
    const { columns, rows, ...fields } = options;
    const terminal = await this.#start(Terminal, { command, ...fields, pty: true });
    if (columns === undefined || rows === undefined) return terminal;
    try {
      await terminal.resize(columns, rows);
    } catch (error) {
      await terminal.close();
      throw error;
    }
    return terminal;
  }

  async #start<J extends Job>(
    kind: new (connection: Connection, id: number, updates?: UpdateBoard) => J,
    fields: Fields,
  ): Promise<J> {
    const updates = new UpdateBoard();
    const request = { ...fields, as: "tool", mode: "background" };
    const answer: ToolResult = await this.#connection.request("bash", request, undefined, updates);
    if (answer.job === undefined) {
      // As a tool, a refusal is a text.
      const isRefusal = answer.facts["status"] === "refused";
      throw isRefusal ? new RefusedError("refused", answer.text) : new ServiceError("failed", answer.text);
    }
    return new kind(this.#connection, answer.job, updates);
  }

  /** A handle on any job of this user, also one of another program or of a tool call. */
  getJob(id: number): Job {
    return new Job(this.#connection, id);
  }

  /** A handle on any job with a terminal. */
  getTerminal(id: number): Terminal {
    return new Terminal(this.#connection, id);
  }

  /** All jobs of this user, the oldest first. */
  async jobs(options: { running?: boolean } = {}): Promise<JobInfo[]> {
    return (await this.#connection.request("jobs", { ...options })).jobs;
  }

  /** Another persistent shell. It begins with its first command, and ends with `await using`, or with the client. */
  session(name = `s-${randomBytes(4).toString("hex")}`): Session {
    return new Session(this, this.#connection, name);
  }

  /** The persistent shells of this client. */
  async sessions(): Promise<SessionInfo[]> {
    return (await this.#connection.request("sessions", {})).sessions;
  }

  // Full outputs

  /** Artifacts and outputs of jobs, the newest first. */
  async resources(options: { first?: number; count?: number } = {}): Promise<Link[]> {
    return (await this.#connection.request("resources", { ...options })).resources;
  }

  /** Reads an artifact or the output of a job: `artifact://7`, `job://3`, also with `?lines=10-20` or `?tail=50`. */
  read(uri: string): Promise<Part> {
    return this.#connection.request("read", { uri });
  }
}

/**
 * A running command, and its output as an asynchronous iterator of `Chunk` and `Dropped`.
 *
 * Leaving the loop, or the block of `await using`, before the end stops the command.
 */
export class Stream implements AsyncIterable<StreamItem>, AsyncDisposable {
  readonly #connection: Connection;
  readonly #request: Request;
  readonly #chunks: ChunkQueue;
  readonly #answer: Promise<RunResult>;
  #dropped = 0;

  constructor(connection: Connection, request: Request, chunks: ChunkQueue, signal?: AbortSignal) {
    this.#connection = connection;
    this.#request = request;
    this.#chunks = chunks;
    this.#answer = connection.answer(request, signal).then((response) => response.data);
    this.#answer.catch(() => undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamItem, void, void> {
    try {
      for (let items = await this.#chunks.take(); items !== null; items = await this.#chunks.take()) {
        for (const item of items) {
          if (item.type === "dropped") this.#dropped += item.bytes;
          yield item;
        }
      }
      // An error of the service or of the signal, after the last piece.
      await this.#answer;
    } finally {
      await this.close();
    }
  }

  /** Bytes that this reader has missed so far. 0 for a command that waits, until the client is closed. */
  get droppedBytes(): number {
    return this.#dropped;
  }

  /** The end of the command. Pieces that were not read are dropped. */
  result(): Promise<RunResult> {
    this.#chunks.discard();
    return this.#answer;
  }

  /** Aborts the command. Its result has `cancelled` set. A second call kills it at once. */
  cancel(): void {
    this.#connection.abort(this.#request);
  }

  /** Stops the command, if it still runs. Resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#request.isDone) return;
    this.cancel();
    this.#chunks.discard();
    await this.#request.answered.catch(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A job: a command in the background. It outlives the client, unless it was opened by `await using`. */
export class Job implements AsyncDisposable {
  readonly id: number;
  readonly #connection: Connection;
  readonly #updates: UpdateBoard | undefined;

  constructor(connection: Connection, id: number, updates?: UpdateBoard) {
    this.#connection = connection;
    this.#updates = updates;
    this.id = id;
  }

  /** @internal */
  protected request(type: string, fields: Fields, signal?: AbortSignal): Promise<any> {
    return this.#connection.request(type, { job: this.id, ...fields }, signal);
  }

  /** The job as it is now. */
  async info(): Promise<JobInfo> {
    return (await this.request("job", { lines: 1 })).job;
  }

  /** The last lines, 20 unless given, or all since a byte. Continue with the `end` of the answer before. */
  async output(options: { since?: number; lines?: number } = {}): Promise<JobOutput> {
    return (await this.request("job", { ...options })).output;
  }

  /** Waits for the end of the job. After `seconds`, it is returned as it is, running. */
  async wait(options: { seconds?: number; signal?: AbortSignal } = {}): Promise<JobInfo> {
    const fields = { jobs: [this.id], seconds: options.seconds };
    return (await this.#connection.request("job_wait", fields, options.signal)).jobs[0];
  }

  /** News of the job until it is over. A slow reader misses some, never the last. Only where the job was started. */
  updates(): AsyncGenerator<Update, void, void> {
    if (this.#updates === undefined) {
      throw new UnavailableError("unavailable", "updates come to the client that started the job");
    }
    return this.#updates.follow();
  }

  /** Writes to the standard input of a job that was started with `stdin`. `eof` closes it. */
  async send(text?: string, options: { eof?: boolean } = {}): Promise<JobInfo> {
    return (await this.request("job_send", { text, ...options })).job;
  }

  /** Stops the job with its whole process tree: SIGTERM, then SIGKILL. A `signal` such as `INT` is only sent. */
  async stop(signal?: string): Promise<JobInfo> {
    return (await this.request("job_stop", { signal })).job;
  }

  /** Stops the job, if it still runs. Resolves when it is gone. */
  async close(): Promise<void> {
    try {
      // The order goes out first: the client may be closed while this waits for any answer.
      await this.stop();
    } catch (error) {
      if (!(error instanceof ServiceError) || (await this.info()).live) throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

export interface ScreenOptions {
  /** The event to wait for. `settled` is `input` or `quiet`. */
  until?: "settled" | "input" | "quiet" | "end";
  /** Waits until the screen matches this regular expression. `^` and `$` match at every row. */
  pattern?: string;
  /** Longest wait; 5 unless given. */
  seconds?: number;
  /** Adds colors to `text` as escape sequences. */
  colors?: boolean;
}

/** A job at a terminal: a program with a screen and a keyboard. */
export class Terminal extends Job {
  /** Types text, then keys by their names in tmux: `Enter`, `C-c`, `Up`, `F1`, `M-x`. */
  async type(text?: string, ...keys: string[]): Promise<JobInfo> {
    return (await this.request("job_send", { text, keys: keys.length > 0 ? keys : undefined })).job;
  }

  /** The screen, at once or after an event. If the event does not come in time, the state is `busy`. */
  screen(options: ScreenOptions = {}): Promise<Screen> {
    return this.request("screen", { ...options });
  }

  /** Changes the size of the screen. */
  async resize(columns: number, rows: number): Promise<JobInfo> {
    return (await this.request("resize", { columns, rows })).job;
  }
}

/** A persistent shell with a name: its directory, variables and functions carry over to the next command. */
export class Session implements AsyncDisposable {
  readonly name: string;
  readonly #client: Bashful;
  readonly #connection: Connection;

  constructor(client: Bashful, connection: Connection, name: string) {
    this.#client = client;
    this.#connection = connection;
    this.name = name;
  }

  /** Runs a command in this shell. */
  run(command: string, options: CommandOptions = {}): Promise<RunResult> {
    return this.#client.run(command, { ...options, session: this.name });
  }

  /** Runs a command in this shell, with live output. */
  stream(command: string, options: CommandOptions & StreamOptions = {}): Stream {
    return this.#client.stream(command, { ...options, session: this.name });
  }

  /** Ends the shell and stops everything that runs in it. */
  async end(): Promise<void> {
    await this.#connection.request("session_end", { session: this.name });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.end();
    } catch (error) {
      // It never began, or its shell has ended.
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
}
