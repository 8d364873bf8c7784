// SPDX-License-Identifier: Apache-2.0
// Real processes for the browser tests: locusd and locus of the build under test.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run scripts/console`);
  return value;
}

export const bin = (name: string) => join(required("LOCUS_CONSOLE_BIN"), name);
export const shots = () => required("LOCUS_CONSOLE_SHOTS");

const run = promisify(execFile);

// What a command says on stdout.
export async function output(
  program: string,
  words: string[],
  environment: Record<string, string> = {},
): Promise<string> {
  const options = { env: { ...process.env, ...environment }, maxBuffer: 64 << 20 };
  return (await run(program, words, options)).stdout;
}
export const locus = (...words: string[]) => output(bin("locus"), words);

export const newDirectory = () => mkdtemp(join(tmpdir(), "locus-console-"));
export const removeDirectory = (path: string) => rm(path, { recursive: true, force: true });

export interface Process {
  child: ChildProcess;
  // All that it has said.
  said: () => string;
  stop: (signal?: NodeJS.Signals) => Promise<void>;
}

// `stdin`: "pipe" for a program that lives until it ends.
export function start(
  program: string,
  words: string[],
  environment = {},
  stdin: "ignore" | "pipe" = "ignore",
): Process {
  const child = spawn(program, words, {
    stdio: [stdin, "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  let said = "";
  const more = (piece: Buffer) => {
    said += piece.toString();
  };
  child.stdout?.on("data", more);
  child.stderr?.on("data", more);
  child.on("error", (error) => {
    said += error.message;
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const over = () => child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    said: () => said,
    async stop(signal = "SIGTERM") {
      if (!over()) child.kill(signal);
      await ended;
    },
  };
}

// Waits for a line that matches; throws with all that was said if the process ends before.
export async function untilSaid(process: Process, pattern: RegExp): Promise<RegExpExecArray> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const found = pattern.exec(process.said());
    if (found !== null) return found;
    const { exitCode, signalCode } = process.child;
    if (exitCode !== null || signalCode !== null || Date.now() > deadline) {
      throw new Error(`not said: ${pattern}; exit ${exitCode} ${signalCode}; ${process.said()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export interface Locusd extends Process {
  url: string;
}

// Laptop mode: IDs from a directory, on a free port of loopback or the one given.
export async function startLaptop(data: string, port = 0): Promise<Locusd> {
  const process = start(bin("locusd"), ["--data", data, "--listen", `127.0.0.1:${port}`]);
  const found = await untilSaid(process, /serves IDs at (http:\/\/\S+)/);
  return { ...process, url: found[1] as string };
}

export async function post<T>(url: string, body: unknown): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}
