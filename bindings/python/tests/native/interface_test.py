# SPDX-License-Identifier: Apache-2.0
"""How the native library is found, and that the package knows its interface."""

import os
import pickle
import re
import unittest

import support
from locus_ids import native
from locus_ids.native import errors
from locus_ids.native._interface import CDEF


def declarations(header):
    """What a header declares, without comments, directives and layout."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S).replace("\\\n", " ")
    lines = [
        line
        for line in text.split("\n")
        if not line.startswith("#") or re.fullmatch(r"#define LOCUS_\w+ \d+\s*", line)
    ]
    text = " ".join(lines).replace("LOCUS_C_API", " ").replace('extern "C" {', " ")
    return " ".join(text.split()).removesuffix(" }")


class InterfaceTest(support.FolderTest):
    def test_interface_is_that_of_the_header(self):
        header = (support.ROOT / "include" / "locus" / "locus_c.h").read_text(encoding="utf-8")
        self.assertEqual(declarations(CDEF), declarations(header))

    def test_each_code_has_a_class(self):
        header = (support.ROOT / "include" / "locus" / "locus_c.h").read_text(encoding="utf-8")
        codes = re.findall(r"^  LOCUS_(\w+) = (\d+)", header, flags=re.M)
        self.assertEqual(len(codes), 17)
        for name, number in codes[1:]:
            error = errors.error_of(int(number), "why")
            self.assertEqual((error.code, error.code_name), (int(number), name))
            self.assertEqual(type(error).__name__, name.title().replace("_", "") + "Error")
            self.assertIs(getattr(native, type(error).__name__), type(error))
            self.assertEqual((error.message, str(error)), ("why", "why"))
            again = pickle.loads(pickle.dumps(error))  # as multiprocessing hands them on
            self.assertEqual((type(again), str(again)), (type(error), "why"))
        self.assertIsInstance(errors.error_of(99, "?"), native.UnknownError)
        self.assertTrue(issubclass(native.InvalidArgumentError, ValueError))
        self.assertTrue(issubclass(native.DeadlineExceededError, TimeoutError))

    def import_error(self, program="import locus_ids.native", **variables):
        environment = {key: value for key, value in os.environ.items() if key != "LOCUS_LIBRARY"}
        process = self.start(
            "import locus_ids\n"  # which does without
            f"try:\n    {program}\nexcept ImportError as error:\n    print(error)",
            env={**environment, **variables},
        )
        out, err = process.communicate(timeout=support.LONG)
        self.assertEqual((process.returncode, err), (0, ""))
        return out

    def test_missing_library_is_told_with_what_to_install(self):
        said = self.import_error(LOCUS_LIBRARY="/nowhere/liblocus.so.0")
        self.assertIn("/nowhere/liblocus.so.0 (LOCUS_LIBRARY names it)", said)
        self.assertIn("Debian package liblocus0", said)
        # Where a liblocus is installed, this one finds it.
        said = self.import_error(
            "from locus_ids.native import _library; _library._NAME = 'liblocus.so.none'; "
            "_library._load()",
            LOCUS_LIBRARY="",
            LD_PRELOAD=os.environ["LOCUS_LIBRARY"],  # by its soname
        )
        self.assertIn("liblocus.so.none (looked for in the folders of the dynamic linker", said)
        self.assertIn("LOCUS_LIBRARY", said)

    def test_missing_cffi_is_told(self):
        said = self.import_error("import sys; sys.modules['cffi'] = None; import locus_ids.native")
        self.assertIn("needs the package cffi", said)
        self.assertIn("python3-cffi", said)

    def test_another_library_is_refused(self):
        said = self.import_error(LOCUS_LIBRARY="libc.so.6")
        self.assertIn("libc.so.6 is not the library that this locus_ids was made for", said)

    def test_version_is_that_of_the_library(self):
        self.assertRegex(native.library_version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
