// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people. All functions are pure.

const thin = "\u202f";
// Between a number and its unit.
const gap = "\u00a0";

// 1234567 as "1 234 567", with narrow spaces that do not break.
export function thousands(value: number): string {
  const [whole = "", part] = Math.abs(value).toString().split(".");
  const grouped = whole.includes("e") ? whole : whole.replace(/\B(?=(\d{3})+$)/g, thin);
  return (value < 0 ? "−" : "") + grouped + (part === undefined ? "" : `.${part}`);
}

// Of texts of digits, as sequences are: they do not fit into numbers.
export function thousandsOfText(digits: string): string {
  return /^\d+$/.test(digits) ? digits.replace(/\B(?=(\d{3})+$)/g, thin) : digits;
}

export function percent(fraction: number, digits = 1): string {
  return `${(100 * fraction).toFixed(digits)}${gap}%`;
}

export function ofPermyriad(permyriad: number): string {
  return `${(permyriad / 100).toFixed(2)}${gap}%`;
}

export function rate(perSecond: number): string {
  if (perSecond >= 1e6) return `${(perSecond / 1e6).toFixed(2)}${gap}M/s`;
  if (perSecond >= 1e4) return `${(perSecond / 1e3).toFixed(1)}${gap}k/s`;
  if (perSecond >= 100 || Number.isInteger(perSecond))
    return `${thousands(Math.round(perSecond))}/s`;
  return `${perSecond.toFixed(1)}/s`;
}

// "850 ms", "12 s", "4 min 10 s", "3 h 5 min", "12 d 3 h": at most two units.
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "without end";
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 1000) return `${ms < 10 && ms % 1 !== 0 ? ms.toFixed(1) : Math.round(ms)}${gap}ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toString()}${gap}s`;
  const seconds = Math.floor(ms / 1000);
  const steps: [number, string, number, string][] = [
    [86_400, "d", 3600, "h"],
    [3600, "h", 60, "min"],
    [60, "min", 1, "s"],
  ];
  for (const [unit, name, below, belowName] of steps) {
    if (seconds < unit) continue;
    const rest = Math.floor((seconds % unit) / below);
    return `${thousands(Math.floor(seconds / unit))}${gap}${name}${rest > 0 ? ` ${rest}${gap}${belowName}` : ""}`;
  }
  return `${seconds}${gap}s`;
}

// For axes: one unit, few characters.
export function shortDuration(ms: number): string {
  const size = Math.abs(ms);
  if (size === 0) return "0";
  if (size < 1000) return `${Math.round(ms)}${gap}ms`;
  const [unit, name]: [number, string] =
    size < 120_000 ? [1000, "s"] : size < 7_200_000 ? [60_000, "min"] : [3_600_000, "h"];
  return `${Math.round((ms / unit) * 10) / 10}${gap}${name}`;
}

export function ago(ms: number): string {
  return ms < 1000
    ? "just now"
    : `${duration(ms < 60_000 ? Math.floor(ms / 1000) * 1000 : ms)} ago`;
}

// Of what is shown: in whole seconds.
export function age(ms: number): string {
  return ms < 1000 ? `less than 1${gap}s` : duration(Math.floor(ms / 1000) * 1000);
}

// What a service says in lower case, as a sentence of a page.
export function asSentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?:]$/.test(whole) ? whole : `${whole}.`;
}

const two = (value: number) => value.toString().padStart(2, "0");

// UTC, as the command prints times.
export function utc(ms: number): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return "unknown";
  const day = `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  return `${day} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())} UTC`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${thousands(number)} ${number === 1 ? one : many}`;
}

export function vnodes(first: number, last: number): string {
  return first === last ? thousands(first) : `${thousands(first)} – ${thousands(last)}`;
}
