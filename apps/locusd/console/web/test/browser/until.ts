// SPDX-License-Identifier: Apache-2.0

// Milliseconds. Shorter, by the environment, for who works on the tests.
export const patience = Number(process.env.LOCUS_CONSOLE_PATIENCE ?? 120_000);

// Waits until the probe gives something, or throws what it said last. A probe that throws has not
// come true yet.
export async function until<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false>,
  within = patience,
): Promise<T> {
  const deadline = Date.now() + within;
  let said = "nothing";
  for (;;) {
    try {
      const value = await probe();
      if (value) return value;
      said = String(value);
    } catch (error) {
      said = error instanceof Error ? error.message : String(error);
    }
    if (Date.now() > deadline) throw new Error(`waited ${within} ms for ${what}; last: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
