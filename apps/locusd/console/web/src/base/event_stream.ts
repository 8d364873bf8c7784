// SPDX-License-Identifier: Apache-2.0
// Server-sent events by fetch(): EventSource cannot send a token.

import type { Problem } from "../api";
import { headers, problemFrom, problemOf, Refusal } from "./client";

export interface StreamEvent {
  name: string;
  data: string;
}

// Takes the text of a stream piece by piece, as the network cuts it.
export class EventParser {
  private rest = "";
  private name = "";
  private data: string[] = [];
  private endedByReturn = false;

  push(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    let piece = text;
    // "\r\n" may be cut in two.
    if (this.endedByReturn && piece.startsWith("\n")) piece = piece.slice(1);
    if (piece !== "") this.endedByReturn = piece.endsWith("\r");
    const lines = (this.rest + piece).split(/\r\n|\r|\n/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.line(line);
      if (event !== null) events.push(event);
    }
    return events;
  }

  private line(line: string): StreamEvent | null {
    if (line === "") {
      const event = { name: this.name || "message", data: this.data.join("\n") };
      const whole = this.data.length > 0;
      this.name = "";
      this.data = [];
      return whole ? event : null;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.name = value;
    if (field === "data") this.data.push(value);
    return null;
  }
}

export interface Listener {
  // The stream is open; events will follow.
  opened(): void;
  // Something came, an event or a beat.
  heard(): void;
  event(event: StreamEvent): void;
  // It ended or could not be opened, and is tried again in `pause` milliseconds.
  lost(problem: Problem, pause: number): void;
}

// Without a beat for so long the connection is taken for dead.
const silence = 30_000;
const mostPause = 15_000;

async function readUntilItEnds(url: string, listener: Listener, stop: AbortSignal): Promise<void> {
  const own = new AbortController();
  const end = () => own.abort();
  stop.addEventListener("abort", end);
  let watch = setTimeout(end, silence);
  try {
    const response = await fetch(url, {
      headers: headers({ Accept: "text/event-stream" }),
      cache: "no-store",
      credentials: "omit",
      signal: own.signal,
    });
    if (!response.ok || response.body === null) throw new Refusal(await problemOf(response));
    listener.opened();
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(end, silence);
      listener.heard();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        listener.event(event);
      }
    }
  } finally {
    clearTimeout(watch);
    stop.removeEventListener("abort", end);
    own.abort();
  }
}

// The pause before try number `tries` (from 1): 1 to 2 s at first, then longer, with `jitter` of 0..1
// so that the pages of one team do not come back all at once.
export function pauseBefore(tries: number, jitter: number): number {
  const base = Math.min(mostPause / 2, 1000 * 2 ** Math.min(tries - 1, 10));
  return Math.round(base * (1 + jitter));
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

// Follows a stream until the signal says stop; connects again after each end.
export async function follow(url: string, listener: Listener, stop: AbortSignal): Promise<void> {
  let tries = 0;
  while (!stop.aborted) {
    let problem: Problem;
    const begun = Date.now();
    try {
      await readUntilItEnds(url, listener, stop);
      problem = problemFrom(new Error("locusd ended the stream of events."));
    } catch (error) {
      problem =
        error instanceof Refusal
          ? error.problem
          : problemFrom(new Error("The stream of events was cut off, or nothing came for 30 s."));
    }
    if (stop.aborted) return;
    tries = Date.now() - begun > silence ? 1 : tries + 1;
    const wait = pauseBefore(tries, Math.random());
    listener.lost(problem, wait);
    await pause(wait, stop);
  }
}
