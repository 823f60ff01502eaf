/**
 * bashful runs shell commands for LLM agents and reports exactly what happened. This is its client: it starts the program
 * `bashful` as a child process and talks to it over its standard input and output.
 */

export {
  Bashful,
  type ClientOptions,
  type CommandOptions,
  Job,
  type JobOptions,
  type RunOptions,
  type ScreenOptions,
  Session,
  Stream,
  type StreamOptions,
  Terminal,
  type ToolOptions,
} from "./client.js";
export * from "./errors.js";
export * from "./messages.js";
