// SPDX-License-Identifier: Apache-2.0
// The token that was entered: in memory, and in sessionStorage, which ends with the tab. Never in
// an address.

const key = "locus-token";
let held: string | null = null;

export function token(): string | null {
  if (held !== null) return held;
  try {
    held = sessionStorage.getItem(key);
  } catch {
    // A browser may forbid it; then the token lives as long as the page.
  }
  return held;
}

export function setToken(value: string | null): void {
  held = value;
  try {
    if (value === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // As above.
  }
}

// Why a text cannot be a token; null: it can. A header could not carry others.
export function notAToken(text: string): string | null {
  if (text.length < 16) return "A token has at least 16 characters.";
  if (text.length > 1024) return "A token has at most 1,024 characters.";
  if (!/^[\x21-\x7e]+$/.test(text)) return "A token has no spaces, and only ASCII characters.";
  return null;
}
