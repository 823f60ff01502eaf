/**
 * Errors of the client.
 *
 * A command that fails is no error: its exit code is an answer. An error means that nothing ran, that the caller aborted, or
 * that the service failed.
 */

import type { RunResult, ToolResult } from "./messages.js";

/** Base of all errors of this package. */
export class BashfulError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The program `bashful` is missing, or cannot be started. */
export class ProgramNotFoundError extends BashfulError {}

/** The client was closed. */
export class ClosedError extends BashfulError {}

/** The service sent a message that this client does not understand. */
export class ProtocolError extends BashfulError {}

/**
 * The `AbortSignal` of a call fired. The command is gone when this is thrown. `cause` is the reason of the signal, and
 * `result` what the command had given by then.
 */
export class AbortError extends BashfulError {
  readonly result: RunResult | ToolResult | undefined;

  constructor(reason: unknown, result?: RunResult | ToolResult) {
    super("the command was aborted", { cause: reason });
    this.result = result;
  }
}

/** The service has ended while the client still needed it. Commands that it ran are stopped with all their processes. */
export class ServiceEndedError extends BashfulError {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last lines that the service wrote to standard error. */
  readonly stderr: string;

  constructor(exitCode: number | null, signal: NodeJS.Signals | null, stderr: string) {
    const how = signal ?? (exitCode === null ? "" : `exit code ${exitCode}`);
    super(["the service has ended", how, stderr.trim()].filter((part) => part !== "").join(": "));
    this.exitCode = exitCode;
    this.signal = signal;
    this.stderr = stderr;
  }
}

/** The service answered with an error. */
export class ServiceError extends BashfulError {
  readonly code: string;
  /** The wrong field of the request. */
  readonly field: string | undefined;

  constructor(code: string, message: string, field?: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}

/** The guard or the interceptor refused the command, or nobody approved it. Nothing ran. */
export class RefusedError extends ServiceError {}

/** A value makes no sense, or a request is too long. Nothing ran. */
export class InvalidRequestError extends ServiceError {}

/** Too many requests are unanswered. */
export class BusyError extends ServiceError {}

/** The request was aborted before it had a result. */
export class AbortedError extends ServiceError {}

/** There is no such job, session, resource, tool or question. */
export class NotFoundError extends ServiceError {}

/** The service keeps no jobs, sessions or artifacts, or the job sends no updates here. */
export class UnavailableError extends ServiceError {}

const BY_CODE: Record<string, typeof ServiceError> = {
  refused: RefusedError,
  invalid_field: InvalidRequestError,
  unknown_type: InvalidRequestError,
  duplicate_id: InvalidRequestError,
  busy: BusyError,
  cancelled: AbortedError,
  not_found: NotFoundError,
  unavailable: UnavailableError,
};

/** The error of a response. An unknown code is a plain `ServiceError`. */
export function errorFromWire(error: { code: string; message: string; field?: string }): ServiceError {
  return new (BY_CODE[error.code] ?? ServiceError)(error.code, error.message, error.field);
}
