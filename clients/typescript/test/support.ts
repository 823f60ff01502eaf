/** Shared by the tests: a home directory of their own, and a look at processes. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { Bashful, type ClientOptions } from "bashful-client";

/** Milliseconds that only a hang exceeds. */
export const WIDE = 60_000;

/** A command with a child and a grandchild. Their process ids are in the file `pids` before its first output. */
export const FAMILY = "bash -c 'sleep 1000 & echo $! $$ >p; mv p pids; echo ready; wait'";

/** The guard refuses it, or asks about it. It does nothing outside of a repository. */
export const FORCE_PUSH = "git push --force 2>&1; echo ran";

export const ASK = { BASHFUL_GUARD_LEVELS: '{"git/force-push"="ask"}' };

/** A temporary home directory. */
export class Place {
  readonly path = mkdtempSync(join(tmpdir(), "bashful-typescript-"));

  environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
    const { XDG_STATE_HOME: _, XDG_CONFIG_HOME: __, XDG_RUNTIME_DIR: ___, ...kept } = process.env;
    return { ...kept, HOME: this.path, ...more };
  }

  start(options: ClientOptions = {}, variables: Record<string, string> = {}): Promise<Bashful> {
    return Bashful.start({ cwd: this.path, env: this.environment(variables), ...options });
  }

  has(file: string): boolean {
    return existsSync(join(this.path, file));
  }

  /** The processes of `FAMILY`, once it is ready. */
  async pids(): Promise<number[]> {
    await eventually(() => this.has("pids"), "the command did not begin");
    return readFileSync(join(this.path, "pids"), "utf8").trim().split(/\s+/).map(Number);
  }
}

/** A test with a place and a client in it. */
export function check(name: string, body: (client: Bashful, place: Place, context: TestContext) => Promise<void>): void {
  test(name, async (context) => {
    const place = new Place();
    const client = await place.start();
    try {
      await body(client, place, context);
    } finally {
      await client.close();
      rmSync(place.path, { recursive: true });
    }
  });
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The memory that is in use. The size of the process says less: Node gives back free memory when it likes. */
export function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** True for a process that is no zombie. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3));
  } catch {
    return false;
  }
}

export function assertGone(...pids: number[]): void {
  assert.deepEqual(pids.filter(isRunning), [], "processes are left");
}

export function assertGoSoon(...pids: number[]): Promise<void> {
  return eventually(() => !pids.some(isRunning), `processes are left: ${pids}`);
}

export async function eventually(holds: () => boolean, message: string): Promise<void> {
  const end = Date.now() + WIDE;
  while (!holds()) {
    assert.ok(Date.now() < end, message);
    await sleep(10);
  }
}
