# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import golden
from locus_ids import KeyRing

_GOLDEN = golden.load("order_no.json")


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "locus_ids", *words], capture_output=True, encoding="utf-8"
    )


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.keys = pathlib.Path(folder.name) / "keys"
        self.keys.write_text(
            "locus-key-ring 1\nactive 1\n1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
        )
        self.keys.chmod(0o600)
        self.assertEqual(KeyRing.load(self.keys).key(1).hex(), _GOLDEN["keys"]["1"])
        self.table = pathlib.Path(folder.name) / "table.json"
        self.table.write_text(json.dumps({
            "epoch": 1,
            "shards": [{"id": 1, "name": "örders", "endpoint": "h1"}],
            "ranges": [{"last": 65535, "shard": 1}],
        }))

    def test_values_are_shown_a_line_each(self):
        done = run("inspect", "5764748260646046997", "2G02812R8Z8PM04ZF8ZPH5M66Z")
        self.assertEqual(done.returncode, 0, done.stderr)
        order_id, number = map(json.loads, done.stdout.splitlines())
        self.assertEqual(
            order_id,
            {"kind": "order_id", "width": 64, "gene": 40961, "cohort": 5100,
             "sequence": "123456789", "order_id": "5764748260646046997"},
        )  # fmt: skip
        self.assertEqual(
            number,
            {"kind": "order_no", "width": 64, "gene": 40961, "key_version": 1,
             "order_no": "2G02812R8Z8PM04ZF8ZPH5M66Z"},
        )  # fmt: skip

    def test_keys_and_table_add_what_they_tell(self):
        done = run("inspect", "--keys", str(self.keys), "--table", str(self.table),
                   "2G02812R8Z8PM04ZF8ZPH5M66Z")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        fields = json.loads(done.stdout)
        self.assertEqual(fields["order_id"], "5764748260646046997")
        self.assertEqual(fields["shard"], "örders")

    def test_refused_value_is_told_and_the_others_shown(self):
        done = run("inspect", "--keys", str(self.keys), "--space", "refunds", "5", "x",
                   "2G02812R8Z8PM04ZF8ZPH5M66Z")  # fmt: skip
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        first, second = done.stderr.splitlines()
        self.assertTrue(first.startswith('locus_ids inspect: value 2: "x" has 1 character'), first)
        self.assertEqual(
            second,
            "locus_ids inspect: value 3: 2G02812R8Z8PM04ZF8ZPH5M66Z is not an order_no of this "
            "space",
        )

    def test_refused_file_is_told(self):
        self.keys.chmod(0o644)
        self.table.write_text("{}")
        for option, path in (("--keys", self.keys), ("--table", self.table)):
            done = run("inspect", option, str(path), "5")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(str(path), done.stderr)

    def test_wrong_usage_is_told(self):
        for words in ((), ("inspect",), ("inspect", "--key", "x", "5")):
            self.assertEqual(run(*words).returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
