// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const bundled = ["preact", "@preact/signals", "@preact/signals-core", "uplot", "@picocss/pico"];
const folder = fileURLToPath(new URL("./node_modules", import.meta.url));

// What a copy of the page has to say of the packages in it, as one comment.
export function notice(): string {
  const parts = bundled.map((name) => {
    const where = join(folder, name);
    const { version, license } = JSON.parse(readFileSync(join(where, "package.json"), "utf8"));
    if (license !== "MIT") throw new Error(`${name} is under ${license}: see LICENSES.md`);
    const file = readdirSync(where).find((entry) => entry.startsWith("LICENSE"));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    const text = readFileSync(join(where, file), "utf8").trim();
    return `${name} ${version}\n\n${text}`;
  });
  const all = `The console of locusd (Apache-2.0) contains:\n\n${parts.join("\n\n")}`;
  const safe = all.replaceAll("\r", "").replaceAll("*/", "* /");
  return `/*!\n${safe.replace(/^/gm, " * ").replace(/ +$/gm, "")}\n */`;
}
