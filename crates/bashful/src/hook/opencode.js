// Written by `bashful hook install opencode`: bashful judges every command before opencode runs it.
import { execFile } from "node:child_process";

const command = COMMAND_OF_THE_HOOK;

// Runs the hook with a call on its standard input, and returns its answer: JSON, or nothing.
const ask = (call) =>
  new Promise((resolve, reject) => {
    const hook = execFile("sh", ["-c", command], (error, answer, said) => {
      if (error) reject(new Error(`bashful cannot judge this command, which is therefore refused: ${said || error.message}`));
      else resolve(answer);
    });
    hook.stdin.on("error", () => {});
    hook.stdin.end(JSON.stringify(call));
  });

export const BashfulGuard = async ({ client, directory }) => ({
  "tool.execute.before": async ({ tool }, { args }) => {
    if (tool !== "bash") return;
    const text = await ask({ hook_event_name: "PreToolUse", cwd: directory, tool_name: tool, tool_input: args });
    if (!text) return;
    const answer = JSON.parse(text);
    if (answer.hookSpecificOutput) throw new Error(answer.hookSpecificOutput.permissionDecisionReason);
    client.tui.showToast({ body: { message: answer.systemMessage, variant: "warning" } }).catch(() => {});
  },
});
