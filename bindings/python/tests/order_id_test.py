# SPDX-License-Identifier: Apache-2.0
import pickle
import random
import unittest

import golden
from locus_ids import OrderId


class OrderIdTest(unittest.TestCase):
    def test_golden_valid_holds_both_ways(self):
        vectors = golden.load("order_id.json")["valid"]
        self.assertEqual(len(vectors), 77)
        for line in vectors:
            with self.subTest(line=line):
                order_id = OrderId(line["gene"], int(line["sequence"]))
                octets = bytes.fromhex(line["hex"])
                text = line.get("decimal", line["hex"])
                self.assertEqual(order_id.width, line["width"])
                self.assertEqual(order_id.cohort, line["cohort"])
                self.assertEqual(order_id.to_bytes(), octets)
                self.assertEqual(str(order_id), text)
                self.assertEqual(OrderId.from_bytes(octets), order_id)
                self.assertEqual(OrderId.parse(text), order_id)
                self.assertEqual(hash(OrderId.parse(text)), hash(order_id))
                if order_id.is_wide:
                    self.assertEqual(OrderId.parse(text.upper()), order_id)
                    with self.assertRaisesRegex(ValueError, text):
                        order_id.to_int64()
                else:
                    self.assertEqual(OrderId.from_int64(order_id.to_int64()), order_id)

    def test_golden_invalid_is_refused_with_the_value_named(self):
        vectors = golden.load("order_id.json")["invalid"]
        self.assertEqual(len(vectors), 15)
        for line in vectors:
            with self.subTest(line=line):
                with self.assertRaises(ValueError):
                    OrderId.from_bytes(bytes.fromhex(line["hex"]))
                if len(line["hex"]) == 32:
                    with self.assertRaisesRegex(ValueError, line["hex"]):
                        OrderId.parse(line["hex"])

    def test_golden_invalid_decimal_is_refused(self):
        vectors = golden.load("order_id.json")["invalid_decimal"]
        self.assertEqual(len(vectors), 12)
        for line in vectors:
            with self.subTest(line=line), self.assertRaises(ValueError):
                OrderId.parse(line["text"])

    def test_golden_byte_order_is_the_order_of_ids(self):
        octets = [bytes.fromhex(text) for text in golden.load("order_id.json")["in_byte_order"]]
        self.assertEqual(len(octets), 20)
        shuffled = [OrderId.from_bytes(each) for each in octets]
        random.Random(1).shuffle(shuffled)
        self.assertEqual([each.to_bytes() for each in sorted(shuffled)], octets)
        self.assertEqual(sorted(octets), octets)

    def test_parts_out_of_range_are_refused(self):
        for gene, sequence in ((-1, 0), (65536, 0), (0, -1), (0, 2**56)):
            with self.subTest(gene=gene, sequence=sequence), self.assertRaises(ValueError):
                OrderId(gene, sequence)
        for gene, sequence in ((True, 0), (0, 1.0), ("1", 0), (0, None)):
            with self.subTest(gene=gene, sequence=sequence), self.assertRaises(TypeError):
                OrderId(gene, sequence)

    def test_int64_out_of_range_is_refused(self):
        for value in (-1, 2**63, 2**64):
            with self.assertRaisesRegex(ValueError, f"^{value} is not an order ID: "):
                OrderId.from_int64(value)

    def test_pickled_id_is_the_same(self):
        order_id = OrderId(40961, 123456789)
        self.assertEqual(pickle.loads(pickle.dumps(order_id)), order_id)


if __name__ == "__main__":
    unittest.main()
