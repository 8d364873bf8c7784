# SPDX-License-Identifier: Apache-2.0
"""Genes, order IDs, order_nos and routes: golden vectors, and 10,000 random values beside the pure
package. LOCUS_TEST_SEED repeats a run."""

import base64
import json
import os
import random
import secrets
import unittest

import support
import golden
import random_table
import locus_ids
from locus_ids import KeyRing, OrderId, OrderNo, RoutingTable, native
from locus_ids.native._ids import order_id_of, words_of
from locus_ids.native._library import call, ffi, lib

_SEED = int(os.environ.get("LOCUS_TEST_SEED") or secrets.randbits(32))
_COUNT = 10000
_GOLDEN = golden.load("order_no.json")


def setUpModule():
    print(f"values_test: LOCUS_TEST_SEED={_SEED}")


def native_text(order_id):
    text = ffi.new("char[]", lib.LOCUS_ORDER_ID_TEXT_BYTES)
    call(lib.locus_order_id_text, ffi.new("locus_order_id *", words_of(order_id)), text)
    return ffi.string(text).decode()


def native_parse(text):
    words = ffi.new("locus_order_id *")
    octets = text.encode("utf-8")
    call(lib.locus_order_id_parse, octets, len(octets), words)
    return order_id_of(words)


def native_bytes(octets):
    words = ffi.new("locus_order_id *")
    call(lib.locus_order_id_from_bytes, octets, len(octets), words)
    return order_id_of(words)


class ValuesTest(support.FolderTest):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(f"{_SEED} {self.id().rpartition('.')[2]}")

    def order_id(self):
        return OrderId(self.draw.getrandbits(16), self.draw.getrandbits(self.draw.randrange(57)))

    def codec(self, space="orders", active=1, keys=None):
        keys = keys or {int(v): bytes.fromhex(key) for v, key in _GOLDEN["keys"].items()}
        path = self.folder / "keys"
        lines = [f"{version} {base64.b64encode(key).decode()}" for version, key in keys.items()]
        path.write_text("\n".join(["locus-key-ring 1", f"active {active}", *lines, ""]))
        path.chmod(0o600)
        codec = native.OrderNoCodec(path, space)
        self.addCleanup(codec.close)
        return codec, locus_ids.OrderNoCodec(KeyRing.load(path), space)

    def test_golden_genes(self):
        for line in golden.load("gene.json"):
            key = int(line["key"]) if line["type"] == "uint64" else line["key"]
            self.assertEqual(native.gene_of(key), line["gene"])

    def test_golden_order_ids(self):
        vectors = golden.load("order_id.json")
        self.assertEqual(len(vectors["valid"]), 77)
        for line in vectors["valid"]:
            order_id = native_bytes(bytes.fromhex(line["hex"]))
            self.assertEqual(order_id, OrderId(line["gene"], int(line["sequence"])))
            self.assertEqual(order_id.to_bytes().hex(), line["hex"])
            self.assertEqual(native_text(order_id), line.get("decimal", line["hex"]))
        self.assertEqual(len(vectors["invalid"]), 15)
        for line in vectors["invalid"]:
            with self.assertRaises(native.InvalidArgumentError):
                native_bytes(bytes.fromhex(line["hex"]))
        for line in vectors["invalid_decimal"]:
            with self.assertRaises(native.InvalidArgumentError):
                native_parse(line["text"])

    def test_golden_order_nos(self):
        self.assertEqual(len(_GOLDEN["valid"]), 85)
        for line in _GOLDEN["valid"]:
            codec, _ = self.codec(line["space"], line["key_version"])
            order_id = OrderId.from_bytes(bytes.fromhex(line["order_id"]))
            number = OrderNo.parse(line["siv"]["text"])
            self.assertEqual(codec.encode(order_id), number)
            self.assertEqual(codec.decode(number), order_id)
            codec.close()
        codec, _ = self.codec()
        refused = 0
        for line in _GOLDEN["invalid"]:
            try:
                number = OrderNo.parse(line["hex"])
            except ValueError:
                continue  # has no such type in Python
            refused += 1
            with self.assertRaises(native.InvalidArgumentError):
                codec.decode(number)
        self.assertGreater(refused, 20)

    def test_random_genes_are_those_of_the_pure_package(self):
        for _ in range(_COUNT):
            number = self.draw.getrandbits(self.draw.randrange(65))
            self.assertEqual(native.gene_of(number), locus_ids.gene_of(number))
            text = self.draw.randbytes(self.draw.randrange(70))
            self.assertEqual(native.gene_of(text), locus_ids.gene_of(text))
        for key in (-1, -(2**63), 2**64 - 1, "Grüße", "", b""):
            self.assertEqual(native.gene_of(key), locus_ids.gene_of(key))
        for key in (2**64, -(2**63) - 1, "\ud800"):
            with self.assertRaises(ValueError):
                native.gene_of(key)
        for key in (True, 1.0, None, bytearray(b"a")):
            with self.assertRaises(TypeError):
                native.gene_of(key)

    def test_random_order_ids_are_those_of_the_pure_package(self):
        for _ in range(_COUNT):
            order_id = self.order_id()
            self.assertEqual(native_text(order_id), str(order_id))
            self.assertEqual(native_parse(str(order_id)), order_id)
            self.assertEqual(native_bytes(order_id.to_bytes()), order_id)

    def test_64_bit_numbers_are_those_of_the_pure_package(self):
        codec, pure = self.codec("orders", 5, {5: secrets.token_bytes(32), 7: secrets.token_bytes(32)})
        self.assertEqual(codec.active, 5)
        for _ in range(1000):
            order_id = OrderId(self.draw.getrandbits(16), self.draw.getrandbits(47))
            version = self.draw.choice((5, 7))
            number = codec.encode_ff1(order_id, version)
            self.assertEqual(number, pure.encode_ff1(order_id, version))
            self.assertEqual(codec.decode_ff1(number, version), order_id)
        with self.assertRaises(native.InvalidArgumentError):
            codec.encode_ff1(OrderId(1, 2**47), 5)
        with self.assertRaises(native.NotFoundError):
            codec.encode_ff1(OrderId(1, 2), 6)
        with self.assertRaises(ValueError):
            codec.encode_ff1(OrderId(1, 2), 128)
        with self.assertRaises(TypeError):
            codec.decode_ff1(5, 5)

    def test_random_order_nos_are_those_of_the_pure_package(self):
        keys = {version: self.draw.randbytes(32) for version in (0, 5, 127)}
        ids = [self.order_id() for _ in range(_COUNT)]
        for active, some in zip(keys, (ids[:5000], ids[5000:9000], ids[9000:])):
            codec, pure = self.codec("s-1", active, keys)
            for order_id, number in zip(some, codec.encode_batch(some)):
                self.assertEqual(pure.encode(order_id), number)
                self.assertEqual(codec.decode(number), order_id)
                changed = number.value ^ 1 << self.draw.randrange(107)
                with self.assertRaises(native.InvalidArgumentError):
                    codec.decode(OrderNo(changed))
        self.assertEqual(codec.encode_batch([]), [])
        with self.assertRaises(TypeError):
            codec.decode("2G02812R8Z8PM04ZF8ZPH5M66Z")
        with self.assertRaises(TypeError):
            codec.encode(5)

    def test_codec_takes_private_files_only(self):
        self.codec()
        (self.folder / "keys").chmod(0o644)
        with self.assertRaisesRegex(native.FailedPreconditionError, "permissions 644"):
            native.OrderNoCodec(self.folder / "keys")
        with self.assertRaises(native.NotFoundError):
            native.OrderNoCodec(self.folder / "none")

    def test_random_routes_are_those_of_the_pure_package(self):
        path = self.folder / "table.json"
        checked = 0
        for _ in range(20):
            document = random_table.valid(self.draw)
            path.write_text(json.dumps(document))
            pure = locus_ids.Router(RoutingTable(path.read_bytes()))
            with native.Router(f"file:{path}") as router:
                self.assertEqual(router.epoch, document["epoch"])
                for _ in range(_COUNT // 20):
                    order_id = random_table.order_id_near_an_edge(self.draw, document)
                    shard, expected = router.route(order_id), pure.route(order_id)
                    self.assertEqual(
                        (shard.id, shard.name, shard.endpoint),
                        (expected.id, expected.name, expected.endpoint),
                    )
                    routes = [
                        (each.shard.id, each.first_cohort, each.end_cohort, each.empty)
                        for each in router.routes_of_gene(order_id.gene)
                    ]
                    self.assertEqual(
                        routes,
                        [
                            (each.shard.id, each.first_cohort, each.end_cohort, each.empty)
                            for each in pure.routes_of_gene(order_id.gene)
                        ],
                    )
                    checked += 1
        self.assertEqual(checked, _COUNT)

    def test_router_follows_its_place(self):
        path = self.folder / "table.json"

        def publish(epoch, endpoint):
            shards = [{"id": 1, "name": "a", "endpoint": endpoint}]
            document = {"epoch": epoch, "shards": shards, "ranges": [{"last": 65535, "shard": 1}]}
            (self.folder / "new").write_text(json.dumps(document))
            (self.folder / "new").rename(path)

        publish(1, "mysql://one/orders")
        with native.Router(f"file:{path}", last_good_file=self.folder / "good") as router:
            self.assertEqual(router.routes_of("ann")[0].shard.endpoint, "mysql://one/orders")
            with self.assertRaisesRegex(native.DeadlineExceededError, "^after 0.2 s: epoch 2 was"):
                router.refresh(2, 0.2)
            publish(2, "mysql://two/orders")
            router.refresh(2, support.LONG)
            self.assertEqual(router.route(OrderId(1, 2)).endpoint, "mysql://two/orders")
            number = OrderNo(7 << 111 | 2 << 107)
            self.assertEqual(router.routes_of_order_no(number), router.routes_of_gene(7))
            self.assertEqual(router.epoch, 2)
        path.unlink()
        with native.Router(f"file:{path}", last_good_file=self.folder / "good") as router:
            self.assertEqual(router.epoch, 2)
        with self.assertRaises(native.NotFoundError):
            native.Router(f"file:{path}", open_timeout=0.01)

    def test_uuids_rise(self):
        made = [native.uuid_v7() for _ in range(1000)]
        self.assertEqual(sorted(set(made)), made)
        self.assertEqual({(len(each), each[6] >> 4) for each in made}, {(16, 7)})


if __name__ == "__main__":
    unittest.main()
