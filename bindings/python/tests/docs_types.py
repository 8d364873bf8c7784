# SPDX-License-Identifier: Apache-2.0
"""Checks the types of the examples of the documentation: docs_types.py MYPY OPTION..."""

import pathlib
import subprocess
import sys
import tempfile

from docs_test import examples

with tempfile.TemporaryDirectory() as name:
    files = []
    for document, example in examples():
        place = f"{document.replace('/', '_').replace('.', '_')}_{len(files)}.py"
        files.append(pathlib.Path(name) / place)
        files[-1].write_text(example, encoding="utf-8")
    assert len(files) == 10, files
    sys.exit(subprocess.run([*sys.argv[1:], "--scripts-are-modules", *map(str, files)]).returncode)
