// The part of ways.py in Node: makes one call for each line, and prints its milliseconds.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [client, program] = process.argv.slice(2);
const { Bashful } = await import(pathToFileURL(client).href);
const shell = await Bashful.start({ program });
const calls = { run: () => shell.run("true"), tool: () => shell.tool("bash", { command: "true" }) };
for (const call of Object.values(calls)) for (let count = 0; count < 20; count += 1) await call();
for await (const line of createInterface({ input: process.stdin })) {
  const begin = performance.now();
  await calls[line]();
  console.log(performance.now() - begin);
}
await shell.close();
