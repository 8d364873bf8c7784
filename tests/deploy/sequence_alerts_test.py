# SPDX-License-Identifier: Apache-2.0
"""Alerts on numbers by sequence types, strict sequences and a cluster as a store, on real processes; as
alerts_test.py."""
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import unittest

import processes
import promtool
from alerts_test import AFTER, BEFORE, Alerts, fired, value
from processes import locus, wait


class Rules(Alerts):
    """An ID service that counts by a rule in its store."""
    PATTERN = "{date:yyyyMMdd}{seq:8}"
    OF_TYPE = '{type="bills",key=""}'

    def setUp(self):
        self.directory = self.enterContext(processes.scratch())

    def serve(self, uri, name="service"):
        service, _ = processes.configured(
            os.path.join(self.directory, name), 'roles = ["id-service"]\n',
            f'[ids.sequences]\nstore = "{uri}"\ncreate = true\n')
        self.addCleanup(service.close)
        service.start()
        self.assertEqual(service.ask("GET", "/v1/numbers/bills/next")[0], 200)
        return service

    def rule(self, uri):
        locus("seq", "type", "create", "bills", "--store", uri, "--period", "day", "--pattern",
              self.PATTERN, "--lifetime", "2")
        locus("seq", "create", "--store", uri, "--first-ever")

    def version(self, text):
        return value(text, "locus_sequence_type_version", self.OF_TYPE)

    def test_rule_that_callers_contradict_and_clock_and_changes(self):
        uri = f"sqlite:{self.directory}/numbers.db"
        self.rule(uri)
        service = self.serve(uri)
        before = service.metrics()
        self.assertEqual(promtool.check(before), "")
        self.assertEqual(fired(before, before), set())
        self.assertEqual(service.ask("GET", "/v1/sequences/bills/next?step=5")[0], 412)
        self.fires("LocusSequenceTypeRefused", before, service.metrics())
        service.faults.shift_clock(-2 * 86400)
        self.assertEqual(service.ask("GET", "/v1/numbers/bills/next")[0], 200)
        self.fires("LocusNumberClockBehind", before, service.metrics())
        service.faults.shift_clock(0)

        locus("seq", "type", "alter", "bills", "--store", uri, "--step", "2")
        altered = wait("the rule is read", lambda: self.when(
            service, lambda text: self.version(text) == self.version(before) + 1))
        differ = "LocusSequenceTypesDiffer"
        both = {("shop", "a:1"): [(before, BEFORE)], ("shop", "b:1"): [(altered, BEFORE)]}
        self.assertIn(differ, promtool.alerts(both))
        both[("shop", "a:1")] = both[("shop", "b:1")]
        self.assertNotIn(differ, promtool.alerts(both))
        locus("seq", "type", "drop", "bills", "--store", uri)
        dropped = wait("the drop is noticed", lambda: self.when(
            service, lambda text: self.version(text) == 0))
        self.fires("LocusSequenceTypeDropped", before, dropped)

    def test_store_that_was_lost(self):
        uri = f"sqlite:{self.directory}/numbers.db"
        self.rule(uri)
        service = self.serve(uri)
        before = service.metrics()
        self.assertEqual(service.ask("GET", "/v1/sequences/orders/next")[0], 200)
        database = sqlite3.connect(f"{self.directory}/numbers.db")
        database.execute("DELETE FROM locus_sequence")
        database.commit()
        database.close()
        wait("the service notices the loss", lambda: service.ask(
            "GET", "/v1/sequences/orders/next?n=100")[0] == 500)
        self.assertGreaterEqual(service.ask("GET", "/v1/sequences/others/next")[0], 400)
        self.assertGreaterEqual(service.ask("GET", "/v1/sequences/others/next")[0], 400)
        service.kill()
        service.start()
        self.assertEqual(service.ask("GET", "/v1/sequences/orders/next")[0], 503)
        self.fires("LocusPartsMissing", before, service.metrics())
        self.assertIn("has no mark of a first start", service.log())
        locus("seq", "set", "--store", uri, "--key", "orders", "--value", "5000")
        locus("seq", "create", "--store", uri, "--counters-set")
        wait("the service opens the store", lambda: service.ask(
            "GET", "/v1/sequences/orders/next")[0] == 200)

    def test_rule_that_cannot_be_read(self):
        redis = processes.Redis(os.path.join(self.directory, "redis"))
        self.addCleanup(redis.kill)
        uri = f"redis://127.0.0.1:{redis.port}"
        self.rule(uri)
        service = self.serve(uri)
        before = service.metrics()
        redis.kill()
        failed = wait("the rule is looked for", lambda: self.when(
            service, lambda text: value(text, "locus_sequence_type_failures_total",
                                        self.OF_TYPE) > 0))
        self.fires("LocusSequenceTypeUnread", before, failed)


class SequenceNodes(Alerts):
    """Nodes of strict sequences, on an SQLite file."""
    TTL, SECTIONS = 3, 10

    def setUp(self):
        self.directory = self.enterContext(processes.scratch())
        self.store = os.path.join(self.directory, "strict.db")

    def node(self, name, store=None, more=""):
        node, _ = processes.sequence_node(os.path.join(self.directory, name), name,
                                          store or "sqlite:" + self.store,
                                          f'ttl = "{self.TTL}s"\n{more}')
        self.addCleanup(node.close)
        return node.start()

    def of_strict(self, node, name):
        return value(node.metrics(), f"locus_strict_{name}")

    def all_of(self, node):
        wait("the node has all sections",
             lambda: self.of_strict(node, "sections_owned") == self.SECTIONS)
        wait("it gives numbers", lambda: self.draw(node) == 200)
        return wait("its leases are fresh", lambda: self.when(
            node, lambda text: value(text, "locus_strict_ownership_left_seconds") > self.TTL / 4))

    def draw(self, node, uids=range(0, 1000000, 100000)):
        return node.ask("POST", "/v1/strict/next", {"uids": [str(uid) for uid in uids]})[0]

    def test_store_that_does_not_answer(self):
        node = self.node("one")
        before = self.all_of(node)
        self.assertEqual(promtool.check(before), "")
        self.assertEqual(fired(before, before), set())
        lock = sqlite3.connect(self.store, isolation_level=None, timeout=60)
        self.addCleanup(lock.close)
        lock.execute("BEGIN IMMEDIATE")
        wait("the leases have ended",
             lambda: self.of_strict(node, "ownership_left_seconds") < 0)
        self.assertEqual(self.draw(node), 503)
        metrics = node.metrics()
        self.fires("LocusStrictOwnershipNearEnd", before, metrics)
        self.fires("LocusStrictUnavailable", before, metrics)

    def test_sections_that_nobody_has(self):
        node = self.node("one")
        before = self.all_of(node)
        status, text = node.ask("POST", "/v1/strict/sections:hand_over", {})
        self.assertEqual((status, json.loads(text).get("sections")), (200, self.SECTIONS), text)
        self.assertEqual(self.draw(node), 421)
        metrics = node.metrics()
        self.fires("LocusStrictSectionsUnserved", before, metrics)
        self.fires("LocusStrictElsewhere", before, metrics)

    def test_owner_that_stood_still(self):
        one = self.node("one")
        before = self.all_of(one)
        one.signal(signal.SIGSTOP)
        self.addCleanup(one.signal, signal.SIGCONT)
        other = self.node("other")
        self.all_of(other)
        one.signal(signal.SIGCONT)
        metrics = wait("it knows", lambda: self.when(
            one, lambda text: value(text, "locus_strict_sections_lost_total") > 0))
        self.fires("LocusStrictSectionsLost", before, metrics)

    def test_store_that_lost_something(self):
        node = self.node("one")
        before = self.all_of(node)
        os.remove(self.store + "-strict-locus")
        metrics = wait("the loss is noticed", lambda: self.when(
            node, lambda text: value(text, "locus_strict_losses_total") >
            value(before, "locus_strict_losses_total")))
        self.fires("LocusStrictLoss", before, metrics)

    def test_users_that_need_more_memory(self):
        node = self.node("one", more="memory_bytes = 1048576\n")  # 256 pages, of 512 users each
        before = self.all_of(node)
        page = 512

        def let_go():
            for first in range(0, 2000 * page, 100 * page):
                self.draw(node, [uid for uid in range(first, first + 100 * page, page)
                                 if uid < 1000000])
            return self.when(node, lambda text: value(
                text, "locus_strict_memory_let_go_total") > 70)
        self.fires("LocusStrictMemoryShort", before, wait("sections let memory go", let_go))

    def test_set_that_cannot_be_opened(self):
        closed = self.node("one", f"mysql://locus@127.0.0.1:{processes.free_port()}/locus")
        metrics = closed.metrics()
        self.assertEqual(value(metrics, "locus_strict_open"), 0)
        self.assertEqual(promtool.check(metrics), "")
        self.assertIn("LocusStrictNotOpen", promtool.alerts({("shop", "a:1"): [(metrics, AFTER)]}))


class ClusterAsStore(Alerts):
    """A cluster of locusd that keeps rules."""
    MOST = 1024

    def make_types(self, node):
        connection = http.client.HTTPConnection(node.url.removeprefix("http://"), timeout=60)
        self.addCleanup(connection.close)
        for number in range(int(0.9 * self.MOST) + 1):
            connection.request("POST", "/v1/sequence_types", json.dumps({
                "name": f"type-{number}", "expected": "0",
                "next": {"version": "7", "text_hex": b"step=1".hex()}}))
            answer = connection.getresponse()
            text = answer.read().decode()
            self.assertEqual(answer.status, 200, text)

    def test_cluster_that_is_nearly_full(self):
        directory = self.enterContext(processes.scratch())
        node, path = processes.configured(
            directory, f'cluster = "orders"\ndata = "{directory}/data"\n'
            f'[raft]\nlisten = "127.0.0.1:{processes.free_port()}"\n', "store = true\n")
        self.addCleanup(node.close)
        subprocess.run([processes.LOCUSD, "--config", path, "--begin-only"], check=True,
                       capture_output=True, timeout=processes.PATIENCE)
        node.start()
        wait("it leads", lambda: value(node.metrics(), "locusd_leads") == 1)
        before = node.metrics()
        self.make_types(node)
        metrics = node.metrics()
        self.assertGreater(value(metrics, "locusd_sequence_types"), 0.9 * self.MOST)
        self.fires("LocusdStoreNearlyFull", before, metrics, "locusd")


if __name__ == "__main__":
    unittest.main(verbosity=2)
