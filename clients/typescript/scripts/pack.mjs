// Packs the client and the package of one platform: node scripts/pack.mjs TSC PROGRAM DIRECTORY
//
// TSC is the TypeScript compiler, and PROGRAM the static program `bashful` for the platform. Prints the paths of both
// archives. Needs npm on the PATH, and no network.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [tsc, program, directory] = process.argv.slice(2).map((path) => resolve(path));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Machines by their number in an ELF file. */
const MACHINES = { 62: "x64", 183: "arm64" };

/** The machine of a static program. One that needs a loader would not run everywhere. */
function machineOf(path) {
  const data = readFileSync(path);
  if (data.readUInt32BE(0) !== 0x7f454c46 || data[4] !== 2 || data[5] !== 1) {
    throw new Error(`${path} is no 64-bit little-endian ELF file`);
  }
  const [offset, size, count] = [Number(data.readBigUInt64LE(32)), data.readUInt16LE(54), data.readUInt16LE(56)];
  for (let index = 0; index < count; index += 1) {
    if (data.readUInt32LE(offset + index * size) === 3) throw new Error(`${path} is linked dynamically`);
  }
  return MACHINES[data.readUInt16LE(18)] ?? fail(`${path} is for an unknown machine`);
}

function fail(text) {
  throw new Error(text);
}

function pack(stage) {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", directory], {
      cwd: stage,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  console.log(join(directory, packed.filename));
}

mkdirSync(directory, { recursive: true });
const stage = mkdtempSync(join(tmpdir(), "bashful-pack-"));
try {
  const client = join(stage, "client");
  mkdirSync(client);
  for (const file of ["package.json", "README.md", "LICENSE-MIT", "LICENSE-APACHE"]) {
    copyFileSync(join(root, file), join(client, file));
  }
  // The types of Node are beside the compiler.
  const types = resolve(dirname(tsc), "../@types");
  execFileSync(tsc, ["-p", root, "--typeRoots", types, "--outDir", join(client, "dist")], { stdio: "inherit" });
  pack(client);

  const machine = machineOf(program);
  const platform = join(stage, "platform");
  mkdirSync(join(platform, "bin"), { recursive: true });
  cpSync(program, join(platform, "bin/bashful"));
  chmodSync(join(platform, "bin/bashful"), 0o755);
  for (const file of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, file), join(platform, file));
  const { name, version, license } = manifest;
  const description = `The program of ${name} for Linux on ${machine}`;
  const facts = { name: `${name}-linux-${machine}`, version, description, license, os: ["linux"], cpu: [machine] };
  writeFileSync(join(platform, "package.json"), JSON.stringify({ ...facts, files: ["bin"] }, undefined, 2));
  pack(platform);
} finally {
  rmSync(stage, { recursive: true });
}
