// The official TypeScript client, version 1: runs commands and prints the text of each result, as a JSON list.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [server, ...commands] = process.argv.slice(2);
const client = new Client({ name: "rig", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: server, args: ["mcp"] }));
const shown = [];
for (const command of commands) {
  const result = await client.callTool({ name: "bash", arguments: { command } });
  if (result.structuredContent !== undefined) {
    throw new Error("a client would show the facts instead of the text");
  }
  shown.push(result.content.filter((part) => part.type === "text").map((part) => part.text).join(""));
}
await client.close();
console.log(JSON.stringify(shown));
