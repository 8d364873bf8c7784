# SPDX-License-Identifier: Apache-2.0
"""Each alert of deploy/prometheus/locus.rules.yml fires on the metrics of a real process whose
condition is true, and not before. Those of moves: move_alerts_test.py."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

import processes
import promtool
from processes import wait

QUIET = set()
# Scrapes, 15 s apart: after the condition has begun, longer than any `for` but that of
# LocusMoveTroubled, and shorter than what increase() looks at; longer than any of that.
BEFORE, AFTER, LONG = 30, 10, 250
YEAR = 365.2425 * 86400


def _is_closed(port):
    """Whether a new connection is closed at once."""
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.settimeout(0.5)
        try:
            return one.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


def value(text, name, labels="{}"):
    return promtool.parse(text)[0].get((name, labels))


def total(text, name):
    """Of all series of that name."""
    return sum(each for (series, _), each in promtool.parse(text)[0].items() if series == name)


def fired(before, after, job="shop"):
    """The alerts of one process whose metrics stood like `before`, and then like `after`."""
    return promtool.alerts({(job, "a:1"): [(before, BEFORE), (after, AFTER)]})


class Alerts(unittest.TestCase):
    def fires(self, alert, before, after, job="shop", after_scrapes=AFTER):
        """That it did not, and does now; and that it does where the process was never scraped
        before, and where it was as bad before it was started again, a minute ago. On a busy machine
        others may fire, too."""
        bad = (after, after_scrapes)
        histories = {
            "a process that is well": [(before, BEFORE + AFTER)],
            "a process that was well": [(before, BEFORE), bad],
            "a fresh start": [bad],
            "a restart": [(after, LONG), (promtool.NOTHING, 4), bad],
        }
        fire = promtool.each_alerts([{(job, "a:1"): scrapes} for scrapes in histories.values()])
        self.assertEqual([(what, alert in alerts) for what, alerts in zip(histories, fire)],
                         [(what, what != "a process that is well") for what in histories])

    def when(self, process, condition):
        """The metrics of the process, if they fulfil the condition."""
        text = process.metrics()
        return text if condition(text) else None


class OneMachine(Alerts):
    """locusd without a configuration: all that makes IDs, on SQLite."""

    def setUp(self):
        self.directory = self.enterContext(processes.scratch())
        self.data = os.path.join(self.directory, "data")
        os.makedirs(self.data)
        self.table = os.path.join(self.data, "table.json")
        processes.write_table(self.table, 1, 1)
        self.locusd = processes.Locusd(self.directory, [
            "--listen", "127.0.0.1:0", "--data", self.data])
        self.addCleanup(self.locusd.close)

    def start(self):
        self.locusd.start()
        self.order(200)
        self.assertEqual(self.locusd.ask("GET", "/v1/snowflake?n=10")[0], 200)
        self.assertEqual(self.locusd.ask("GET", "/v1/sequences/invoices/next")[0], 200)
        before = self.locusd.metrics()
        self.assertEqual(promtool.check(before), "")
        self.assertEqual(fired(before, before), QUIET)
        return before

    def order(self, expected, buyers=("12345",)):
        status, text = self.locusd.ask("POST", "/v1/orders/ids", {"buyers": list(buyers)})
        self.assertEqual(status, expected, text)

    def locked_store(self):
        """Until it is closed, nobody else writes the file of the stores."""
        lock = sqlite3.connect(os.path.join(self.data, "ids.db"), isolation_level=None, timeout=60)
        lock.execute("BEGIN IMMEDIATE")
        self.addCleanup(lock.close)
        return lock

    def lead(self, much):
        """What other processes leased of each section, all at once."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.data, "ids.db"), timeout=60,
                                                isolation_level=None)) as store:
            store.executescript(
                f"BEGIN IMMEDIATE; UPDATE locus_section SET head = head + {much};"
                f"UPDATE locus_space SET head_sum_low = head_sum_low + {much} *"
                " (SELECT COUNT(*) FROM locus_section); COMMIT")

    def test_store_that_does_not_answer(self):
        before = self.start()
        lock = self.locked_store()
        # What is at hand lasts for some hundred IDs.
        wait("the segments are used up", lambda: self.locusd.ask(
            "POST", "/v1/orders/ids", {"buyers": ["12345"] * 200})[0] == 503)
        metrics = wait("the generator says so", lambda: self.when(self.locusd,
            lambda text: value(text, "locus_store_starved_total") > 0 and
            (value(text, "locus_store_up") == 0 or
             value(text, "locus_store_call_stalled_seconds") > 5)))
        self.fires("LocusStarvation", before, metrics)
        self.fires("LocusAutonomyShort", before, metrics)
        # The machine is suspended for most of the lease's time.
        ttl = value(metrics, "locus_worker_lease_ttl_seconds")
        self.locusd.faults.sleep(ttl * 0.8)
        near = self.locusd.metrics()
        self.fires("LocusLeaseNearLoss", before, near)
        self.assertNotIn("LocusLeaseLost", fired(before, near))
        self.locusd.faults.sleep(ttl * 1.1)
        lost = wait("the lease is lost", lambda: self.when(self.locusd,
            lambda text: value(text, "locus_worker_lease_held") == 0))
        self.fires("LocusLeaseLost", before, lost)
        self.assertNotIn("LocusLeaseNearLoss", fired(before, lost))
        lock.close()

    def test_sequence_that_does_not_answer(self):
        before = self.start()
        lock = self.locked_store()
        wait("the numbers are used up", lambda: self.locusd.ask(
            "GET", "/v1/sequences/invoices/next?n=1000")[0] == 503)
        metrics = wait("the sequence says so", lambda: self.when(self.locusd,
            lambda text: total(text, "locus_sequence_starved_total") > 0))
        self.fires("LocusStarvation", before, metrics)
        lock.close()

    def test_sidecar_that_is_gone(self):
        before = self.start()
        os.remove(os.path.join(self.data, "ids.db-locus"))

        def noticed():
            self.order(200, [str(number) for number in range(200)])
            return self.when(self.locusd, lambda text: value(text, "locus_store_losses_total") > 0)
        self.fires("LocusStoreLoss", before, wait("the loss is noticed", noticed))

    def test_buyer_who_is_too_busy(self):
        before = self.start()
        self.lead(15_000_000)  # of 16,777,216

        def used_up():
            self.order(200, ["12345"] * 100)
            return self.when(self.locusd,
                             lambda text: value(text, "locus_store_headroom_ratio") < 0.12)
        self.fires("LocusHeadroomLow", before, wait("no headroom", used_up))

    def test_section_that_is_as_far_ahead_as_it_may_be(self):
        before = self.start()
        self.lead(16_777_216)

        def used_up():
            self.locusd.ask("POST", "/v1/orders/ids", {"buyers": ["12345"] * 200})
            return self.when(self.locusd,
                             lambda text: value(text, "locus_order_ids_lead_used_up_total") > 0)
        self.fires("LocusLeadUsedUp", before, wait("no segment", used_up))

    def test_clock_that_is_set_back(self):
        before = self.start()
        # The ID before is a new one, so that the clock is behind it, however slow this machine is.
        self.assertEqual(self.locusd.ask("GET", "/v1/snowflake")[0], 200)
        self.locusd.faults.shift_clock(-60)
        # It waits, or refuses; either way the clock was behind.
        self.locusd.ask("GET", "/v1/snowflake")
        metrics = self.locusd.metrics()
        self.fires("LocusClockSetBack", before, metrics)

    def test_table_that_is_none(self):
        before = self.start()
        processes.write_table(self.table, 2, 99)  # which does not exist
        metrics = wait("the table is refused", lambda: self.when(self.locusd,
            lambda text: value(text, "locus_router_refusals_total") > 0))
        self.fires("LocusTableRefused", before, metrics)

    def test_table_that_is_gone(self):
        before = self.start()
        os.remove(self.table)
        metrics = wait("its place does not answer", lambda: self.when(self.locusd,
            lambda text: value(text, "locus_router_source_up") == 0))
        self.fires("LocusTableUnread", before, metrics)

    def test_layout_that_ends(self):
        # 2^41 ms after 2023 is 2092.
        in_2023 = 1672531200
        self.locusd.faults.shift_clock(68.5 * YEAR - (time.time() - in_2023))
        self.locusd.start()
        self.assertEqual(self.locusd.ask("GET", "/v1/snowflake")[0], 200)
        metrics = self.locusd.metrics()
        self.assertEqual(fired(metrics, metrics), {"LocusYearsLeft"})


class IdService(Alerts):
    """An ID service with its store on a server."""

    def setUp(self):
        directory = self.enterContext(processes.scratch())
        self.redis = processes.Redis(os.path.join(directory, "redis"))
        self.addCleanup(self.redis.kill)
        self.locusd, _ = processes.configured(
            directory, 'roles = ["id-service"]\n',
            f'[ids.orders]\nstore = "redis://127.0.0.1:{self.redis.port}"\ncreate = true\n')
        self.addCleanup(self.locusd.close)
        self.locusd.start()
        self.assertEqual(self.order(), 200)
        self.before = self.locusd.metrics()
        self.assertEqual(promtool.check(self.before), "")

    def order(self, buyers=("12345",)):
        return self.locusd.ask("POST", "/v1/orders/ids", {"buyers": list(buyers)})[0]

    def test_clock_that_is_not_the_stores(self):
        self.locusd.faults.shift_clock(3)
        buyers = iter(range(100_000))

        def measured():
            self.order([str(next(buyers)) for _ in range(100)])  # some of a section without segment
            return self.when(self.locusd,
                             lambda text: value(text, "locus_store_clock_offset_seconds") < -1)
        self.fires("LocusStoreClockOff", self.before, wait("the clocks are compared", measured))

    def test_store_that_is_killed(self):
        self.redis.kill()
        wait("the segments are used up", lambda: self.order(["12345"] * 200) == 503)
        metrics = wait("the generator says so", lambda: self.when(
            self.locusd, lambda text: value(text, "locus_store_up") == 0 and
            value(text, "locus_store_starved_total") > 0))
        self.fires("LocusStarvation", self.before, metrics)
        self.fires("LocusAutonomyShort", self.before, metrics)


    def test_store_that_is_away_from_the_start_on(self):
        self.locusd.stop()
        self.redis.kill()
        self.locusd.start()
        metrics = self.locusd.metrics()
        self.assertGreater(value(metrics, "locus_id_parts_missing"), 0)
        self.fires("LocusPartsMissing", self.before, metrics)

    def test_store_that_is_killed_before_the_first_draw(self):
        self.locusd.stop()
        self.locusd.start()
        fresh = self.locusd.metrics()
        self.assertEqual(value(fresh, "locus_store_autonomy_seconds"), float("inf"))
        self.redis.kill()
        self.assertEqual(self.order(), 503)
        metrics = wait("the generator says so", lambda: self.when(
            self.locusd, lambda text: value(text, "locus_store_up") == 0))
        self.fires("LocusRequestsUnavailable", fresh, metrics)
        self.fires("LocusAutonomyShort", fresh, metrics)


class Front(Alerts):
    """What a process refuses before it looks at a request."""

    def begin(self, api="", ids=""):
        directory = self.enterContext(processes.scratch())
        self.token = {}
        tables = ""
        for name, scope in (("reader", "read"), ("shop", "ids")):
            self.token[name] = "t" * 30 + name
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.token[name])
            os.chmod(path, 0o600)
            tables += f'[[token]]\nname = "{name}"\nfile = "{path}"\nscopes = ["{scope}"]\n'
        processes.locus("seq", "create", "--store", f"sqlite:{directory}/ids.db", "--first-ever")
        self.service, _ = processes.configured(
            os.path.join(directory, "service"), 'roles = ["id-service"]\n',
            f'{api}[ids]\n{ids}[ids.sequences]\nstore = "sqlite:{directory}/ids.db"\n'
            f'create = true\n{tables}')
        self.addCleanup(self.service.kill)
        self.service.token = self.token["reader"]
        self.service.start()
        # Where it is limited, again.
        wait("the metrics are read", lambda: self.service.ask("GET", "/metrics")[0] == 200)

    def asked(self, token, headers=()):
        return self.service.ask("GET", "/v1/sequences/invoices/next", token=token,
                                headers=headers)[0]

    def metrics(self):
        """When they may be read."""
        def read():
            status, text = self.service.ask("GET", "/metrics")
            return status == 200 and text
        return wait("the metrics may be read", read)

    def test_token_without_the_scope(self):
        self.begin()
        before = self.metrics()
        self.assertEqual(self.asked(self.token["reader"]), 403)
        self.fires("LocusdTokensRefused", before, self.metrics())

    def test_tokens_that_nobody_has(self):
        self.begin()
        before = self.metrics()
        for number in range(101):
            self.assertEqual(self.asked(f"{number:040}"), 401)
        self.fires("LocusdUnauthorized", before, self.metrics())

    def test_address_that_sends_too_many(self):
        self.begin("rate = 1\nburst = 2\n")
        # How it began may have been too much, too.
        before = re.sub(r"(?m)^(locusd_front_limited_total) .*$", r"\1 0", self.metrics())
        wait("it is limited", lambda: self.asked(self.token["shop"]) == 429)
        self.fires("LocusdOverload", before, self.metrics())

    def test_address_with_too_many_connections(self):
        self.begin("connections_per_address = 4\n")
        before = self.metrics()
        port = int(self.service.url.rsplit(":", 1)[1])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
        wait("one more is closed", lambda: _is_closed(port))
        for one in held:
            one.close()
        self.fires("LocusdOverload", before, self.metrics())
        self.assertIn("closed a connection, as there are too many peer=127.0.0.1",
                      self.service.log())

    def test_end_that_does_not_come(self):
        self.begin('drain_delay = "60s"\n')
        before = self.metrics()
        self.service.signal(signal.SIGTERM)
        metrics = wait("it ends", lambda: self.when(
            self.service, lambda text: value(text, "locusd_draining") == 1))
        self.fires("LocusdDraining", before, metrics, after_scrapes=BEFORE)

    def test_answers_that_have_no_room(self):
        self.begin(ids="remember_bytes = 1048576\n")
        before = self.metrics()
        keys = iter(range(100_000))

        def forgotten():
            for _ in range(100):
                self.assertEqual(self.asked(self.token["shop"], {
                    "Idempotency-Key": f"{next(keys):0200}"}), 200)
            return self.when(self.service, lambda text: value(
                text, "locus_idempotent_evictions_total") > 0)
        self.fires("LocusAnswersForgotten", before, wait("answers are forgotten", forgotten))


class ClusterNodes(Alerts):
    """Nodes of a cluster that leases worker IDs."""

    def setUp(self):
        self.directory = self.enterContext(processes.scratch())

    def node(self, name, more=""):
        made, path = processes.node(os.path.join(self.directory, name), more)
        self.addCleanup(made.close)
        return made, path

    def leads(self, node):
        return wait("it leads", lambda: value(node.metrics(), "locusd_leads") == 1)

    def begin(self, name="first", more=""):
        first, path = self.node(name, more)
        begun = subprocess.run([processes.LOCUSD, "--config", path, "--begin-only"],
                               capture_output=True, text=True, timeout=processes.PATIENCE,
                               check=False)
        self.assertEqual(begun.returncode, 0, begun.stderr)
        self.assertIn("new cluster", begun.stderr)
        first.start()
        self.leads(first)
        return first, path

    def test_node_that_waits_to_be_added(self):
        lonely, _ = self.node("lonely")
        lonely.start()
        metrics = lonely.metrics()
        self.assertEqual(fired(metrics, metrics, "locusd"),
                         {"LocusdNoLeader", "LocusdKnowsNoLeader"})
        leads, _ = self.begin()
        both = {("locusd", "a:1"): [(metrics, BEFORE)], ("locusd", "b:1"): [(leads.metrics(), BEFORE)]}
        self.assertEqual(promtool.alerts(both), {"LocusdKnowsNoLeader"})

    def test_begin_only_is_refused_twice(self):
        first, path = self.begin()
        first.stop()
        again = subprocess.run([processes.LOCUSD, "--config", path, "--begin-only"],
                               capture_output=True, text=True, timeout=processes.PATIENCE,
                               check=False)
        self.assertEqual(again.returncode, 2)
        self.assertIn("has begun or joined a cluster before", again.stderr)

    def test_file_that_is_wrong(self):
        node, path = self.begin()
        before = node.metrics()
        self.assertEqual(promtool.check(before), "")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        with open(path, "a", encoding="utf-8") as file:
            file.write("\n[log]\nlevel = 5\n")
        node.signal(signal.SIGHUP)
        metrics = wait("the file is refused", lambda: self.when(
            node, lambda text: value(text, "locusd_reload_failing") == 1))
        # Twice, where the change of the file was noticed besides the signal.
        self.assertGreaterEqual(value(metrics, "locusd_reload_failures_total"), 1)
        self.fires("LocusdReloadFailed", before, metrics, "locusd")
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)
        node.signal(signal.SIGHUP)
        wait("the file is taken", lambda: value(node.metrics(), "locusd_reload_failing") == 0)

    def test_certificate_that_ends(self):
        pem = os.path.join(self.directory, "api.pem")

        def certificate(days):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days",
                            str(days), "-subj", "/CN=test", "-keyout", f"{pem}.{days}.key", "-out",
                            f"{pem}.{days}"], check=True, capture_output=True)
            os.replace(f"{pem}.{days}.key", pem + ".key")
            os.replace(f"{pem}.{days}", pem)

        certificate(30)
        node, _ = self.node("first", f'certificate = "{pem}"\nkey = "{pem}.key"\n')
        node.over_tls()
        node.start()
        before = node.metrics()
        left = ("locusd_certificate_left_seconds", '{use="api"}')
        self.assertGreater(value(before, *left), 29 * 86400)
        certificate(13)
        node.signal(signal.SIGHUP)
        metrics = wait("the new one is in use", lambda: self.when(
            node, lambda text: value(text, *left) < 14 * 86400))
        self.fires("LocusdCertificateEnds", before, metrics, "locusd")

    def test_clock_that_is_off(self):
        node, _ = self.begin()
        before = node.metrics()
        node.faults.shift_clock(-3)
        metrics = wait("the clock is off", lambda: self.when(
            node, lambda text: abs(value(text, "locusd_clock_off_seconds")) > 1))
        self.fires("LocusdClockOff", before, metrics, "locusd")

    def test_audit_that_nobody_takes(self):
        closed = processes.free_port()
        node, _ = self.begin(more=f'[audit]\nclickhouse = "127.0.0.1:{closed}"\n'
                                  'queue = 1000\nspill_bytes = 1048576\n')
        before = node.metrics()
        now = int(time.time() * 1000)
        status, text = node.ask("PUT", "/v1/spaces/orders", {"rest_ms": 0, "caller_now_ms": now})
        self.assertEqual(status, 204, text)
        connection = http.client.HTTPConnection(node.url.removeprefix("http://"), timeout=60)
        self.addCleanup(connection.close)

        def send(method, path, body):
            connection.request(method, path, json.dumps(body))
            answer = connection.getresponse()
            text = answer.read().decode()
            return json.loads(text) if answer.status == 201 else None

        def dropped():
            # What is written of them is more than memory and spill directory hold.
            for _ in range(500):
                grant = send("POST", "/v1/leases", {
                    "space": "orders", "first": 0, "last": 1023, "preferred": None, "start": 0,
                    "ttl_ms": 10000, "max_skew_ms": 5000, "nonce": "0123456789abcdef",
                    "holder": json.dumps({"host": "x" * 900}),
                    "caller_now_ms": int(time.time() * 1000)})
                if grant:
                    send("DELETE", f"/v1/leases/{grant['worker']}", {
                        "space": "orders", "token": grant["token"], "last_used_ms": None,
                        "nonce": "0123456789abcdef"})
            return self.when(node, lambda text: value(text, "locus_audit_dropped_total") > 0)
        metrics = wait("records are dropped", dropped)
        self.fires("LocusAuditDropped", before, metrics, "locusd")

    def test_member_that_forgot(self):
        first, _ = self.begin()
        second, path = self.node("second")
        second.start()
        uri = "locusd://" + first.url.removeprefix("http://")
        subprocess.run([processes.LOCUS, "cluster", "add", uri,
                        second.url.removeprefix("http://")], check=True,
                       timeout=processes.PATIENCE)
        wait("it is a voter", lambda: '"voter":true,"leader":false' in first.ask(
            "GET", "/v1/members")[1])
        before = first.metrics()
        second.stop()
        data = os.path.join(second.directory, "data")
        shutil.copytree(data, data + ".old")
        second.start()
        subprocess.run([processes.LOCUS, "lease", "create", uri, "--first-ever"], check=True,
                       timeout=processes.PATIENCE)
        wait("the second one has it", lambda: value(second.metrics(), "locusd_applied_index") ==
             value(first.metrics(), "locusd_applied_index"))
        second.stop()
        shutil.rmtree(data)
        os.rename(data + ".old", data)
        second.start()
        metrics = wait("the leader notices", lambda: self.when(
            first, lambda text: value(text, "locusd_members_forgot") > 0))
        self.fires("LocusdMemberForgot", before, metrics, "locusd")


if __name__ == "__main__":
    unittest.main(verbosity=2)
