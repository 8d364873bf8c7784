# SPDX-License-Identifier: Apache-2.0
"""Reads the golden vectors, the files of tests/golden."""

import json
import pathlib

_FOLDER = pathlib.Path(__file__).resolve().parents[3] / "tests" / "golden"


def load(name):
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"))
