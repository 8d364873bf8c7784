# SPDX-License-Identifier: Apache-2.0
import base64
import os
import pathlib
import stat
import tempfile
import unittest
import unittest.mock

from locus_ids import KeyRing

_KEY = bytes(range(32))
_BASE64 = base64.b64encode(_KEY).decode()
_TEXT = f"locus-key-ring 1\nactive 2\n0 retired\n2 {_BASE64}\n"


class KeyRingTextTest(unittest.TestCase):
    def test_text_of_a_file_is_read(self):
        ring = KeyRing.parse(_TEXT)
        self.assertEqual(ring.active, 2)
        self.assertEqual(ring.versions, [2])
        self.assertEqual(ring.retired, [0])
        self.assertEqual(ring.key(2), _KEY)
        for version in (0, 1):
            with self.assertRaisesRegex(ValueError, f"no key of version {version}$"):
                ring.key(version)

    def test_anything_else_is_refused_with_its_line_and_without_its_content(self):
        loose = base64.b64encode(_KEY + b"\0").decode()
        unused_bits = _BASE64[:-2] + chr(ord(_BASE64[-2]) + 1) + "="
        for line, text in (
            (1, ""),
            (1, "locus-key-ring 1"),
            (1, "\ufefflocus-key-ring 1\nactive 2\n"),
            (1, _TEXT.replace("ring 1", "ring 2")),
            (1, _TEXT.replace("\n", "\r\n")),
            (2, "locus-key-ring 1\n"),
            (2, _TEXT.replace("active 2", "active 02")),
            (2, _TEXT.replace("active 2", "active 128")),
            (2, _TEXT.replace("active 2", "active 0")),
            (2, _TEXT.replace("active 2", "active 1")),
            (3, _TEXT.replace("0 retired", "")),
            (3, _TEXT.replace("0 retired", "0  retired")),
            (3, _TEXT.replace("0 retired", "0 gone")),
            (3, _TEXT.replace("0 retired", "-0 retired")),
            (4, _TEXT.replace("0 retired", "2 retired")),
            (4, _TEXT.replace(_BASE64, loose)),
            (4, _TEXT.replace(_BASE64, unused_bits)),
            (4, _TEXT.replace(_BASE64, _BASE64[:-1])),
            (4, _TEXT[:-1]),
            (5, _TEXT + "\n"),
            (5, _TEXT + "x"),
        ):
            with self.subTest(text=text), self.assertRaises(ValueError) as refused:
                KeyRing.parse(text)
            message = str(refused.exception)
            self.assertTrue(message.startswith(f"key ring, line {line}: "), message)
            self.assertNotIn(_BASE64[:8], message)

    def test_repr_shows_no_key(self):
        self.assertEqual(repr(KeyRing.parse(_TEXT)), "KeyRing(active=2, versions=[2], retired=[0])")


class KeyRingFileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "keys"
        self.path.write_text(_TEXT)
        self.path.chmod(0o600)

    def refused(self):
        with self.assertRaises(ValueError) as refused:
            KeyRing.load(self.path)
        return str(refused.exception)

    def test_private_file_is_read(self):
        for mode in (0o600, 0o400):
            self.path.chmod(mode)
            self.assertEqual(KeyRing.load(self.path).active, 2)
            self.assertEqual(KeyRing.load(str(self.path)).active, 2)

    def test_permissions_for_group_or_others_are_refused(self):
        for mode in (0o640, 0o604, 0o610, 0o602, 0o777):
            self.path.chmod(mode)
            self.assertEqual(
                self.refused(),
                f'"{self.path}" has permissions {mode:o}; group and others must have none '
                "(chmod 600)",
            )

    def test_file_of_another_user_is_refused(self):
        owned = list(os.stat(self.path))
        owned[stat.ST_UID] = os.geteuid() + 1
        with unittest.mock.patch.object(os, "fstat", lambda _: os.stat_result(owned)):
            self.assertEqual(
                self.refused(),
                f'"{self.path}" belongs to user {os.geteuid() + 1}, who is neither root nor user '
                f"{os.geteuid()}",
            )

    def test_what_is_no_regular_file_is_refused_at_once(self):
        self.path.unlink()
        os.mkfifo(self.path, 0o600)
        self.assertEqual(self.refused(), f'"{self.path}" is not a regular file')

    def test_file_longer_than_any_ring_is_refused(self):
        self.path.write_bytes(b"x" * 8193)
        self.assertEqual(self.refused(), f'"{self.path}" is longer than 8192 bytes')

    def test_broken_file_is_refused_by_path_and_line(self):
        self.path.write_text(_TEXT + "3\n")
        self.assertTrue(self.refused().startswith(f'"{self.path}", line 5: '))

    def test_missing_file_is_an_os_error(self):
        self.path.unlink()
        with self.assertRaises(FileNotFoundError):
            KeyRing.load(self.path)


if __name__ == "__main__":
    unittest.main()
