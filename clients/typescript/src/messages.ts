/** Data of the service, with the names of docs/rpc.md. */

/** The service, its abilities and its limits. */
export interface ServiceInfo {
  version: string;
  protocol: number;
  dialect: string;
  cwd: string;
  requests: string[];
  abilities: Record<string, boolean>;
  limits: { lineBytes: number; requests: number };
}

/** The end of a command. `output` is clean text: the beginning and the end of a long output, the whole of which is `artifactId`. */
export interface RunResult {
  output: string;
  /** 128+N after signal N. Absent if the command was stopped. */
  exitCode?: number;
  cancelled: boolean;
  timedOut: boolean;
  truncated: boolean;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  /** The full output on disk, for `read` as `artifact://ID`. Absent if `output` has everything. */
  artifactId?: string;
  workingDir: string;
  wallTimeMs: number;
  notices: string[];
}

/** A piece of a command's output, exactly as the command wrote it. A character is never split between two chunks. */
export class Chunk {
  readonly type = "chunk";
  readonly data: Buffer;

  constructor(data: Buffer) {
    this.data = data;
  }

  /** The piece as text. Bytes that are not UTF-8 are replaced. */
  get text(): string {
    return this.data.toString("utf8");
  }
}

/** Output is missing here, because the reader was too slow. Only with `whenBehind: "drop"`. */
export interface Dropped {
  type: "dropped";
  bytes: number;
}

export type StreamItem = Chunk | Dropped;

/** An artifact or the output of a job, for `read`. */
export interface Link {
  uri: string;
  name: string;
  size: number;
}

/** The answer to a tool call: `text` and `isError` are for the model, and `facts` for programs. */
export interface ToolResult {
  text: string;
  isError: boolean;
  /** `error` means that the command did not run, or was stopped. */
  conclusion: "result" | "error" | "abort";
  /** Id of the job that the command became. */
  job?: number;
  facts: Record<string, unknown>;
  links: Link[];
}

/** News of a job. `text` is the end of its output, and at the end the final text. */
export interface Update {
  /** The state of the job; absent while the call that may become a job waits. */
  async?: { state: "running" | "completed" | "failed"; jobId: string; job: number };
  text: string;
  bytes: number;
  elapsedMs: number;
  facts: Record<string, unknown>;
}

/** A command that needs approval. Show `text` to a person. */
export interface Question {
  text: string;
  command: string;
  cwd: string;
  findings: { rule: string; text: string }[];
  answerWithinMs: number;
}

/** A job, as it is at one moment. */
export interface JobInfo {
  id: number;
  uri: string;
  kind: string;
  status: "running" | "exited" | "signaled" | "timed_out" | "cancelled" | "failed" | "lost" | "unknown";
  live: boolean;
  exitCode: number | null;
  signal: { number: number; name: string | null } | null;
  pid: number | null;
  command: string;
  cwd: string;
  outputFile: string;
  outputBytes: number;
  takesInput: boolean;
  hasTerminal: boolean;
  lifetimeMs: number;
  durationMs: number;
  beganUnixMs: number;
  endedUnixMs: number | null;
  leftover: { pid: number; command: string }[] | null;
}

/** A part of a job's output. Give `end` as `since` to continue. */
export interface JobOutput {
  text: string;
  begin: number;
  end: number;
  totalBytes: number;
}

/** The screen of a terminal. Rows and columns count from 1. */
export interface Screen {
  text: string;
  rows: string[];
  columns: number;
  cursorRow: number;
  cursorColumn: number;
  cursorVisible: boolean;
  title: string | null;
  fullScreen: boolean;
  /** `busy` if the event did not come in time. */
  state: "matched" | "input" | "password" | "quiet" | "ended" | "running" | "busy";
  waitedMs: number;
  job: JobInfo;
}

/** A persistent shell of this service. */
export interface SessionInfo {
  name: string;
  busy: boolean;
  sinceMs: number;
  pid: number;
  cwd: string | null;
  commands: number;
}

/** A resource, or a part of it. `next` is the address of the rest. */
export interface Part {
  text: string;
  cut: boolean;
  next?: string;
}
