# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the documentation: with LOCUS_LIBRARY those of locus_ids.native, without it
the others."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[3]


def examples():
    """Pairs of a document and a program in it."""
    for document in ("README.md", "docs/use/python.md", "bindings/python/README.md"):
        text = (_ROOT / document).read_text(encoding="utf-8")
        for example in re.findall(r"(?ms)^```python\n(.*?)^```$", text):
            yield document, example


class DocsTest(unittest.TestCase):
    def test_examples_run(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shard = {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1/orders"}
            other = {"id": 2, "name": "orders-b", "endpoint": "mysql://127.0.0.2/orders"}
            move = {"first": 0, "last": 65535, "to": 2, "permyriad": 500}
            (folder / "table.json").write_text(json.dumps({
                "epoch": 1,
                "shards": [shard, other],
                "ranges": [{"last": 65535, "shard": 1}],
                "moves": [move],
            }))
            (folder / "keys").write_text(
                "locus-key-ring 1\nactive 1\n1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
            )
            (folder / "keys").chmod(0o600)
            native = "LOCUS_LIBRARY" in os.environ
            if native:
                for made in (
                    "lease create sqlite:leases.db --first-ever",
                    "seq type create bills --store sqlite:orders.db --pattern {shop:3}-{seq:6}",
                ):
                    command = [os.environ["LOCUS_COMMAND"], *made.split()]
                    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            count = 0
            for document, example in examples():
                if ("import native" in example) != native:
                    continue
                count += 1
                done = subprocess.run(
                    [sys.executable, "-c", example],
                    cwd=folder,
                    capture_output=True,
                    encoding="utf-8",
                )
                with self.subTest(document=document, example=example):
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertNotIn("not an order of ours", done.stdout)
            self.assertEqual(count, 4 if native else 6)


if __name__ == "__main__":
    unittest.main()
