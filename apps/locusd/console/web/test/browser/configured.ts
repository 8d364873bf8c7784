// SPDX-License-Identifier: Apache-2.0
// A locusd with a configuration: lease node and ID service in one, with tokens of three scopes.

import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  bin,
  type Locusd,
  newDirectory,
  output,
  removeDirectory,
  start,
  untilSaid,
} from "./locusd";
import { until } from "./until";

export interface Configured extends Locusd {
  directory: string;
  // By name: reader (read), publisher (read, publish), client (ids, route, leases, operate).
  tokens: { reader: string; publisher: string; client: string };
}

// Nodes of one set of strict sequences, on an SQLite file, that ask for no tokens: a thousand users in
// ten sections.
export async function startStrict(directory: string, name: string): Promise<Locusd> {
  const api = await freePort();
  const config = join(directory, `${name}.toml`);
  await writeFile(
    config,
    `roles = ["sequence-node"]
[api]
listen = "127.0.0.1:${api}"
[strict]
name = "${name}"
store = "sqlite:${join(directory, "strict.db")}"
create = true
uids = 1000
section_size = 100
`,
  );
  const process = start(bin("locusd"), ["--config", config]);
  const url = `http://127.0.0.1:${api}`;
  await until(`the node ${name}`, async () => {
    if (process.child.exitCode !== null) await untilSaid(process, /serves/);
    return (await fetch(`${url}/readyz`)).ok;
  });
  return { ...process, url };
}

// A port that nobody has at the moment.
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const at = server.address();
      server.close(() => resolve(at !== null && typeof at === "object" ? at.port : 0));
    });
  });
}

const scopes = {
  reader: ["read"],
  publisher: ["read", "publish"],
  client: ["ids", "route", "leases", "operate"],
};

export async function startConfigured(options: {
  table: string;
  moveFile?: string;
}): Promise<Configured> {
  const directory = await newDirectory();
  const tokens = { reader: "", publisher: "", client: "" };
  let sections = "";
  for (const name of Object.keys(scopes) as (keyof typeof scopes)[]) {
    tokens[name] = randomBytes(24).toString("hex");
    const file = join(directory, `${name}.token`);
    await writeFile(file, tokens[name], { mode: 0o600 });
    sections += `\n[[token]]\nname = "${name}"\nfile = "${file}"\nscopes = ${JSON.stringify(scopes[name])}\n`;
  }
  const [raft, api] = [await freePort(), await freePort()];
  const store = `sqlite:${join(directory, "ids.db")}`;
  const config = join(directory, "locusd.toml");
  const moveFile = options.moveFile === undefined ? "" : `move_file = "${options.moveFile}"\n`;
  await writeFile(
    config,
    `roles = ["cluster-node", "id-service"]
cluster = "orders"
data = "${join(directory, "node")}"
[raft]
listen = "127.0.0.1:${raft}"
[api]
listen = "127.0.0.1:${api}"
[ids]
[ids.orders]
store = "${store}"
create = true
[ids.table]
place = "${options.table}"
confirm_every = "1s"
[console]
environment = "staging"
colour = "amber"
${moveFile}${sections}`,
  );
  const process = start(bin("locusd"), ["--config", config, "--begin"]);
  const url = `http://127.0.0.1:${api}`;
  await until("the service", async () => {
    if (process.child.exitCode !== null) await untilSaid(process, /serves/);
    return (await fetch(`${url}/readyz`)).ok;
  }).catch((error) => {
    throw new Error(`${error.message}\n${process.said()}`);
  });
  return {
    ...process,
    url,
    directory,
    tokens,
    async stop(signal) {
      await process.stop(signal);
      await removeDirectory(directory);
    },
  };
}

// A command to the cluster, with the client's token.
export function leased(service: Configured, ...words: string[]): Promise<string> {
  const environment = { LOCUS_PASSWORD_FILE: join(service.directory, "client.token") };
  return output(bin("locus"), words, environment);
}
