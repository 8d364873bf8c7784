# SPDX-License-Identifier: Apache-2.0
import unittest

import golden
from locus_ids import gene_of, gene_of_text, gene_of_uint64, parse_uint64_key
from locus_ids.hashes import murmur3_low64, xxh64


class GeneTest(unittest.TestCase):
    def test_golden_vectors_hold(self):
        vectors = golden.load("gene.json")
        self.assertEqual(len(vectors), 99)
        for line in vectors:
            with self.subTest(line=line):
                if line["type"] == "uint64":
                    key = parse_uint64_key(line["key"])
                    octets = key.to_bytes(8, "little")
                else:
                    key = line["key"]
                    octets = key.encode("utf-8")
                self.assertEqual(f"{xxh64(octets):016x}", line["xxh64"])
                self.assertEqual(f"{murmur3_low64(octets):016x}", line["murmur3_low64"])
                self.assertEqual(gene_of(key), line["gene"])

    def test_text_and_its_bytes_are_one_key(self):
        self.assertEqual(gene_of("Grüße"), gene_of("Grüße".encode("utf-8")))

    def test_text_and_number_are_two_keys(self):
        self.assertNotEqual(gene_of("123"), gene_of(123))

    def test_negative_key_is_its_twos_complement(self):
        self.assertEqual(gene_of_uint64(-1), gene_of_uint64(2**64 - 1))
        self.assertEqual(gene_of_uint64(-(2**63)), gene_of_uint64(2**63))

    def test_key_out_of_range_is_refused(self):
        for key in (2**64, -(2**63) - 1):
            with self.assertRaisesRegex(ValueError, f"^buyer key {key} is not in "):
                gene_of(key)

    def test_key_of_another_type_is_refused(self):
        for key in (True, 1.0, None, bytearray(b"a")):
            with self.assertRaises(TypeError):
                gene_of(key)
        with self.assertRaises(TypeError):
            gene_of_text(17)

    def test_lone_surrogate_is_refused(self):
        with self.assertRaises(ValueError):
            gene_of("\ud800")

    def test_uint64_that_is_not_canonical_is_refused(self):
        for text in ("", "-0", "007", "+1", " 1", "1 ", "1.0", "1_0", "１", str(2**64)):
            with self.subTest(text=text), self.assertRaises(ValueError):
                parse_uint64_key(text)
        self.assertEqual(parse_uint64_key(str(2**64 - 1)), 2**64 - 1)


if __name__ == "__main__":
    unittest.main()
