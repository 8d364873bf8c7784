// SPDX-License-Identifier: Apache-2.0
// Runs the examples of the documentation, and checks their types as programs of Node see them: with
// its own resolution of modules and with that of bundlers.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const EXAMPLES = { "README.md": 1, "docs/use/node.md": 8, "bindings/node/README.md": 2 };

test("examples run", () => {
  const folder = mkdtempSync(join(tmpdir(), "locus-node-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    const installed = fileURLToPath(new URL("..", import.meta.url));
    symlinkSync(installed, join(folder, "node_modules/locus-ids"));
    const shards = ["a", "b"].map((name, place) => {
      return {
        id: place + 1,
        name: `orders-${name}`,
        endpoint: `mysql://127.0.0.${place + 1}/orders`,
      };
    });
    const ranges = [{ last: 65535, shard: 1 }];
    const moves = [{ first: 0, last: 65535, to: 2, permyriad: 500 }];
    writeFileSync(join(folder, "table.json"), JSON.stringify({ epoch: 1, shards, ranges, moves }));
    const keys = "locus-key-ring 1\nactive 1\n1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
    writeFileSync(join(folder, "keys"), keys, { mode: 0o600 });
    execFileSync(process.env.LOCUS_COMMAND, ["lease", "create", "sqlite:leases.db", "--first-ever"], {
      cwd: folder,
    });
    const rule = ["bills", "--store", "sqlite:orders.db", "--pattern", "{shop:3}-{seq:6}"];
    execFileSync(process.env.LOCUS_COMMAND, ["seq", "type", "create", ...rule], { cwd: folder });
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
    const typed = [];
    for (const [document, expected] of Object.entries(EXAMPLES)) {
      const text = readFileSync(new URL(`../../../${document}`, import.meta.url), "utf8");
      const examples = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]);
      assert.equal(examples.length, expected, document);
      for (const [place, example] of examples.entries()) {
        typed.push(join(folder, `${typed.length}.mts`));
        writeFileSync(typed.at(-1), example);
        const program = join(folder, `example-${place}.mjs`);
        writeFileSync(program, ts.transpileModule(example, { compilerOptions }).outputText);
        const { status, stdout, stderr } = spawnSync(process.execPath, [program], { cwd: folder });
        const told = `${document}, example ${place + 1}: ${stdout}${stderr}`;
        assert.equal(status, 0, told);
        assert.equal(stderr.toString(), "", told);
        assert.ok(!stdout.includes("not an order of ours"), told);
      }
    }
    for (const modules of [["NodeNext"], ["ESNext", "Bundler"]]) {
      const [module, moduleResolution = module] = modules;
      const conditions = moduleResolution === "Bundler" ? ["--customConditions", "node"] : [];
      const options = ["--module", module, "--moduleResolution", moduleResolution, ...conditions];
      const { status, stdout } = spawnSync(process.execPath, [
        ...[join(installed, "node_modules/typescript/bin/tsc"), "--strict", "--noEmit", ...options],
        ...["--target", "ES2022", "--lib", "ES2022", "--preserveSymlinks", "--types", "node"],
        ...["--typeRoots", join(installed, "node_modules/@types"), ...typed],
      ]);
      assert.equal(status, 0, `${options}: ${stdout}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
