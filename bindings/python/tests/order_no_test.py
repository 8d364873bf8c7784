# SPDX-License-Identifier: Apache-2.0
import pickle
import random
import unittest

import golden
from locus_ids import KeyRing, OrderId, OrderNo, OrderNo64, OrderNoCodec
from locus_ids.aes import Aes256
from locus_ids.order_no_codec import derive_key

_GOLDEN = golden.load("order_no.json")
_KEYS = {int(version): bytes.fromhex(key) for version, key in _GOLDEN["keys"].items()}


def golden_codec(space="orders", active=1):
    return OrderNoCodec(KeyRing(active, _KEYS), space)


class AesTest(unittest.TestCase):
    def test_example_of_fips_197_holds(self):
        cipher = Aes256(bytes(range(32))).encrypt(0x00112233445566778899AABBCCDDEEFF)
        self.assertEqual(cipher, 0x8EA2B7CA516745BFEAFC49904B496089)

    def test_key_of_another_length_is_refused(self):
        for size in (0, 16, 24, 31, 33):
            with self.assertRaisesRegex(ValueError, f"^a key of {size} bytes; 32 are needed$"):
                Aes256(bytes(size))


class OrderNoTest(unittest.TestCase):
    def test_golden_numbers_hold_without_keys(self):
        for line in _GOLDEN["valid"]:
            with self.subTest(line=line):
                order_id = OrderId.from_bytes(bytes.fromhex(line["order_id"]))
                number = OrderNo.parse(line["siv"]["text"])
                self.assertEqual(OrderNo.parse(line["siv"]["hex"]), number)
                self.assertEqual(OrderNo.from_bytes(number.to_bytes()), number)
                self.assertEqual(OrderNo(number.value), number)
                self.assertEqual(str(number), line["siv"]["text"])
                self.assertEqual(number.to_hex(), line["siv"]["hex"])
                self.assertEqual(number.gene, order_id.gene)
                self.assertEqual(number.key_version, line["key_version"])
                self.assertEqual(number.width, order_id.width)

    def test_golden_texts_of_one_number_are_equal(self):
        self.assertEqual(len(_GOLDEN["same_number"]), 6)
        self.assertEqual(len({OrderNo.parse(text) for text in _GOLDEN["same_number"]}), 1)

    def test_golden_invalid_text_is_refused(self):
        self.assertEqual(len(_GOLDEN["invalid_text"]), 14)
        for line in _GOLDEN["invalid_text"]:
            with self.subTest(line=line), self.assertRaises(ValueError):
                OrderNo.parse(line["text"])

    def test_wrong_fixed_bits_are_refused_with_the_value_named(self):
        for value in (1 << 127 | 2 << 107, 15 << 107, 4 << 107, 0):
            with self.assertRaisesRegex(ValueError, f"^{value:032x} is not an order_no: "):
                OrderNo(value)

    def test_bytes_of_another_length_are_refused(self):
        for size in (0, 8, 15, 17):
            with self.assertRaisesRegex(ValueError, f"^a value of {size} bytes "):
                OrderNo.from_bytes(bytes(size))

    def test_pickled_number_is_the_same(self):
        number = OrderNo.parse(_GOLDEN["same_number"][0])
        self.assertEqual(pickle.loads(pickle.dumps(number)), number)


class OrderNo64Test(unittest.TestCase):
    def test_number_is_read_both_ways(self):
        number = OrderNo64.parse("5764811777033357117")
        self.assertEqual(number.gene, 40961)
        self.assertEqual(OrderNo64(number.to_int64()), number)
        self.assertEqual(str(number), "5764811777033357117")

    def test_anything_else_is_refused(self):
        for text in ("", "-1", "01", "+1", "1 ", "0x1", str(2**63)):
            with self.subTest(text=text), self.assertRaises(ValueError):
                OrderNo64.parse(text)
        for value in (-1, 2**63):
            with self.subTest(value=value), self.assertRaises(ValueError):
                OrderNo64(value)


class OrderNoCodecTest(unittest.TestCase):
    def test_worked_example_holds_at_every_step(self):
        worked = _GOLDEN["worked"]
        for purpose in ("tag", "ctr", "ff1", "ctr64"):
            key = derive_key(_KEYS[1], worked["space"], purpose)
            self.assertEqual(key.hex(), worked["k_" + purpose])
        header = (worked["gene"] << 11 | 2 << 7 | 1) << 100
        t = Aes256(bytes.fromhex(worked["k_tag"])).encrypt(header | int(worked["sequence"]))
        self.assertEqual(f"{t:032x}", worked["T"])
        keystream = Aes256(bytes.fromhex(worked["k_ctr"])).encrypt(int(worked["iv"], 16))
        self.assertEqual(f"{keystream:032x}", worked["ks"])

    def test_golden_numbers_hold_both_ways_in_every_scheme(self):
        self.assertEqual(len(_GOLDEN["valid"]), 85)
        codecs = {}
        narrow = 0
        for line in _GOLDEN["valid"]:
            with self.subTest(line=line):
                codec = codecs.setdefault(line["space"], golden_codec(line["space"]))
                version = line["key_version"]
                order_id = OrderId.from_bytes(bytes.fromhex(line["order_id"]))
                number = codec.encode(order_id, version)
                self.assertEqual(str(number), line["siv"]["text"])
                self.assertEqual(codec.decode(number), order_id)
                if order_id.is_wide:
                    continue
                ff1 = codec.encode_ff1(order_id, version)
                self.assertEqual(str(ff1), line["ff1"])
                self.assertEqual(codec.decode_ff1(ff1, version), order_id)
                ctr64 = codec.encode_ctr64_reusing_keystream(order_id, version)
                self.assertEqual(str(ctr64), line["ctr64"])
                self.assertEqual(codec.decode_ctr64(ctr64, version), order_id)
                narrow += 1
        self.assertEqual(narrow, 70)

    def test_golden_invalid_numbers_are_refused_alike(self):
        codec = golden_codec()
        self.assertEqual(len(_GOLDEN["invalid"]), 34)
        for line in _GOLDEN["invalid"]:
            with self.subTest(line=line):
                try:
                    number = OrderNo.from_bytes(bytes.fromhex(line["hex"]))
                except ValueError:
                    continue  # by its fixed bits, without a key
                with self.assertRaises(ValueError) as refused:
                    codec.decode(number)
                self.assertEqual(
                    str(refused.exception), f"{number} is not an order_no of this space"
                )

    def test_any_single_bit_flip_is_refused(self):
        codec = golden_codec()
        draw = random.Random(20240901)
        for _ in range(20):
            sequence = draw.getrandbits(draw.randrange(57))
            value = codec.encode(OrderId(draw.getrandbits(16), sequence)).value
            for bit in range(128):
                with self.assertRaises(ValueError):
                    codec.decode(OrderNo(value ^ 1 << bit))

    def test_other_space_or_key_is_refused(self):
        number = golden_codec().encode(OrderId(7, 99))
        for codec in (golden_codec("refunds"), OrderNoCodec(KeyRing(1, {1: b"x" * 32}))):
            with self.assertRaises(ValueError):
                codec.decode(number)

    def test_version_without_a_key_is_refused(self):
        number = golden_codec().encode(OrderId(7, 99))
        codec = OrderNoCodec(KeyRing(2, {1: None, 2: _KEYS[2]}))
        with self.assertRaisesRegex(ValueError, "is not an order_no of this space$"):
            codec.decode(number)
        for version in (1, 3):
            message = f"^the key ring has no key of version {version}$"
            with self.assertRaisesRegex(ValueError, message):
                codec.encode(OrderId(7, 99), version)
            with self.assertRaisesRegex(ValueError, message):
                codec.decode_ff1(OrderNo64(5), version)
            with self.assertRaisesRegex(ValueError, message):
                codec.decode_ctr64(OrderNo64(5), version)
        with self.assertRaisesRegex(ValueError, r"^key version 128 is not in 0\.\.127$"):
            codec.encode(OrderId(7, 99), 128)

    def test_wide_id_in_64_bits_is_refused(self):
        codec = golden_codec()
        wide = OrderId(7, 2**47)
        for encode in (codec.encode_ff1, codec.encode_ctr64_reusing_keystream):
            with self.assertRaisesRegex(ValueError, "is wide and does not fit"):
                encode(wide, 1)

    def test_name_that_is_no_space_is_refused(self):
        for name in ("", "A", "a b", "a\n", "ä", "a" * 65):
            with self.subTest(name=name), self.assertRaises(ValueError):
                golden_codec(name)
        golden_codec("a" * 64)


if __name__ == "__main__":
    unittest.main()
