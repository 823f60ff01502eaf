/** The tool loop of README.md, word for word, against a scripted model. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

import { check } from "./support.ts";

const KEY = "sk-test-0123456789abcdef";

function toolLoop(): string {
  const readme = readFileSync(new URL("README.md", import.meta.resolve("bashful-client/package.json")), "utf8");
  const block = /## A tool loop\n[^]*?```js\n([^]*?)```/.exec(readme)?.[1];
  assert.ok(block !== undefined, "one tool loop");
  return block;
}

/** Answers each request with the next reply, and keeps the requests. */
function scriptedModel(replies: unknown[][], requests: any[]): Server {
  return createServer(async (request, response) => {
    assert.equal(request.url, "/v1/messages");
    assert.equal(request.headers["x-api-key"], KEY);
    requests.push(JSON.parse(await text(request)));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ role: "assistant", content: replies[requests.length - 1] }));
  });
}

function use(name: string, number: number, input: Record<string, unknown> = {}): unknown {
  return { type: "tool_use", id: `use_${number}`, name, input };
}

check("the tool loop of the README runs what the model asks for", async (_, place) => {
  const loop = toolLoop();
  assert.ok(loop.trimEnd().split("\n").length <= 40, "at most 40 lines");
  const requests: any[] = [];
  const first = [
    { type: "text", text: "Let me see." },
    use("bash", 1, { command: "echo $((6*7)) ${ANTHROPIC_API_KEY-hidden}; exit 3" }),
    use("bash", 2, { command: "git push --force" }),
    use("teleport", 3),
  ];
  const model = scriptedModel([first, [{ type: "text", text: "It is 42." }]], requests).listen(0, "127.0.0.1");
  await once(model, "listening");
  // Packages are looked up beside the program.
  const agent = new URL("agent.mjs", import.meta.url);
  writeFileSync(agent, loop);
  const address = `http://127.0.0.1:${(model.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [agent.pathname, "What is 6*7?"], {
    cwd: place.path,
    env: place.environment({ ANTHROPIC_BASE_URL: address, ANTHROPIC_API_KEY: KEY }),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  model.close();
  assert.deepEqual([said, code], ["Let me see.\nIt is 42.\n", 0]);
  assert.deepEqual(requests[0].tools.map((tool: { name: string }) => tool.name), ["bash", "job"]);
  assert.deepEqual(requests[0].messages, [{ role: "user", content: "What is 6*7?" }]);
  const results: { tool_use_id: string; content: string; is_error: boolean }[] = requests[1].messages[2].content;
  assert.deepEqual(results.map((result) => [result.tool_use_id, result.is_error]), [
    ["use_1", true],
    ["use_2", true],
    ["use_3", true],
  ]);
  assert.match(results[0]!.content, /42 hidden\n/);
  assert.match(results[1]!.content, /force/);
  assert.match(results[2]!.content, /teleport/);
});
