/** The client against the real service. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import {
  AbortError,
  Bashful,
  Chunk,
  ClosedError,
  InvalidRequestError,
  NotFoundError,
  ProgramNotFoundError,
  ProtocolError,
  type Question,
  RefusedError,
  ServiceEndedError,
  ServiceError,
  type Stream,
  type StreamItem,
  UnavailableError,
  type Update,
} from "bashful-client";

import { ASK, assertGone, assertGoSoon, check, eventually, FAMILY, FORCE_PUSH, heldBytes, WIDE } from "./support.ts";

async function collect(items: AsyncIterable<StreamItem>): Promise<{ data: Buffer; dropped: number }> {
  const pieces: Buffer[] = [];
  let dropped = 0;
  for await (const item of items) {
    if (item.type === "chunk") pieces.push(item.data);
    else dropped += item.bytes;
  }
  return { data: Buffer.concat(pieces), dropped };
}

function numbers(last: number): string {
  return Array.from({ length: last }, (_, index) => `${index + 1}\n`).join("");
}

// Running

check("a command gives its output and exit code", async (client, place) => {
  const result = await client.run("echo out; echo err >&2");
  assert.equal(result.output, "out\nerr\n");
  assert.equal(result.exitCode, 0);
  assert.equal(result.totalBytes, 8);
  assert.equal(result.workingDir, place.path);
  assert.equal(client.info.protocol, 1);
});

check("a failed command is an answer", async (client) => {
  const result = await client.run("echo why; (exit 7)");
  assert.equal(result.output, "why\n");
  assert.equal(result.exitCode, 7);
});

check("a command that a signal ended says so", async (client) => {
  assert.equal((await client.run("bash -c 'kill -KILL $$'")).exitCode, 137);
});

check("a timeout stops the whole tree", async (client, place) => {
  const result = await client.run(FAMILY, { timeout: 3 });
  assert.equal(result.timedOut, true);
  assert.equal(result.exitCode, undefined);
  assert.match(result.output, /ready/);
  assertGone(...(await place.pids()));
});

check("the shell of the client persists, and env is for one command", async (client, place) => {
  await client.run("mkdir d; cd d; X=5");
  assert.equal((await client.run("echo $X $A; pwd", { env: { A: "b" } })).output, `5 b\n${place.path}/d\n`);
  assert.equal((await client.run("pwd; echo $A", { cwd: "/", mode: "slow" })).output, "/\n\n");
});

check("a long output is whole in its artifact", async (client) => {
  const result = await client.run("seq 100000");
  assert.equal(result.truncated, true);
  assert.equal((await client.read(`artifact://${result.artifactId}?lines=1-3`)).text, "1\n2\n3\n");
});

check("a thousand commands at fifty in parallel", async (client) => {
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    while (next < 1000) {
      const number = next++;
      const result = await client.run(`echo ${number}`);
      assert.equal(result.output, `${number}\n`);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: 50 }, work));
  assert.equal(done, 1000);
});

// Cancelling

check("a signal leaves no process, and the error has the output", async (client, place) => {
  const controller = new AbortController();
  const running = client.run(`echo begun; ${FAMILY}`, { signal: controller.signal });
  const pids = await place.pids();
  controller.abort(new Error("enough"));
  await assert.rejects(running, (error: unknown) => {
    assert.ok(error instanceof AbortError && error.name === "AbortError");
    assert.equal((error.cause as Error).message, "enough");
    assert.ok(error.result !== undefined && "output" in error.result && error.result.output.includes("begun"));
    return true;
  });
  // At once: the error has waited for it.
  assertGone(...pids);
  assert.equal((await client.run("echo next")).output, "next\n");
});

check("a signal that has fired before sends nothing", async (client, place) => {
  await assert.rejects(client.run("touch ran", { signal: AbortSignal.abort() }), AbortError);
  assert.equal((await client.run("true")).exitCode, 0);
  assert.equal(place.has("ran"), false);
});

check("cancel gives every command its result", async (client) => {
  const streams = [1, 2, 3].map(() => client.stream("echo begun; sleep 1000"));
  const begun = streams.map(async (stream) => {
    for await (const item of stream) {
      assert.equal(item.type === "chunk" && item.text, "begun\n");
      return;
    }
  });
  // Leaving the loop has aborted each.
  await Promise.all(begun);
  for (const stream of streams) assert.equal((await stream.result()).cancelled, true);
  const more = [client.run("sleep 1000"), client.run("sleep 1000")];
  assert.equal(await client.cancel(), 2);
  for (const result of await Promise.all(more)) assert.equal(result.cancelled, true);
});

// Streaming

check("chunks have the exact bytes", async (client) => {
  const stream = client.stream("printf 'a\\377\\303\\251\\000b'; printf '\\033[1mé'");
  assert.deepEqual((await collect(stream)).data, Buffer.from("61ffc3a900621b5b316dc3a9", "hex"));
  assert.equal((await stream.result()).output, "a\ufffdé␀bé");
});

check("output comes while the command runs", async (client, place) => {
  const seen: string[] = [];
  for await (const item of client.stream("echo first; until [ -e go ]; do sleep 0.01; done; echo last")) {
    assert.ok(item instanceof Chunk);
    seen.push(item.text);
    writeFileSync(join(place.path, "go"), "");
  }
  assert.deepEqual(seen, ["first\n", "last\n"]);
});

check("a command waits for a slow reader, and nothing is lost", async (client) => {
  const stream = client.stream("seq 2000000");
  const pieces: Buffer[] = [];
  for await (const item of stream) {
    assert.ok(item.type === "chunk");
    pieces.push(item.data);
    // Other commands are answered, although nobody reads this one.
    if (pieces.length === 1) assert.equal((await client.run("echo quick")).output, "quick\n");
  }
  assert.equal(Buffer.concat(pieces).toString(), numbers(2_000_000));
  assert.equal(stream.droppedBytes, 0);
});

check("a reader that does not hold up the command is told what is missing", async (client, place) => {
  const stream = client.stream("seq 2000000; touch over", { whenBehind: "drop" });
  // The command ends, although nobody reads.
  await eventually(() => place.has("over"), "the command waits");
  assert.equal((await client.run("echo quick")).output, "quick\n");
  const { data, dropped } = await collect(stream);
  assert.equal(data.length + dropped, (await stream.result()).totalBytes);
  assert.ok(dropped > 0 && stream.droppedBytes === dropped);
  assert.ok(data.toString().endsWith("2000000\n"));
});

check("leaving the loop leaves no process", async (client, place) => {
  for await (const _ of client.stream(FAMILY)) break;
  assertGone(...(await place.pids()));
});

check("leaving the block leaves no process", async (client, place) => {
  let pids: number[] = [];
  {
    await using _ = client.stream(FAMILY);
    pids = await place.pids();
  }
  assertGone(...pids);
});

check("a signal ends a stream", async (client, place) => {
  const controller = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of client.stream(FAMILY, { signal: controller.signal })) controller.abort();
  }, AbortError);
  assertGone(...(await place.pids()));
});

check("nothing of a stream is held after its reader has had it", async (client) => {
  let total = 0;
  let most = 0;
  const before = heldBytes();
  for await (const item of client.stream("head -c 64000000 /dev/zero | tr '\\0' x")) {
    const had = total;
    if (item.type === "chunk") total += item.data.length;
    if (had >> 22 !== total >> 22) most = Math.max(most, heldBytes());
  }
  assert.equal(total, 64_000_000);
  assert.ok(most - before < 8 << 20, `${most - before} bytes more than before the stream`);
});

/** Writes more than pipes and queues hold. */
const FLOOD = 32_000_000;
const FLOODS = `head -c ${FLOOD} /dev/zero | tr '\\0' x; touch over`;

async function count(stream: AsyncIterable<StreamItem>): Promise<number> {
  let total = 0;
  for await (const item of stream) if (item.type === "chunk") total += item.data.length;
  return total;
}

/** A stream without end that nobody has read, although much has come for another one meanwhile. */
async function streamUnread(client: Bashful): Promise<Stream> {
  const unread = client.stream("yes");
  assert.equal(await count(client.stream("head -c 8000000 /dev/zero | tr '\\0' x")), 8_000_000);
  return unread;
}

check("a reader that is behind holds up its command alone, and memory stays flat", async (client, place) => {
  await client.run("mkfifo fifo");
  const other = client.run("read <fifo; echo went on");
  const before = heldBytes();
  const unread = client.stream(FLOODS);
  // As much comes through for somebody else meanwhile.
  assert.equal(await count(client.stream(FLOODS.replace("over", "other"))), FLOOD);
  // One collection does not reach everything that has been let go.
  await eventually(() => heldBytes() - before < 16 << 20, "the client holds the stream");
  assert.ok(!place.has("over"));
  await client.run("echo >fifo");
  assert.equal((await other).output, "went on\n");
  assert.deepEqual([await count(unread), unread.droppedBytes], [FLOOD, 0]);
});

check("news of a job come while a reader is behind", async (client, place) => {
  const job = await client.job("until [ -e go ]; do sleep 0.01; done; echo done");
  const unread = await streamUnread(client);
  writeFileSync(join(place.path, "go"), "");
  const states: (string | undefined)[] = [];
  const follow = async (): Promise<void> => {
    for await (const update of job.updates()) states.push(update.async?.state);
  };
  await Promise.race([follow(), sleep(WIDE, undefined, { ref: false })]);
  assert.equal(states.at(-1), "completed");
  await unread.close();
});

check("a stream that is behind is stopped as any other", async (client) => {
  const closed = await streamUnread(client);
  await closed.close();
  assert.equal((await closed.result()).cancelled, true);
  const unread = await streamUnread(client);
  await client.close();
  // In order, and not by force after a time limit.
  assert.equal((await unread.result()).cancelled, true);
});

// Refusing

check("a refused command is an error of its own", async (client) => {
  await assert.rejects(client.run(FORCE_PUSH), (error: unknown) => {
    assert.ok(error instanceof RefusedError && error instanceof ServiceError);
    assert.equal(error.code, "refused");
    return true;
  });
  await assert.rejects(client.job(FORCE_PUSH), RefusedError);
  await assert.rejects(collect(client.stream(FORCE_PUSH)), RefusedError);
});

check("a yes lets a command run once", async (_, place) => {
  const asked: Question[] = [];
  const approve = async (question: Question): Promise<boolean> => asked.push(question) === 1;
  await using client = await place.start({ approve }, ASK);
  assert.match((await client.run(FORCE_PUSH)).output, /ran/);
  await assert.rejects(client.run(FORCE_PUSH), RefusedError);
  assert.deepEqual(
    asked.map((question) => [question.command, question.findings[0]?.rule]),
    [1, 2].map(() => [FORCE_PUSH, "git/force-push"]),
  );
});

check("an error in the callback is a no", async (_, place) => {
  const approve = (): boolean => {
    throw new Error("no idea");
  };
  await using client = await place.start({ approve }, ASK);
  const warned = once(process, "warning");
  await assert.rejects(client.run(FORCE_PUSH), RefusedError);
  assert.match(String((await warned)[0]), /no idea/);
});

check("only true is a yes", async (_, place) => {
  for (const answer of ["n", 1, undefined]) {
    const approve = async (): Promise<boolean> => answer as unknown as boolean;
    await using client = await place.start({ approve }, ASK);
    const warned = once(process, "warning", { signal: AbortSignal.timeout(WIDE) });
    await assert.rejects(client.run(FORCE_PUSH), RefusedError);
    assert.match(String((await warned)[0]), /approve callback failed.*must return true or false/);
  }
});

check("an aborted command closes its question", async (_, place) => {
  const controller = new AbortController();
  let closed: Promise<unknown> = Promise.resolve();
  const approve = async (_question: Question, signal: AbortSignal): Promise<boolean> => {
    closed = once(signal, "abort");
    controller.abort();
    await closed;
    return true;
  };
  await using client = await place.start({ approve }, ASK);
  await assert.rejects(client.run(FORCE_PUSH, { signal: controller.signal }), AbortError);
  await closed;
});

// Tools

check("definitions have the form of the model API", async (client) => {
  assert.deepEqual((await client.tools()).map((tool) => tool["name"]), ["bash", "job"]);
  assert.ok("input_schema" in (await client.tools("anthropic"))[0]!);
  assert.equal((await client.tools("openai"))[0]!["type"], "function");
});

check("a call gives the text for the model", async (client) => {
  const answer = await client.tool("bash", { command: "echo hi; exit 3" });
  assert.match(answer.text, /hi\n/);
  assert.deepEqual([answer.isError, answer.conclusion, answer.facts["exit_code"]], [true, "result", 3]);
  const refused = await client.tool("bash", { command: FORCE_PUSH });
  assert.deepEqual([refused.isError, refused.conclusion], [true, "error"]);
  await assert.rejects(client.tool("teleport"), NotFoundError);
});

check("a tool call is aborted by its signal", async (client, place) => {
  const controller = new AbortController();
  const calling = client.tool("bash", { command: FAMILY }, { signal: controller.signal });
  const pids = await place.pids();
  controller.abort();
  await assert.rejects(calling, AbortError);
  assertGone(...pids);
});

check("a command that outlasts the call becomes a job that sends news", async (client, place) => {
  const updates: Update[] = [];
  const command = "until [ -e go ]; do sleep 0.01; done; echo done";
  const onUpdate = (update: Update): unknown => updates.push(update);
  const answer = await client.tool("bash", { command }, { patience: 0.1, onUpdate });
  assert.ok(answer.job !== undefined);
  writeFileSync(join(place.path, "go"), "");
  await eventually(() => updates.at(-1)?.async?.state === "completed", "no last update");
  assert.match(updates.at(-1)!.text, /done/);
  assert.equal((await client.getJob(answer.job).wait()).exitCode, 0);
});

// Jobs, terminals, sessions

check("a job is read, written to and waited for", async (client) => {
  const job = await client.job("echo ready; read x; echo got $x", { stdin: true });
  await job.send("a line\n");
  const info = await job.wait({ seconds: WIDE / 1000 });
  assert.deepEqual([info.id, info.status, info.exitCode], [job.id, "exited", 0]);
  assert.ok((await job.output({ since: 0 })).text.startsWith("ready\ngot a line\n"));
  assert.ok((await client.jobs()).some((known) => known.id === job.id));
});

check("a job sends news until it is over", async (client) => {
  const job = await client.job("echo one; (exit 3)");
  let last: Update | undefined;
  for await (const update of job.updates()) last = update;
  assert.equal(last?.async?.state, "failed");
  assert.match(last.text, /one/);
  assert.throws(() => client.getJob(job.id).updates(), UnavailableError);
});

check("leaving the block of a job leaves no process", async (client, place) => {
  let pids: number[] = [];
  {
    await using _ = await client.job(FAMILY);
    pids = await place.pids();
  }
  assertGone(...pids);
});

check("a job that is closed with the client leaves no process", async (client, place) => {
  const job = await client.job(FAMILY);
  const pids = await place.pids();
  const closing = job.close().catch(() => undefined);
  await client.close();
  await closing;
  await assertGoSoon(...pids);
});

check("a job outlives the client", async (client, place) => {
  const job = await client.job(FAMILY);
  const pids = await place.pids();
  await client.close();
  await using other = await place.start();
  assert.equal((await other.getJob(job.id).info()).live, true);
  await other.getJob(job.id).stop();
  assertGone(...pids);
  await assert.rejects(other.getJob(4711).info(), NotFoundError);
});

check("a program with a screen is driven", async (client) => {
  let pid = 0;
  {
    await using repl = await client.terminal("python3 -q", { columns: 80, rows: 24 });
    assert.equal((await repl.screen({ until: "input", seconds: WIDE / 1000 })).columns, 80);
    await repl.type("6*7", "Enter");
    const screen = await repl.screen({ pattern: "^42$", seconds: WIDE / 1000 });
    assert.equal(screen.state, "matched");
    assert.ok(screen.rows.includes("42"));
    pid = screen.job.pid!;
  }
  assertGone(pid);
});

check("a session keeps its state apart", async (client) => {
  let pid = 0;
  {
    await using session = client.session("build");
    await session.run("X=session");
    assert.equal((await session.run("echo $X")).output, "session\n");
    assert.equal((await client.run("echo $X")).output, "\n");
    pid = (await client.sessions()).find((known) => known.name === "build")!.pid;
  }
  assertGone(pid);
  {
    await using _ = client.session();
  }
});

// The end

check("leaving the client leaves no process", async (client, place) => {
  const running = client.run(FAMILY);
  const pids = await place.pids();
  await client.close();
  assertGone(...pids, client.pid);
  assert.equal((await running).cancelled, true);
  await assert.rejects(client.run("true"), ClosedError);
  await client.close();
});

check("a killed service fails every call", async (client, place) => {
  const calls = [client.run(FAMILY), client.run("sleep 1000"), collect(client.stream("echo begun; sleep 1000"))];
  const failed = calls.map((call) => assert.rejects(call, ServiceEndedError));
  const pids = await place.pids();
  process.kill(client.pid, "SIGKILL");
  await Promise.all(failed);
  await assert.rejects(client.run("true"), (error: unknown) => {
    assert.ok(error instanceof ServiceEndedError);
    assert.equal(error.signal, "SIGKILL");
    return true;
  });
  await assertGoSoon(...pids);
});

check("a killed host leaves no process", async (_, place) => {
  const script = `
    import { Bashful } from ${JSON.stringify(import.meta.resolve("bashful-client"))};
    const client = await Bashful.start();
    console.log(client.pid);
    await client.run(process.argv[1]);`;
  const host = spawn(process.execPath, ["--input-type=module", "-e", script, FAMILY], {
    cwd: place.path,
    env: place.environment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const service = Number(String((await once(host.stdout, "data"))[0]));
  const pids = await place.pids();
  host.kill("SIGKILL");
  await assertGoSoon(...pids, service);
});

check("requests that the service could not answer are not sent", async (client) => {
  await assert.rejects(client.run("true", { timeout: Number.NaN }), InvalidRequestError);
  await assert.rejects(client.run("echo \ud800"), InvalidRequestError);
  await assert.rejects(client.run("x".repeat(17 << 20)), InvalidRequestError);
  await assert.rejects(client.run("true", { timeout: "5m" as unknown as number }), (error: unknown) => {
    assert.ok(error instanceof InvalidRequestError);
    assert.equal(error.field, "timeout");
    return true;
  });
  assert.equal((await client.run("true")).exitCode, 0);
});

check("a program that does not start says why", async (_, place) => {
  await assert.rejects(Bashful.start({ program: "/nowhere/bashful" }), ProgramNotFoundError);
  await assert.rejects(place.start({ dialect: "klingon" }), (error: unknown) => {
    assert.ok(error instanceof ServiceEndedError);
    assert.match(error.message, /klingon/);
    return true;
  });
  const program = join(place.path, "other");
  writeFileSync(program, "#!/bin/sh\necho hello there\nexec sleep 1000\n");
  chmodSync(program, 0o755);
  await assert.rejects(place.start({ program }), ProtocolError);
});

check("a directory that does not exist is named", async (client, place) => {
  const file = join(place.path, "file");
  writeFileSync(file, "");
  for (const cwd of [join(place.path, "nowhere"), file]) {
    await assert.rejects(place.start({ cwd }), (error: unknown) => {
      assert.ok(error instanceof InvalidRequestError);
      assert.deepEqual([error.message, error.field], [`cwd is not a directory: ${cwd}`, "cwd"]);
      return true;
    });
  }
  await assert.rejects(place.start({ program: file }), (error: unknown) => {
    assert.ok(error instanceof ProgramNotFoundError);
    assert.match(error.message, /cannot start .*file: .*EACCES/);
    return true;
  });
  assert.equal((await client.run("true")).exitCode, 0);
});

check("a relative program is that of the caller", async (client, place) => {
  const program = relative(process.cwd(), readlinkSync(`/proc/${client.pid}/exe`));
  // So deep that the path leads nowhere from there.
  const cwd = join(place.path, ...Array<string>(20).fill("deep"));
  mkdirSync(cwd, { recursive: true });
  await using other = await place.start({ program: `./${program}`, cwd });
  assert.equal((await other.run("pwd")).output, `${cwd}\n`);
});
