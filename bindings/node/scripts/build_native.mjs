// SPDX-License-Identifier: Apache-2.0
// Compiles the native code of locus-ids for this machine, dist/native/<platform>-<arch>.node, and
// links it against liblocus. Needs a C++20 compiler, the headers of Node-API, and those of liblocus (on
// Debian: g++, liblocus-dev); fetches nothing.
// usage: node build_native.mjs [--include FOLDER] [--lib FOLDER]
//        the headers and the library of locus; by default those that pkg-config names
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: { include: { type: "string" }, lib: { type: "string" } },
});

function fail(message) {
  console.error(`build_native: ${message}`);
  process.exit(1);
}

/** The folder of node_api.h. */
function nodeHeaders() {
  const folders = [
    join(root, "node_modules/node-api-headers/include"),
    join(dirname(dirname(process.execPath)), "include/node"),
    "/usr/include/nodejs/src",
  ];
  const folder = folders.find((each) => existsSync(join(each, "node_api.h")));
  return folder ?? fail(`node_api.h is in none of ${folders.join(", ")}`);
}

function pkgConfig(option) {
  try {
    const flags = execFileSync("pkg-config", [option, "locus-c"], { encoding: "utf8" });
    return flags.split(/\s+/).filter((flag) => flag !== "");
  } catch {
    return fail("pkg-config knows no locus-c: install liblocus-dev, or name --include and --lib");
  }
}

const sources = readdirSync(join(root, "native")).filter((name) => name.endsWith(".cc"));
const output = join(root, "dist/native", `${process.platform}-${process.arch}.node`);
const compiler = process.env.CXX ?? "g++";
mkdirSync(dirname(output), { recursive: true });
try {
  execFileSync(
    compiler,
    [
      ...["-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"],
      ...["-Wall", "-Wextra", "-DNAPI_VERSION=8", "-Wl,--as-needed"],
      ...(process.env.CXXFLAGS ?? "").split(/\s+/).filter((flag) => flag !== ""),
      `-I${nodeHeaders()}`,
      ...(values.include ? [`-I${values.include}`] : pkgConfig("--cflags")),
      ...sources.map((name) => join(root, "native", name)),
      ...(values.lib ? [`-L${values.lib}`, "-llocus"] : pkgConfig("--libs")),
      ...["-o", output],
    ],
    { stdio: "inherit" },
  );
} catch (error) {
  fail(`${compiler}: ${error.code === "ENOENT" ? "there is no such compiler" : "failed"}`);
}
console.log(output);
