// SPDX-License-Identifier: Apache-2.0
// What the workers of native_thread.test.mjs do, as workerData.task says.
import { parentPort, workerData } from "node:worker_threads";

import { LeasedSnowflake, OrderIdGenerator, Sequence } from "locus-ids/native";

const { store, leases, task } = workerData;
if (task === "wait") {
  await OrderIdGenerator.open(store);
} else if (task === "make") {
  const generator = await OrderIdGenerator.open(store);
  const ids = [];
  for (let count = 0; count < 3000; ++count) {
    ids.push(`${await generator.next(count % 7, { timeoutMs: 120_000 })}`);
  }
  parentPort.postMessage(ids);
} else {
  const generator = await OrderIdGenerator.open(store, { create: true });
  const sequence = await Sequence.open(store, "invoices");
  const snowflake = await LeasedSnowflake.open(leases, { firstWorker: 7, lastWorker: 7 });
  await snowflake.next();
  parentPort.postMessage("open");
  if (task === "exit") process.exit(9);
  if (task === "throw") throw new Error("thrown");
  if (task === "idle") setInterval(() => {}, 1000);
  while (task === "spin") generator.tryNext(5);
  while (task === "busy") {
    await Promise.all([
      generator.warm(),
      sequence.nextBlock(10),
      snowflake.next(),
      snowflake.next(),
    ]);
  }
}
