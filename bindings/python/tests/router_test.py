# SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import secrets
import unittest

import random_table
from locus_ids import OrderNo, OrderNo64, Router, RoutingTable, gene_of

_SEED = int(os.environ.get("LOCUS_TEST_SEED") or secrets.randbits(32))


def setUpModule():
    print(f"router_test: LOCUS_TEST_SEED={_SEED}")


def naive_route(document, order_id):
    """The id of the shard, by a walk over the document."""
    for move in document.get("moves", []):
        if move["first"] <= order_id.gene <= move["last"]:
            if order_id.cohort < move["permyriad"]:
                return move["to"]
    return random_table.owner_id_of(document, order_id.gene)


class RouterTest(unittest.TestCase):
    def test_random_tables_route_as_the_naive_twin(self):
        draw = random.Random(_SEED)
        for _ in range(50):
            document = random_table.valid(draw)
            router = Router(RoutingTable(json.dumps(document)))
            for _ in range(200):
                order_id = random_table.order_id_near_an_edge(draw, document)
                expected = naive_route(document, order_id)
                self.assertEqual(router.route(order_id).id, expected)
                routes = router.routes_of_gene(order_id.gene)
                self.assertEqual(
                    [route.shard.id for route in routes if route.holds(order_id)], [expected]
                )
                sizes = [route.end_cohort - route.first_cohort for route in routes]
                self.assertEqual(sum(sizes), 10000)
                self.assertEqual(sizes, sorted(sizes, reverse=True))
                self.assertEqual([size == 0 for size in sizes], [each.empty for each in routes])

    def router(self, permyriad):
        shards = [{"id": i, "name": f"s{i}", "endpoint": f"h{i}"} for i in (1, 2)]
        document = {"epoch": 1, "shards": shards, "ranges": [{"last": 65535, "shard": 1}]}
        if permyriad is not None:
            document["moves"] = [{"first": 0, "last": 65535, "to": 2, "permyriad": permyriad}]
        return Router(RoutingTable(json.dumps(document)))

    def test_vnode_that_does_not_move_has_one_route(self):
        router = self.router(None)
        (route,) = router.routes_of(17850)
        self.assertEqual((route.shard.id, route.first_cohort, route.end_cohort), (1, 0, 10000))
        self.assertIsNone(router.route_of_gene(gene_of(17850)).target)

    def test_moving_vnode_has_two_routes_the_likelier_first(self):
        for permyriad, expected in (
            (0, [(1, 0, 10000), (2, 0, 0)]),
            (5000, [(1, 5000, 10000), (2, 0, 5000)]),
            (5001, [(2, 0, 5001), (1, 5001, 10000)]),
            (10000, [(2, 0, 10000), (1, 10000, 10000)]),
        ):
            routes = self.router(permyriad).routes_of("ann")
            self.assertEqual(
                [(each.shard.id, each.first_cohort, each.end_cohort) for each in routes], expected
            )

    def test_order_no_is_routed_by_its_gene(self):
        router = self.router(500)
        for number in (OrderNo(7 << 111 | 2 << 107), OrderNo64(7 << 47)):
            route = router.route_of_order_no(number)
            self.assertEqual(route, router.route_of_gene(7))
            self.assertEqual((route.owner.id, route.target.id, route.permyriad), (1, 2, 500))


if __name__ == "__main__":
    unittest.main()
