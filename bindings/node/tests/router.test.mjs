// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { OrderNo, OrderNo64, Router, RoutingTable, geneOf } from "locus-ids";

import { Draw, seedOf } from "./draw.mjs";
import { jsonOf, orderIdNearAnEdge, ownerIdOf, validTable } from "./random_table.mjs";

const SEED = seedOf("router");

/** The ID of the shard, by a walk over the document. */
function naiveRoute(document, orderId) {
  for (const move of document.moves ?? []) {
    if (move.first <= orderId.gene && orderId.gene <= move.last) {
      if (orderId.cohort < move.permyriad) return move.to;
    }
  }
  return ownerIdOf(document, orderId.gene);
}

test("random tables route as the naive twin", () => {
  const draw = new Draw(SEED);
  let moving = 0;
  for (let round = 0; round < 50; ++round) {
    const document = validTable(draw);
    const router = new Router(new RoutingTable(jsonOf(document)));
    for (let order = 0; order < 200; ++order) {
      const orderId = orderIdNearAnEdge(draw, document);
      const expected = naiveRoute(document, orderId);
      assert.equal(router.route(orderId).id, expected);
      const routes = router.routesOfGene(orderId.gene);
      const holding = routes.filter((route) => route.holds(orderId));
      assert.deepEqual(
        holding.map((route) => route.shard.id),
        [expected],
      );
      const sizes = routes.map((route) => route.endCohort - route.firstCohort);
      assert.equal(
        sizes.reduce((sum, size) => sum + size),
        10000,
      );
      assert.deepEqual(
        sizes,
        [...sizes].sort((a, b) => b - a),
      );
      assert.deepEqual(
        sizes.map((size) => size === 0),
        routes.map((route) => route.empty),
      );
      moving += routes.length - 1;
    }
  }
  assert.ok(moving > 500, `${moving}`);
});

function routerAt(permyriad) {
  const shards = [1, 2].map((id) => ({ id, name: `s${id}`, endpoint: `h${id}` }));
  const document = { epoch: 1, shards, ranges: [{ last: 65535, shard: 1 }] };
  if (permyriad !== undefined) document.moves = [{ first: 0, last: 65535, to: 2, permyriad }];
  return new Router(new RoutingTable(JSON.stringify(document)));
}
const shown = (routes) => routes.map((each) => [each.shard.id, each.firstCohort, each.endCohort]);

test("a vnode that does not move has one route", () => {
  const router = routerAt(undefined);
  assert.deepEqual(shown(router.routesOf(17850)), [[1, 0, 10000]]);
  assert.equal(router.routeOfGene(geneOf(17850n)).target, undefined);
});

test("a moving vnode has two routes, the likelier first", () => {
  for (const [permyriad, expected] of [
    [
      0,
      [
        [1, 0, 10000],
        [2, 0, 0],
      ],
    ],
    [
      5000,
      [
        [1, 5000, 10000],
        [2, 0, 5000],
      ],
    ],
    [
      5001,
      [
        [2, 0, 5001],
        [1, 5001, 10000],
      ],
    ],
    [
      10000,
      [
        [2, 0, 10000],
        [1, 10000, 10000],
      ],
    ],
  ]) {
    assert.deepEqual(shown(routerAt(permyriad).routesOf("ann")), expected);
  }
});

test("an order_no is routed by its gene", () => {
  const router = routerAt(500);
  for (const number of [new OrderNo((7n << 111n) | (2n << 107n)), new OrderNo64(7n << 47n)]) {
    const route = router.routeOfOrderNo(number);
    assert.deepEqual(route, router.routeOfGene(7));
    assert.deepEqual([route.owner.id, route.target.id, route.permyriad], [1, 2, 500]);
  }
});
