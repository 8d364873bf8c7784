# SPDX-License-Identifier: Apache-2.0
import copy
import json
import pathlib
import tempfile
import unittest

from locus_ids import RoutingTable, Shard, VnodeMove, VnodeRange

_DOCUMENT = {
    "epoch": 12,
    "table_id": "9F1C02D7B5A64E38",
    "shards": [
        {"id": 2, "name": "orders-b", "endpoint": "mysql://127.0.0.1:3307/orders"},
        {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1:3306/orders",
         "weight": 50, "labels": {"tier": "hot"}},
    ],
    "ranges": [{"last": 16383, "shard": 1}, {"last": 60000, "shard": 2}],
    "moves": [
        {"first": 16384, "last": 16384, "to": 1, "permyriad": 0},
        {"first": 0, "last": 255, "to": 2, "permyriad": 500, "step": 7},
    ],
}  # fmt: skip


def text_with(pointer, value):
    """The document as text, with another value at this JSON Pointer."""
    document = copy.deepcopy(_DOCUMENT)
    *parents, last = pointer.split("/")[1:]
    place = document
    for name in parents:
        place = place[int(name) if isinstance(place, list) else name]
    place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(document)


class RoutingTableTest(unittest.TestCase):
    def refused(self, text):
        with self.assertRaises(ValueError) as refused:
            RoutingTable(text)
        return str(refused.exception)

    def test_document_is_read(self):
        table = RoutingTable(json.dumps(_DOCUMENT))
        self.assertEqual(table.epoch, 12)
        self.assertEqual(table.table_id, "9f1c02d7b5a64e38")
        one, two = table.shards
        self.assertEqual(
            one, Shard(1, "orders-a", "mysql://127.0.0.1:3306/orders", 50, {"tier": "hot"})
        )
        self.assertEqual(two, Shard(2, "orders-b", "mysql://127.0.0.1:3307/orders"))
        self.assertEqual(two.weight, 100)
        self.assertEqual(table.ranges, (VnodeRange(16383, 1), VnodeRange(60000, 2)))
        self.assertEqual(
            table.moves, (VnodeMove(0, 255, 2, 500, 7), VnodeMove(16384, 16384, 1, 0, 0))
        )

    def test_owner_is_by_the_ceiling_map_which_wraps(self):
        table = RoutingTable(json.dumps(_DOCUMENT))
        for gene, owner in ((0, 1), (16383, 1), (16384, 2), (60000, 2), (60001, 1), (65535, 1)):
            self.assertEqual(table.owner_of(gene).id, owner, gene)
        for gene, to in ((0, 2), (255, 2), (256, None), (16383, None), (16384, 1), (16385, None)):
            move = table.move_of(gene)
            self.assertEqual(move and move.to, to, gene)

    def test_gene_out_of_range_is_refused(self):
        table = RoutingTable(json.dumps(_DOCUMENT))
        for gene in (-1, 65536):
            for call in (table.owner_of, table.move_of):
                with self.assertRaisesRegex(ValueError, f"^gene {gene} is not in "):
                    call(gene)

    def test_table_in_another_order_is_equal(self):
        other = copy.deepcopy(_DOCUMENT)
        other["shards"].reverse()
        other["moves"].reverse()
        other["table_id"] = other["table_id"].lower()
        table = RoutingTable(json.dumps(_DOCUMENT))
        self.assertEqual(RoutingTable(json.dumps(other)), table)
        self.assertEqual(hash(RoutingTable(json.dumps(other))), hash(table))
        self.assertNotEqual(RoutingTable(text_with("/epoch", 13)), table)

    def test_broken_value_is_refused_at_its_pointer(self):
        for pointer, value, reason in (
            ("/epoch", 0, "0 is not from 1 to 9223372036854775807"),
            ("/epoch", -1, "-1 is not an integer from 0 to 18446744073709551615"),
            ("/epoch", True, "it is not an integer from 0 to 18446744073709551615"),
            ("/table_id", "", "it is empty"),
            ("/shards", [], "there is no shard"),
            ("/shards", {}, "it is of type object, not array"),
            ("/shards/0/id", 1.0, "1.0 is not an integer from 0 to 4294967295"),
            ("/shards/1/id", 2, "2 is also the id of /shards/0"),
            ("/shards/1/name", "orders-b", '"orders-b" is also the name of /shards/0'),
            ("/shards/0/name", "é" * 33, "66 bytes; at most 64"),
            ("/shards/0/name", "a\x85", "it has control characters, or is not UTF-8"),
            ("/shards/0/endpoint", "a b", "it contains a space"),
            ("/shards/0/weight", 1000001, "1000001 is not from 0 to 1000000"),
            ("/shards/1/labels/tier", None, "it is of type null, not string"),
            ("/shards/1/x", 1, "unknown member"),
            ("/ranges", [], "there is no range"),
            ("/ranges/1/last", 16383, "16383 is not above 16383, the one before it"),
            ("/ranges/1/last", 65536, "65536 is not an integer from 0 to 65535"),
            ("/ranges/0/shard", 3, "no shard has id 3"),
            ("/moves/1/first", 256, "256 is above last, 255"),
            ("/moves/1/to", 3, "no shard has id 3"),
            ("/moves/1/to", 1, "shard 1 already owns vnode 0"),
            ("/moves/0/permyriad", 10001, "10001 is not from 0 to 10000"),
            ("/moves/0/step", 2**63, f"{2**63} is not from 0 to {2**63 - 1}"),
        ):
            with self.subTest(pointer=pointer, value=value):
                self.assertEqual(
                    self.refused(text_with(pointer, value)), f"{pointer}: {reason}"
                )

    def test_vnode_in_two_moves_is_refused(self):
        second = {"first": 255, "last": 300, "to": 2, "permyriad": 0}
        moves = [_DOCUMENT["moves"][1], second]
        self.assertEqual(
            self.refused(text_with("/moves", moves)), "/moves/1: vnode 255 is also in /moves/0"
        )

    def test_endpoint_is_never_shown(self):
        for endpoint in ("mysql://u:hidden@h", "h?password=hidden", "h?PWD=hidden", "hid den"):
            message = self.refused(text_with("/shards/0/endpoint", endpoint))
            self.assertTrue(message.startswith("/shards/0/endpoint: it contains "), message)
            self.assertNotIn("hid", message)
        message = self.refused(text_with("/shards/0/endpoint", _DOCUMENT["shards"][1]["endpoint"]))
        self.assertEqual(
            message,
            "/shards/1/endpoint: /shards/0 has the same endpoint; two shards are two databases",
        )

    def test_missing_member_is_refused_at_its_parent(self):
        document = copy.deepcopy(_DOCUMENT)
        del document["ranges"][1]["shard"]
        self.assertEqual(self.refused(json.dumps(document)), '/ranges/1: member "shard" is missing')
        self.assertEqual(self.refused("{}"), 'member "epoch" is missing')

    def test_member_that_occurs_twice_is_refused(self):
        message = self.refused('{"epoch": 1, "epoch": 1}')
        self.assertEqual(message, "/epoch: the member occurs twice")

    def test_what_python_reads_as_json_but_is_none_is_refused(self):
        good = json.dumps(_DOCUMENT)
        for text in (
            good.replace("12", "NaN"),
            good.replace("12", "Infinity"),
            good.replace("12", "-0"),
            good.replace("orders-a", "\\ud800"),
            good.replace("orders-a", "\ud800"),
            good.replace("orders-a", "\x1f"),
            "\ufeff\ufeff" + good,
            good + "\0",
            good + "{}",
            "[" * 100000,
            "",
        ):
            with self.subTest(text=text[:200]):
                self.refused(text)
        RoutingTable("\ufeff" + good + "\r\n\t ")
        RoutingTable(b"\xef\xbb\xbf" + good.encode())

    def test_syntax_error_is_told_by_line_column_and_byte(self):
        message = self.refused('{\n"é": 1,\n "x" 2}')
        self.assertTrue(message.startswith("line 3, column 6 (byte 17): "), message)

    def test_more_than_the_limits_is_refused(self):
        labels = {f"l{place}": "" for place in range(65537)}
        self.assertEqual(
            self.refused(text_with("/shards/0/labels", labels)),
            "/shards/0/labels: more than 65536 members",
        )
        shards = [
            {"id": place + 1, "name": f"{place}", "endpoint": f"{place:02048}"}
            for place in range(4096)
        ]
        self.assertEqual(
            self.refused(text_with("/shards", shards)),
            "/shards: names, endpoints and labels of all shards have more than 8388608 bytes "
            "together",
        )
        self.assertEqual(
            self.refused(" " * ((32 << 20) + 1)), "it is 33554433 bytes long; at most 33554432"
        )

    def test_file_is_read_and_named_where_it_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.json"
            path.write_text(json.dumps(_DOCUMENT))
            self.assertEqual(RoutingTable.load(path).epoch, 12)
            path.write_text("{}")
            with self.assertRaises(ValueError) as refused:
                RoutingTable.load(str(path))
            self.assertEqual(str(refused.exception), f'{path}: member "epoch" is missing')


if __name__ == "__main__":
    unittest.main()
