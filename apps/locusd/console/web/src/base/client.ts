// SPDX-License-Identifier: Apache-2.0
import type { Problem } from "../api";
import { token } from "./token";

// An answer that is not 2xx, or none at all (status 0).
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

export type Query = Record<string, string | number | undefined>;

// A path with its query. Values are escaped; those that are undefined are left out.
export function address(path: string, query: Query = {}): string {
  const words = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return words.length === 0 ? path : `${path}?${words.join("&")}`;
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  const held = token();
  return held === null ? more : { ...more, Authorization: `Bearer ${held}` };
}

const noAnswer = (detail: string): Problem => ({
  title: "No answer",
  status: 0,
  detail,
  code: "UNAVAILABLE",
});

export async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  try {
    const said = JSON.parse(text);
    if (typeof said.detail === "string" && typeof said.title === "string") {
      return { code: "UNKNOWN", ...said, status: response.status };
    }
  } catch {
    // Something between this page and locusd answered.
  }
  return {
    title: `HTTP ${response.status}`,
    status: response.status,
    detail: `The answer ${response.status} ${response.statusText} is not one of locusd's.`,
    code: "UNKNOWN",
  };
}

async function fetched<T>(url: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, cache: "no-store", credentials: "omit" });
  } catch {
    throw new Refusal(noAnswer("locusd does not answer: is it running, and can it be reached?"));
  }
  if (!response.ok) throw new Refusal(await problemOf(response));
  try {
    return (await response.json()) as T;
  } catch {
    throw new Refusal(noAnswer("The answer ended before it was whole."));
  }
}

// GET
export function ask<T>(path: string, query: Query = {}): Promise<T> {
  const init = { headers: headers(), signal: AbortSignal.timeout(30_000) };
  return fetched<T>(address(path, query), init);
}

// POST
export function send<T>(path: string, body: unknown): Promise<T> {
  return fetched<T>(path, {
    method: "POST",
    headers: headers({ "Content-Type": "application/json", "Locus-Console": "1" }),
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
}

export function problemFrom(error: unknown): Problem {
  if (error instanceof Refusal) return error.problem;
  return noAnswer(error instanceof Error ? error.message : String(error));
}
