// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

// Real servers and a real browser: one file after the other, and with patience, for machines that
// are busy.
export default defineConfig({
  test: {
    include: ["test/browser/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    retry: 1,
  },
});
