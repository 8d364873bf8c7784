// SPDX-License-Identifier: Apache-2.0
// The worked example of docs/inside/formats.md, by the installed package.
import { existsSync } from "node:fs";

import { OrderId, OrderNo, OrderNoCodec, Router, loadKeyRing, loadRoutingTable } from "locus-ids";
import * as pure from "locus-ids/pure";
import * as native from "locus-ids/native";

const number = OrderNo.parse("2G02812R8Z8PM04ZF8ZPH5M66Z");
const orderId = new OrderNoCodec(loadKeyRing("keys")).decode(number);
const { name } = new Router(loadRoutingTable("table.json")).route(orderId);

const codec = await native.OrderNoCodec.open("keys");
const router = await native.Router.open("file:table.json");
const generator = await native.OrderIdGenerator.open("sqlite:orders.db", { create: true });
const made = await generator.next(17850);
// One class each, whichever way it was imported.
if (!(made instanceof OrderId) || OrderId !== pure.OrderId) throw new Error("another OrderId");
if (!codec.decode(number).equals(orderId)) throw new Error("another order ID");
if (router.route(made).name !== name || !existsSync("orders.db")) throw new Error("another shard");
console.log(`${orderId} ${name} ${native.libraryVersion()}`);
