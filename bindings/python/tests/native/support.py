# SPDX-License-Identifier: Apache-2.0
"""What the tests of the native package share: a folder, a Redis server, programs of their own."""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # golden, random_table

#: Nothing takes as long on a machine that works.
LONG = 120.0


class FolderTest(unittest.TestCase):
    maxDiff = None

    """Each test has a folder of its own, and a store URI in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store = f"sqlite:{self.folder / 'store.db'}"

    def make_store(self):
        """Makes the file and its space."""
        from locus_ids.native import OrderIdGenerator

        OrderIdGenerator(self.store, create=True).close()

    def start(self, program, *arguments, **options):
        """A process that runs this text in Python."""
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=self.folder,
            **options,
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def run_python(self, program, *arguments, **options):
        """What it prints, once it has ended well."""
        process = self.start(program, *arguments, **options)
        out, err = process.communicate(timeout=LONG)
        self.assertEqual((process.returncode, err), (0, ""), out)
        return out


def wait_until(condition):
    """Waits for the condition. AssertionError: it does not come."""
    end = time.monotonic() + LONG
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the condition does not come")
        time.sleep(0.01)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class RedisServer:
    """A Redis of our own, which ends with the test."""

    def __init__(self, test):
        for _ in range(5):  # another process may take the port first
            self.port = free_port()
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                 "--dir", str(test.folder), "--requirepass", "not-in-any-uri"],
                stdout=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            )
            test.addCleanup(test.end, self.process)
            wait_until(lambda: self.process.poll() is not None or self._answers())
            if self.process.poll() is None:
                break
        self.uri = f"redis://127.0.0.1:{self.port}"

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"-NOAUTH")
        except OSError:
            return False
