# SPDX-License-Identifier: Apache-2.0
"""Generators, sequences and Snowflakes on real stores, with threads and processes."""

import asyncio
import gc
import os
import pathlib
import pickle
import sqlite3
import subprocess
import sys
import threading
import time
import unittest
import warnings

import support
from locus_ids import gene_of, native
from locus_ids.native._ids import order_id_of
from locus_ids.native._library import call, ffi, lib

# A process of several threads: it prints each order ID that it made.
_MAKER = """
import sys, threading
from locus_ids import native

store, password_file, threads, count = *sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
with native.OrderIdGenerator(store, password_file=password_file or None) as ids:
    made = [[] for _ in range(threads)]

    def make(mine, buyer):
        for i in range(count // 2):
            mine.append(ids.next(i % 5, timeout=120))
        mine.extend(ids.next_batch([i % 5 for i in range(count - count // 2)], timeout=120))

    running = [threading.Thread(target=make, args=(mine, i)) for i, mine in enumerate(made)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
for mine in made:
    print(*mine)
"""


class StoresTest(support.FolderTest):
    def make_ids(self, store, password_file=""):
        """Order IDs of three processes with three threads each, as text."""
        makers = [self.start(_MAKER, store, password_file, 3, 2000) for _ in range(3)]
        made = []
        for maker in makers:
            out, err = maker.communicate(timeout=support.LONG)
            self.assertEqual((maker.returncode, err), (0, ""))
            made += out.split()
        self.assertEqual(len(made), 3 * 3 * 2000)
        self.assertEqual(len(set(made)), len(made))
        self.assertEqual(
            {int(each) >> 47 for each in made}, {gene_of(buyer) for buyer in range(5)}
        )
        return made

    def test_threads_and_processes_on_sqlite_make_no_id_twice(self):
        self.make_store()
        before = self.make_ids(self.store)
        self.assertEqual(set(before) & set(self.make_ids(self.store)), set())

    def test_threads_and_processes_on_redis_make_no_id_twice(self):
        server = support.RedisServer(self)
        password = self.folder / "password"
        password.write_text("not-in-any-uri\n")
        password.chmod(0o600)
        with self.assertRaises(native.LocusError) as refused:
            native.OrderIdGenerator(server.uri, create=True, password="wrong-password")
        self.assertNotIn("wrong-password", str(refused.exception))
        native.OrderIdGenerator(server.uri, create=True, password="not-in-any-uri").close()
        self.make_ids(server.uri, str(password))
        password.chmod(0o644)
        with self.assertRaisesRegex(native.FailedPreconditionError, "permissions 644"):
            native.OrderIdGenerator(server.uri, password_file=password)
        with self.assertRaises(native.InvalidArgumentError):
            native.OrderIdGenerator(server.uri, password="a", password_file=password)

    def test_ids_at_hand_come_without_waiting(self):
        with native.OrderIdGenerator(self.store, create=True) as ids:
            support.wait_until(lambda: ids.try_next("ann") is not None)
            ids.warm(support.LONG)
            made = [ids.try_next_of_gene(gene) for gene in range(0, 65536, 256)]
            self.assertEqual([each.gene for each in made], list(range(0, 65536, 256)))
            self.assertEqual(asyncio.run(asyncio.to_thread(ids.next, "ann", support.LONG)).gene, gene_of("ann"))
            self.assertEqual(ids.next_batch([]), [])
            self.assertEqual([each.gene for each in ids.next_batch_of_genes([7, 9], support.LONG)], [7, 9])

    def test_ids_rise_within_a_process(self):
        with native.OrderIdGenerator(self.store, create=True, space="shop", horizon=1) as ids:
            made = [ids.next_of_gene(5, support.LONG) for _ in range(300)]
            made += ids.next_batch_of_genes([5] * 200_000, timeout=support.LONG)
            self.assertEqual(sorted(set(made)), made)

    def test_store_that_is_busy_ends_the_wait_in_time(self):
        self.make_store()
        with native.OrderIdGenerator(self.store) as ids:
            other = sqlite3.connect(self.folder / "store.db", isolation_level=None)
            other.execute("BEGIN EXCLUSIVE")
            begun = time.monotonic()
            with self.assertRaisesRegex(native.DeadlineExceededError, "^after 0.5 s: "):
                ids.next(1, timeout=0.5)
            with self.assertRaises(TimeoutError):
                ids.next_batch([1, 2], timeout=0.01)
            self.assertGreaterEqual(time.monotonic() - begun, 0.5)
            self.assertIsNone(ids.try_next(1))
            other.close()
            self.assertEqual(ids.next(1, timeout=None).gene, gene_of(1))

    def test_wrong_arguments_are_refused(self):
        with self.assertRaises(native.NotFoundError):
            native.OrderIdGenerator(self.store)
        for store in ("carrier-pigeon:x", "redis://user:secret-word@127.0.0.1"):
            with self.assertRaises(native.InvalidArgumentError) as refused:
                native.OrderIdGenerator(store)
            self.assertNotIn("secret-word", str(refused.exception))
        with self.assertRaisesRegex(ValueError, "^store has a NUL inside$"):
            native.OrderIdGenerator("sqlite:a\0b")
        with self.assertRaises(TypeError):
            native.OrderIdGenerator(5)
        for horizon in (0, -1, float("nan"), 1e9, float("inf")):
            with self.assertRaises(ValueError):
                native.OrderIdGenerator(self.store, create=True, horizon=horizon)
        with native.OrderIdGenerator(self.store, create=True) as ids:
            for gene in (-1, 65536):
                with self.assertRaises(ValueError):
                    ids.next_of_gene(gene)
            for timeout in (-1, float("nan")):
                with self.assertRaises(ValueError):
                    ids.next(1, timeout)
            for gene, timeout in ((1.0, 1), (True, 1), (1, "1"), (1, True)):
                with self.assertRaises(TypeError):
                    ids.next_of_gene(gene, timeout)

    def test_sequence_continues_its_counter(self):
        self.make_store()
        last = 0
        for _ in range(2):
            with native.Sequence(self.store, "invoices", increment=10, max_value=990) as numbers:
                made = [numbers.next(support.LONG) for _ in range(10)]
                block = numbers.next_block(5, support.LONG)
                made += block
            self.assertEqual(made, [last + 10 * i for i in range(1, len(made) + 1)])
            self.assertIn(len(block), range(1, 6))
            last = made[-1]
        with native.Sequence(self.store, "invoices", increment=10, max_value=990) as numbers:
            with self.assertRaises(native.OutOfRangeError):
                while True:
                    last = numbers.next(support.LONG)
        self.assertEqual(last, 990)
        for wrong in (0, -1, 1 << 63):
            with self.assertRaises(ValueError):
                native.Sequence(self.store, "invoices", increment=wrong)
        with self.assertRaises(native.InvalidArgumentError):
            native.Sequence(self.store, "")

    def make_type(self, name, *options):
        command = [os.environ["LOCUS_COMMAND"], "seq", "type", "create", name]
        subprocess.run(
            [*command, "--store", self.store, *options], check=True, capture_output=True
        )

    def test_numbers_are_written_by_their_rule(self):
        self.make_type("invoices", "--pattern", "{shop:2}-{town:A-Z;1}{seq:4}", "--step", "5")
        with native.Numbers(self.store, "invoices") as numbers:
            self.assertEqual(numbers.next(support.LONG, shop=7, town="H"), "07-H0005")
            self.assertEqual(numbers.next(support.LONG, town="H", shop="8"), "08-H0010")
            with self.assertRaisesRegex(native.InvalidArgumentError, "town"):
                numbers.next(support.LONG, shop=7)
            for wrong in (1.5, None, True):
                with self.assertRaises(TypeError):
                    numbers.next(support.LONG, shop=wrong, town="H")
            block = numbers.next_block(3, support.LONG)
            self.assertEqual((block.numbers.start, block.numbers.step), (15, 5))
            self.assertIn(len(block.numbers), range(1, 4))
            self.assertEqual(block.group, "")
        with native.Numbers(self.store, "invoices", "north") as numbers:
            self.assertEqual(numbers.next(support.LONG, shop=1, town="H"), "01-H0005")
        with self.assertRaises(native.FailedPreconditionError):
            numbers.next()
        with self.assertRaises(native.NotFoundError):
            native.Numbers(self.store, "nobody")
        with self.assertRaises(native.InvalidArgumentError):
            native.Numbers(self.store, "invoices", "k" * 401)

    def test_numbers_of_a_period_name_their_group(self):
        self.make_type("daily", "--period", "day", "--pattern", "{date:yyyyMMdd}{seq:4}")
        with native.Numbers(self.store, "daily") as numbers:
            block = numbers.next_block(1, support.LONG)
            self.assertRegex(block.group, "^[0-9]{8}$")
            self.assertRegex(numbers.next(support.LONG), "^[0-9]{12}$")

    def test_snowflakes_lease_their_worker(self):
        leases = f"sqlite:{self.folder / 'leases.db'}"
        with self.assertRaises(native.NotFoundError):
            native.Snowflake(leases)
        subprocess.run(
            [os.environ["LOCUS_COMMAND"], "lease", "create", leases, "--first-ever"],
            check=True,
            capture_output=True,
        )
        made = []
        for _ in range(2):
            with native.Snowflake(leases, workers=(7, 7)) as ids:
                self.assertEqual(ids.worker, 7)
                made.append(ids.next())
                made += ids.next_batch(100_000)
                self.assertEqual(ids.next_batch(0), [])
                with self.assertRaises(native.ResourceExhaustedError):
                    native.Snowflake(leases, workers=(7, 7), patience=0.01)
        self.assertEqual(sorted(set(made)), made)
        self.assertEqual({each >> 12 & 1023 for each in made}, {7})
        with self.assertRaises(ValueError):
            native.Snowflake(leases, workers=(7, 1024))

    def test_closed_object_is_told(self):
        ids = native.OrderIdGenerator(self.store, create=True)
        self.assertEqual(repr(ids), "<OrderIdGenerator>")
        ids.close()
        ids.close()
        self.assertTrue(ids.closed)
        self.assertEqual(repr(ids), "<OrderIdGenerator (closed)>")
        for refused in (lambda: ids.next(1), lambda: ids.try_next(1), lambda: ids.warm()):
            with self.assertRaisesRegex(native.FailedPreconditionError, "is closed$"):
                refused()
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(ids)

    def test_object_may_be_closed_while_others_wait(self):
        self.make_store()
        other = sqlite3.connect(self.folder / "store.db", isolation_level=None)
        self.addCleanup(other.close)
        ids = native.OrderIdGenerator(self.store)
        other.execute("BEGIN EXCLUSIVE")
        ended = []

        def wait():
            try:
                ids.next(1, timeout=None)
            except native.FailedPreconditionError as error:
                ended.append(str(error))

        waiting = [threading.Thread(target=wait) for _ in range(3)]
        for thread in waiting:
            thread.start()
        ids.close()
        for thread in waiting:
            thread.join(support.LONG)
        self.assertEqual(ended, ["the OrderIdGenerator is closed"] * 3)

    def test_forgotten_object_is_told_and_closed(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            native.OrderIdGenerator(self.store, create=True)
            gc.collect()
        self.assertEqual([each.category for each in caught], [ResourceWarning])

    def test_other_threads_run_during_a_call(self):
        self.make_store()
        other = sqlite3.connect(self.folder / "store.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with native.OrderIdGenerator(self.store) as ids:
            words = ffi.new("locus_order_id *")
            begun = threading.Event()
            ended = []

            def wait():  # in one call, without slices
                begun.set()
                call(lib.locus_generator_next, ids._native(), 1, 120_000, words)
                ended.append(order_id_of(words).gene)

            thread = threading.Thread(target=wait)
            thread.start()
            begun.wait(support.LONG)
            state = pathlib.Path(f"/proc/self/task/{thread.native_id}/stat")
            support.wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "S")
            other.close()  # which this thread could not do if the call held the interpreter's lock
            thread.join(support.LONG)
        self.assertEqual(ended, [1])


if __name__ == "__main__":
    unittest.main()
