# SPDX-License-Identifier: Apache-2.0
"""Forks, multiprocessing, signals, and interpreters that end with open objects."""

import os
import signal
import sqlite3
import subprocess
import unittest

import support
from locus_ids import native

_OPEN = """
import json, os, signal, sys, threading, time
from locus_ids import OrderId, native

store, leases, table, keys = sys.argv[1:5]
ids = native.OrderIdGenerator(store)
numbers = native.Sequence(store, "n")
snowflake = native.Snowflake(leases)
router = native.Router("file:" + table)
codec = native.OrderNoCodec(keys)
first = ids.next(1, 120)
one = numbers.next(120)
snowflake.next()
"""

_IN_A_CHILD = _OPEN + """
def refused(call, *arguments):
    try:
        call(*arguments)
    except native.FailedPreconditionError:
        return
    raise AssertionError(f"{call} works in a child")

def in_the_child():
    refused(ids.next, 1, 120)
    refused(ids.try_next, 1)
    refused(ids.next_batch, [1, 2], 120)
    refused(ids.warm, 120)
    refused(numbers.next, 120)
    refused(numbers.next_block, 5, 120)
    refused(snowflake.next)
    refused(snowflake.next_batch, 5)
    refused(router.refresh, 2, 120)
    assert router.route(first).name == "a"
    assert codec.decode(codec.encode(first)) == first
    assert len(native.uuid_v7()) == 16
    refused(native.OrderIdGenerator, store)  # SQLite's locks are the parent's
    with native.OrderIdGenerator(sys.argv[5], password_file=sys.argv[6]) as own:
        return own.next(1, 120)
"""

_FORK = _IN_A_CHILD + """
pipe = os.pipe()
child = os.fork()
if child == 0:
    made = in_the_child()
    os.write(pipe[1], str(made).encode())
    if sys.argv[7] == "closes":
        for each in ids, numbers, snowflake, router, codec:
            each.close()
    sys.exit(0)  # with all that ends an interpreter
_, status = os.waitpid(child, 0)
assert status == 0, status
made = os.read(pipe[0], 100).decode()
assert int(made) >> 47 == first.gene
assert first < ids.next(1, 120) and numbers.next(120) == one + 1 and snowflake.next()
for each in ids, numbers, snowflake, router, codec:
    each.close()
print("done")
"""

_MULTIPROCESSING = """
import multiprocessing, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: a fork beside threads
from locus_ids import native

ids = None

def begin(store, password_file):
    global ids
    ids = native.OrderIdGenerator(store, password_file=password_file)

def make(count):
    return [str(each) for each in ids.next_batch([1] * count, 120)]

def late():
    native.OrderIdGenerator("sqlite:none.db")

if __name__ == "__main__":
    store, password_file, start = sys.argv[1:4]
    parent = native.OrderIdGenerator(store, password_file=password_file)
    made = [str(each) for each in parent.next_batch([1] * 100, 120)]
    context = multiprocessing.get_context(start)
    with context.Pool(3, begin, (store, password_file)) as pool:
        for part in pool.map(make, [500] * 10, chunksize=1):
            made += part
        try:
            pool.apply(late)
        except native.NotFoundError as error:
            assert error.code == 5
        pool.close()
        pool.join()
    parent.close()
    assert len(made) == len(set(made)) == 5100
    print("done")
"""

_INTERRUPTED = """
import signal, sys, threading, time
from locus_ids import native

ids = native.OrderIdGenerator(sys.argv[1])
print("opened", flush=True)
sys.stdin.readline()
try:
    print("waits", flush=True)
    ids.next(1, timeout=None)
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
assert ids.next(1, 120)
ids.close()
"""

# Opening asks a server that takes connections and never answers.
_INTERRUPTED_OPENING = """
import socket, sys, threading, time
from locus_ids import native

listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]

def tell():
    global connection
    connection, _ = listener.accept()
    print("waits", flush=True)

threading.Thread(target=tell, daemon=True).start()
try:
    native.OrderIdGenerator(f"redis://127.0.0.1:{port}")
except KeyboardInterrupt:
    print("interrupted", flush=True)
connection.close()
listener.close()
"""


class ProcessesTest(support.FolderTest):
    def setUp(self):
        super().setUp()
        self.make_store()
        self.leases = f"sqlite:{self.folder / 'leases.db'}"
        self.table = self.folder / "table.json"
        self.keys = self.folder / "keys"
        command = os.environ["LOCUS_COMMAND"]
        for words in (("lease", "create", self.leases, "--first-ever"), ("keys", "new", self.keys)):
            subprocess.run([command, *words], check=True, capture_output=True)
        made = subprocess.run(
            [command, "table", "new", "--shard", "a=mysql://a/orders"],
            check=True,
            capture_output=True,
        )
        self.table.write_bytes(made.stdout)
        self.places = (self.store, self.leases, self.table, self.keys)

    def redis(self):
        """The URI of a server with a store, and the file of its password."""
        server = support.RedisServer(self)
        password = self.folder / "password"
        password.write_text("not-in-any-uri\n")
        password.chmod(0o600)
        native.OrderIdGenerator(server.uri, password_file=password, create=True).close()
        return server.uri, password

    def test_forked_child_is_refused_and_ends(self):
        places = self.redis()
        for how in ("closes", "leaves open"):
            # The warning of Python 3.12: a fork of a process with threads.
            said = self.run_python(
                "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n" + _FORK,
                *self.places,
                *places,
                how,
            )
            self.assertEqual(said, "done\n", how)

    def test_multiprocessing_makes_no_id_twice(self):
        program = self.folder / "program.py"  # spawn imports it
        program.write_text(_MULTIPROCESSING)
        redis = self.redis()
        for start, places in (("fork", redis), ("spawn", (self.store, "")), ("forkserver", redis)):
            with self.subTest(start=start):
                said = self.run_python(
                    "import subprocess, sys\n"
                    f"subprocess.run([sys.executable, {str(program)!r}, *sys.argv[1:]], check=True)",
                    *places,
                    start,
                )
                self.assertEqual(said, "done\n")

    def test_interpreter_ends_with_open_objects(self):
        for _ in range(3):
            self.run_python(_OPEN, *self.places)
            # Also where a thread of it waits for ever: it may still see the router closed.
            self.run_python(
                _OPEN
                + "def wait():\n"
                "    try:\n        router.refresh(99, None)\n"
                "    except native.FailedPreconditionError:\n        pass\n"
                "threading.Thread(target=wait, daemon=True).start()\n"
                "raise SystemExit",
                *self.places,
            )
        # What was open was given back: a counter without a gap.
        said = self.run_python(
            "import sys\nfrom locus_ids import native\n"
            "with native.Sequence(sys.argv[1], 'n') as numbers:\n    print(numbers.next(120))",
            self.store,
        )
        self.assertEqual(said, "7\n")

    def test_interpreter_that_is_killed_by_its_own_exception_ends(self):
        process = self.start(_OPEN + "raise RuntimeError('of ours')", *self.places)
        _, err = process.communicate(timeout=support.LONG)
        self.assertEqual(process.returncode, 1)
        self.assertIn("of ours", err)

    def interrupt(self, process):
        """Sends it SIGINT once it waits. How it goes on."""
        self.assertEqual(process.stdout.readline(), "waits\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), "interrupted\n")

    def test_interrupt_ends_a_wait(self):
        other = sqlite3.connect(self.folder / "store.db", isolation_level=None)
        self.addCleanup(other.close)
        process = self.start(_INTERRUPTED, self.store, stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "opened\n")
        other.execute("BEGIN EXCLUSIVE")
        process.stdin.write("\n")
        process.stdin.flush()
        self.interrupt(process)
        other.close()
        out, err = process.communicate("go on\n", timeout=support.LONG)
        self.assertEqual((process.returncode, out, err), (0, "", ""))

    def test_interrupt_ends_an_opening(self):
        process = self.start(_INTERRUPTED_OPENING, stdin=subprocess.PIPE)
        self.interrupt(process)
        out, err = process.communicate("\n", timeout=support.LONG)
        self.assertEqual((process.returncode, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
