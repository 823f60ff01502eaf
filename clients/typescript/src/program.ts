/** Finds the program `bashful`. */

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, resolve } from "node:path";

import { ProgramNotFoundError } from "./errors.js";

/** The program that the caller names, else that of the package for this platform, else that on the `PATH`. */
export function findProgram(given: string | undefined): string {
  // The service may start in another directory than the caller's.
  if (given !== undefined) return given.includes("/") ? resolve(given) : given;
  return packaged() ?? onPath() ?? fail();
}

function packaged(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`bashful-client-${process.platform}-${process.arch}/bin/bashful`);
  } catch {
    return undefined; // The package is optional: npm leaves it out on other platforms.
  }
}

function onPath(): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((directory) => resolve(directory, "bashful"))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function fail(): never {
  const platform = `${process.platform}-${process.arch}`;
  throw new ProgramNotFoundError(`there is no package bashful-client-${platform}, and no \`bashful\` on the PATH`);
}
