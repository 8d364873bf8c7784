# SPDX-License-Identifier: Apache-2.0
"""Compares the package with the command `locus`, which LOCUS_COMMAND names, over random values.

LOCUS_TEST_SEED repeats a run.
"""

import base64
import json
import os
import pathlib
import random
import secrets
import subprocess
import tempfile
import unittest

import random_table
from locus_ids import (
    KeyRing,
    OrderId,
    OrderNo,
    OrderNo64,
    OrderNoCodec,
    Router,
    RoutingTable,
    gene_of_text,
    gene_of_uint64,
    inspect,
    parse_uint64_key,
)

_SEED = int(os.environ.get("LOCUS_TEST_SEED") or secrets.randbits(32))
_COUNT = 10000
_VERSIONS = (0, 5, 64, 127)
_RETIRED = 9


def setUpModule():
    print(f"command_test: LOCUS_TEST_SEED={_SEED}")
    if not os.environ.get("LOCUS_COMMAND"):
        raise AssertionError("LOCUS_COMMAND does not name the command locus")


def run(*words, stdin=b""):
    """The command's exit code, stdout and stderr, as bytes. Variables cannot add options."""
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [os.environ["LOCUS_COMMAND"], *map(str, words)],
        input=stdin,
        capture_output=True,
        env=environment,
    )
    return done.returncode, done.stdout, done.stderr


class CommandTest(unittest.TestCase):
    def setUp(self):
        # The same for one test alone and for all: each has a sequence of its own.
        self.draw = random.Random(f"{_SEED} {self.id().rpartition('.')[2]}")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bits(self, most):
        """A number of at most so many bits, of each length alike; often next to a power of two."""
        size = self.draw.randrange(most + 1)
        if self.draw.randrange(4):
            return self.draw.getrandbits(size)
        return min(max((1 << size) + self.draw.randrange(-2, 2), 0), (1 << most) - 1)

    def order_id(self):
        return OrderId(self.bits(16), self.bits(56))

    def key_ring_text(self):
        keys = {version: self.draw.getrandbits(256).to_bytes(32, "big") for version in _VERSIONS}
        lines = [f"{version} {base64.b64encode(key).decode()}" for version, key in keys.items()]
        lines.append(f"{_RETIRED} retired")
        self.draw.shuffle(lines)
        active = self.draw.choice(_VERSIONS)
        return "\n".join(["locus-key-ring 1", f"active {active}", *lines, ""])

    def codec(self):
        """A key ring file, the options that name it and a space, and the codec of both."""
        path = self.folder / "keys"
        path.write_text(self.key_ring_text())
        path.chmod(0o600)
        letters = "abcdefghijklmnopqrstuvwxyz0123456789_-"
        # A name that begins with '-' would be an option.
        space = "s" + "".join(self.draw.choices(letters, k=self.draw.randrange(64)))
        return ("--keys", path, "--space", space), OrderNoCodec(KeyRing.load(path), space)

    def answers(self, words, values):
        """What the command says of each value: its answer, or a ValueError with its message."""
        octets = b"".join(value + b"\n" for value in values)
        code, out, err = run(*words, stdin=octets)
        lines = out.split(b"\n")
        self.assertEqual(lines.pop(), b"", err)
        self.assertEqual(len(lines), len(values), err)
        answers = list(lines)
        start = f"locus {words[0]}: line ".encode()
        for message in err.splitlines():
            self.assertTrue(message.startswith(start), message)
            number, _, reason = message[len(start):].partition(b": ")
            self.assertEqual(answers[int(number) - 1], b"")
            answers[int(number) - 1] = ValueError(reason.decode("utf-8"))
        self.assertEqual(code, 3 if err else 0, err)
        return answers

    def compare(self, words, values, ours, messages=lambda message: True):
        """Both answer each value alike. Messages are compared where messages(ours) says so."""
        refused = 0
        for value, theirs in zip(values, self.answers(words, values)):
            with self.subTest(words=words, value=value):
                try:
                    mine = ours(value.decode("utf-8", "surrogateescape"))
                except ValueError as error:
                    refused += 1
                    self.assertIsInstance(theirs, ValueError, f"{error}; locus says {theirs}")
                    if messages(str(error)):
                        self.assertEqual(str(error), str(theirs))
                    continue
                self.assertEqual(mine.encode("utf-8", "surrogateescape"), theirs)
        return refused

    def test_genes_of_uint64_keys(self):
        keys = [str(self.bits(64)).encode() for _ in range(_COUNT)]
        keys += [self.near_miss(key) for key in keys[:1000]]
        refused = self.compare(
            ("gene", "--type", "uint64"),
            keys,
            lambda key: f"{key}\t{gene_of_uint64(parse_uint64_key(key))}",
        )
        self.assertGreater(refused, 100)

    def test_genes_of_text_keys(self):
        keys = [
            self.draw.getrandbits(8 * size).to_bytes(size, "big").replace(b"\n", b"")
            for size in (self.draw.randrange(101) for _ in range(_COUNT))
        ]
        answers = self.answers(("gene", "--type", "text"), keys)
        for key, answer in zip(keys, answers):
            self.assertEqual(answer, b"%s\t%d" % (key, gene_of_text(key)))

    def near_miss(self, text):
        """`text` with a character changed, inserted, or removed: often it is no value any more."""
        at = self.draw.randrange(len(text) + 1)
        put = bytes([self.draw.choice(b"0123456789abcdefABCDEFilouILOUgxyzGXYZ+.,_\"\\\x7f\xe9\0")])
        return text[:at] + self.draw.choice((put, b"")) + text[at + self.draw.randrange(2):]

    def order_id_texts(self):
        texts = [str(self.order_id()).encode() for _ in range(_COUNT // 2)]
        texts += [text.upper() for text in texts[:500]]
        texts += [str(self.bits(64)).encode() for _ in range(1000)]
        while len(texts) < _COUNT:
            texts.append(self.near_miss(self.draw.choice(texts)))
        return texts

    def test_order_ids_to_order_nos(self):
        options, codec = self.codec()
        texts = self.order_id_texts()
        refused = self.compare(
            ("encode", *options), texts, lambda text: str(codec.encode(OrderId.parse(text)))
        )
        self.assertGreater(refused, 1000)
        for version in (*_VERSIONS, _RETIRED):
            for scheme, encode in (
                ("siv", codec.encode),
                ("ff1", codec.encode_ff1),
                ("ctr64", codec.encode_ctr64_reusing_keystream),
            ):
                self.compare(
                    ("encode", *options, "--scheme", scheme, "--key-version", version)
                    + (("--allow-keystream-reuse",) if scheme == "ctr64" else ()),
                    self.draw.sample(texts, 400),
                    lambda text: str(encode(OrderId.parse(text), version)),
                )

    def order_no_text(self, codec):
        number = codec.encode(self.order_id(), self.draw.choice(_VERSIONS))
        change = self.draw.randrange(8)
        if change == 0:
            # A bit of the tag or the ciphertext: a well-formed number that is not genuine.
            number = OrderNo(number.value ^ 1 << self.draw.randrange(100))
        elif change == 1:
            return f"{number.value ^ 1 << self.draw.randrange(128):032x}".encode()
        text = self.draw.choice((str(number), number.to_hex()))
        text = self.draw.choice((text, text.lower(), text.upper()))
        if len(text) == 26:
            text = text.replace("1", self.draw.choice("1IiLl"))
            text = text.replace("0", self.draw.choice("0Oo"))
        octets = text.encode()
        return self.near_miss(octets) if change == 2 else octets

    def test_order_nos_to_order_ids(self):
        options, codec = self.codec()
        texts = [self.order_no_text(codec) for _ in range(_COUNT)]
        refused = self.compare(
            ("decode", *options),
            texts,
            lambda text: str(codec.decode(OrderNo.parse(text))),
            # The command adds what to check, and where the length is wrong, what was meant.
            lambda message: "of this space" not in message and "digits are needed" not in message,
        )
        self.assertTrue(1000 < refused < _COUNT // 2, refused)

    def test_order_nos_of_64_bits_to_order_ids(self):
        options, codec = self.codec()
        texts = [str(self.bits(63)).encode() for _ in range(1000)]
        texts += [self.near_miss(text) for text in texts[:100]]
        for version in (*_VERSIONS, _RETIRED):
            for scheme, decode in (("ff1", codec.decode_ff1), ("ctr64", codec.decode_ctr64)):
                self.compare(
                    ("decode", *options, "--scheme", scheme, "--key-version", version),
                    texts,
                    lambda text: str(decode(OrderNo64.parse(text), version)),
                )

    def test_shards_by_random_tables(self):
        options, codec = self.codec()
        moving = 0
        for _ in range(50):
            document = random_table.valid(self.draw)
            path = self.folder / "table.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            router = Router(RoutingTable.load(path))
            texts = []
            for _ in range(_COUNT // 50):
                order_id = random_table.order_id_near_an_edge(self.draw, document)
                moving += router.route_of_gene(order_id.gene).target is not None
                texts.append(str(self.draw.choice((order_id, codec.encode(order_id)))).encode())
            for words, known in (((), None), (options, codec)):
                self.compare(
                    ("inspect", "--table", path, *words),
                    texts,
                    lambda text: json.dumps(
                        inspect(text, known, router), ensure_ascii=False, separators=(",", ":")
                    ),
                )
        self.assertGreater(moving, _COUNT // 20)

    def test_values_to_inspect(self):
        options, codec = self.codec()
        texts = self.order_id_texts() + [self.order_no_text(codec) for _ in range(_COUNT)]
        self.draw.shuffle(texts)
        for words, known in (((), None), (options, codec)):
            self.compare(
                ("inspect", *words),
                texts[:_COUNT],
                lambda text: json.dumps(inspect(text, known), separators=(",", ":")),
                lambda message: "of this space" not in message and " characters: " not in message,
            )

    def test_tables_are_refused_alike(self):
        refused = 0
        path = self.folder / "table.json"
        for _ in range(300):
            text = random_table.changed(self.draw, random_table.valid(self.draw))
            is_json = self.draw.randrange(4) > 0
            octets = text.encode() if is_json else random_table.garbled(self.draw, text)
            path.write_bytes(octets)
            code, out, err = run("table", "check", path)
            with self.subTest(document=octets[:4000]):
                try:
                    table = RoutingTable(octets)
                except ValueError as error:
                    refused += 1
                    self.assertEqual(code, 1, f"{error}; locus says {out} {err}")
                    # Parsers word syntax errors in their own way.
                    if is_json and not str(error).startswith("line "):
                        said = err.decode("utf-8").partition("table.json: ")[2].rstrip("\n")
                        self.assertIn(str(error), said)
                    continue
                self.assertEqual(code, 0, f"locus says {err}")
                expected = f"ok epoch={table.epoch} shards={len(table.shards)}"
                self.assertTrue(out.decode().startswith(expected), out)
        self.assertTrue(100 < refused < 295, refused)

    def test_key_rings_are_refused_alike(self):
        refused = 0
        path = self.folder / "keys"
        for _ in range(200):
            octets = self.key_ring_text().encode()
            for _ in range(self.draw.randrange(3)):
                octets = self.near_miss(octets)
            if self.draw.randrange(4) == 0:
                lines = octets.split(b"\n")
                at = self.draw.randrange(len(lines))
                lines[at:at + 1] = [lines[at]] * self.draw.choice((0, 2))
                octets = b"\n".join(lines)
            path.write_bytes(octets)
            path.chmod(self.draw.choice((0o600, 0o600, 0o600, 0o600, 0o400, 0o640)))
            code, out, err = run("keys", "list", path)
            with self.subTest(key_ring=octets):
                try:
                    ring = KeyRing.load(path)
                except ValueError as error:
                    refused += 1
                    self.assertEqual(code, 1, f"{error}; locus says {out} {err}")
                    self.assertEqual(err.decode("utf-8"), f"locus keys list: {error}\n")
                    continue
                states = {version: "readable" for version in ring.versions}
                states.update({version: "retired" for version in ring.retired})
                states[ring.active] = "active"
                expected = "".join(f"{each}\t{states[each]}\n" for each in sorted(states))
                self.assertEqual((code, out.decode()), (0, expected), err)
        self.assertTrue(50 < refused < 195, refused)


if __name__ == "__main__":
    unittest.main()
