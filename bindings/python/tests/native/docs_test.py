# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the documentation that use locus_ids.native."""

import importlib.util

import support

_spec = importlib.util.spec_from_file_location(
    "examples_test", support.ROOT / "bindings" / "python" / "tests" / "docs_test.py"
)
_examples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_examples)
DocsTest = _examples.DocsTest
