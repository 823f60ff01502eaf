// The official SDK's client side against `bashful acp`, with terminals of real processes and without.
//
// node sdk.mjs SDK BASHFUL SETTINGS DIRECTORY (terminals|here)
// Prints `well` at the end. An assertion that fails ends it with an error.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, bashful, settings, directory, way] = process.argv.slice(2);
const acp = await import(pathToFileURL(sdk));
const hasTerminals = way === "terminals";

const terminals = new Map();
const counts = { created: 0, killed: 0, released: 0 };

function createTerminal({ command, args, env, cwd, outputByteLimit }) {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...Object.fromEntries(env.map(({ name, value }) => [name, value])) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const terminal = { child, output: "", truncated: false, exitStatus: null };
  const show = (data) => {
    terminal.output += data;
    if (Buffer.byteLength(terminal.output) > outputByteLimit) {
      terminal.output = terminal.output.slice(-outputByteLimit);
      terminal.truncated = true;
    }
  };
  child.stdout.on("data", show);
  child.stderr.on("data", show);
  terminal.exited = new Promise((resolve) =>
    child.on("close", (exitCode, signal) => resolve((terminal.exitStatus = { exitCode, signal }))),
  );
  counts.created += 1;
  const terminalId = `t${counts.created}`;
  terminals.set(terminalId, terminal);
  return { terminalId };
}

const updates = [];
const asked = [];
const { terminal: methods, session } = acp.methods.client;
const agent = spawn(bashful, ["--config", settings, "acp"], { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

await acp
  .client({ name: "sdk-test" })
  .onRequest(methods.create, ({ params }) => createTerminal(params))
  .onRequest(methods.output, ({ params }) => {
    const { output, truncated, exitStatus } = terminals.get(params.terminalId);
    return exitStatus ? { output, truncated, exitStatus } : { output, truncated };
  })
  .onRequest(methods.waitForExit, ({ params }) => terminals.get(params.terminalId).exited)
  .onRequest(methods.kill, async ({ params }) => {
    counts.killed += 1;
    terminals.get(params.terminalId).child.kill("SIGKILL");
    return {};
  })
  .onRequest(methods.release, ({ params }) => {
    counts.released += 1;
    terminals.delete(params.terminalId);
    return {};
  })
  .onRequest(session.requestPermission, ({ params }) => {
    asked.push(params);
    return { outcome: { outcome: "selected", optionId: "reject" } };
  })
  .onNotification(session.update, ({ params }) => void updates.push(params))
  .connectWith(stream, async (client) => {
    const ask = (method, params) => client.request(method, params);
    const clientCapabilities = { terminal: hasTerminals };
    const { protocolVersion, agentInfo } = await ask(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities });
    assert.deepEqual([protocolVersion, agentInfo.name], [1, "bashful"]);
    const { sessionId, modes } = await ask(acp.methods.agent.session.new, { cwd: directory, mcpServers: [] });
    assert.deepEqual(modes.availableModes.map(({ id }) => id), ["default", "slow", "background"]);

    // The last update may be handled after the answer to the prompt.
    const last = async (id) => {
      for (;;) {
        const update = updates.findLast(({ update }) => update.toolCallId === id)?.update;
        if (update && ["completed", "failed"].includes(update.status)) return update;
        await new Promise(setImmediate);
      }
    };
    let calls = 0;
    const prompt = async (text, { sessionId: id = sessionId } = {}) => {
      calls += 1;
      const call = `call-${calls}`;
      const { stopReason } = await ask(acp.methods.agent.session.prompt, { sessionId: id, prompt: [{ type: "text", text }] });
      const { status, content, rawOutput } = await last(call);
      const shown = content.filter(({ type }) => type === "content").map((block) => block.content.text).join("\n");
      return { stopReason, status, shown, rawOutput, embedded: content.some(({ type }) => type === "terminal") };
    };

    // Run.
    let end = await prompt("echo out; echo err >&2");
    assert.deepEqual([end.stopReason, end.status, end.embedded], ["end_turn", "completed", hasTerminals]);
    assert.equal(end.rawOutput.exit_code, 0);
    if (hasTerminals) {
      assert.equal(end.rawOutput.terminalId, "t1");
      assert.match(end.shown, /ran in the client's terminal: /);
      const first = updates.find(({ update }) => update.content?.[0]?.type === "terminal").update;
      assert.equal(first.content[0].terminalId, "t1");
    } else {
      assert.match(end.shown, /out\nerr\n/);
    }
    // Fail.
    end = await prompt("exit 3");
    assert.deepEqual([end.stopReason, end.status, end.rawOutput.exit_code], ["end_turn", "failed", 3]);
    assert.match(end.shown, /failed.*exit 3/);
    // Killed by a signal.
    end = await prompt("kill -9 $$");
    assert.deepEqual([end.status, end.rawOutput.signal.name], ["failed", "SIGKILL"]);
    // Time up: the settings give a command five seconds.
    end = await prompt("echo begun; exec \"$PUPPET\" hold");
    assert.deepEqual([end.stopReason, end.status, end.rawOutput.status], ["end_turn", "failed", "timed_out"]);
    // Refused: the user says no.
    end = await prompt("git push --force");
    assert.deepEqual([end.status, end.rawOutput.status], ["failed", "refused"]);
    assert.match(asked[0].toolCall.content[0].content.text, /git push --force/);
    // Cancel.
    await ask(acp.methods.agent.session.setMode, { sessionId, modeId: "slow" });
    const running = prompt("\"$PUPPET\" make ready hold");
    while (!existsSync(join(directory, "ready"))) await new Promise((resolve) => setTimeout(resolve, 5));
    await client.notify(acp.methods.agent.session.cancel, { sessionId });
    end = await running;
    assert.deepEqual([end.stopReason, end.status, end.rawOutput.status], ["cancelled", "failed", "cancelled"]);
    // A person's command runs in a shell of the session, here.
    await prompt("!cd /; x=kept");
    end = await prompt("!echo \"$x in $PWD\"");
    assert.match(end.shown, /kept in \/\n/);
    // Another session, in another directory.
    const other = await ask(acp.methods.agent.session.new, { cwd: "/usr", mcpServers: [] });
    end = await prompt("pwd", { sessionId: other.sessionId });
    assert.equal(end.rawOutput.cwd, "/usr");
    // Long output: the client keeps its end.
    end = await prompt("seq 100000", { sessionId: other.sessionId });
    assert.equal(end.status, "completed");
    if (hasTerminals) {
      assert.equal(end.rawOutput.lost_beginning, true);
      assert.deepEqual(counts, { created: 7, killed: 2, released: 7 });
      assert.equal(terminals.size, 0);
    } else {
      assert.deepEqual(counts, { created: 0, killed: 0, released: 0 });
    }
  });

agent.stdin.end();
const code = await new Promise((resolve) => (agent.exitCode === null ? agent.on("exit", resolve) : resolve(agent.exitCode)));
assert.equal(code, 0);
console.log("well");
process.exit(0);
