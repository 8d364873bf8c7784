# SPDX-License-Identifier: Apache-2.0
"""What the dashboard and the alerts ask for exists in real processes; what alerts name is described."""
import glob
import os
import re
import unittest

import dashboard
import processes
import promtool


class Asked(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(processes.scratch())

    def text(self):
        """The metrics of all that this repository runs but moves (move_alerts.py)."""
        data = os.path.join(self.directory, "data")
        os.makedirs(data)
        processes.write_table(os.path.join(data, "table.json"), 1, 1)
        machine = processes.Locusd(self.directory, ["--listen", "127.0.0.1:0", "--data", data])
        self.addCleanup(machine.close)
        machine.start()
        self.assertEqual(machine.ask("GET", "/v1/sequences/invoices/next")[0], 200)
        processes.locus("seq", "type", "create", "bills", "--store", f"sqlite:{data}/ids.db",
                        "--pattern", "{seq:8}")
        self.assertEqual(machine.ask("GET", "/v1/numbers/bills/next")[0], 200)
        node, _ = processes.node(os.path.join(self.directory, "node"),
                                 f'[audit]\nclickhouse = "127.0.0.1:{processes.free_port()}"\n')
        self.addCleanup(node.close)
        node.start()
        token = os.path.join(self.directory, "token")
        with open(token, "w", encoding="utf-8") as file:
            file.write("r" * 40)
        os.chmod(token, 0o600)
        strict, _ = processes.sequence_node(
            os.path.join(self.directory, "strict"), "one", f"sqlite:{self.directory}/strict.db",
            f'[[token]]\nname = "prometheus"\nfile = "{token}"\nscopes = ["read"]\n')
        strict.token = "r" * 40
        self.addCleanup(strict.close)
        strict.start()
        # It has read its store.
        of_strict = processes.wait("it has sections", lambda: (
            text if "locus_strict_sections_owned 10" in (text := strict.metrics()) else None))
        return machine.metrics() + node.metrics() + of_strict

    def test_dashboard_and_alerts(self):
        text = self.text()
        self.assertEqual(dashboard.page_faults(text), [])
        self.assertEqual(dashboard.syntax_faults(), "")
        self.assertEqual(dashboard.faults(text, lambda name: not name.startswith("locus_move_")),
                         [])
        with open(promtool.RULES, encoding="utf-8") as file:
            rules = file.read()
        _, types = promtool.parse(text)
        expressions = re.sub(r"#.*|(summary|runbook): .*", "", rules)
        asked = set(dashboard.NAME.findall(expressions))
        self.assertGreater(len(asked), 15)
        self.assertEqual([name for name in asked if name not in types and
                          not name.startswith("locus_move_")], [])

    def test_each_alert_is_described(self):
        with open(promtool.RULES, encoding="utf-8") as file:
            rules = file.read()
        with open(os.path.join(promtool.ROOT, "docs/run/alerts.md"), encoding="utf-8") as file:
            described = re.findall(r'^\| <a id="(\w+)"></a>(\w+) \((\w+)\)', file.read(), re.M)
        alerts = re.findall(r"alert: (\w+).*?severity: (\w+).*?runbook: docs/[\w/]+\.md#(\w+)",
                            rules, re.S)
        self.assertEqual([(anchor, name, severity) for name, severity, anchor in alerts], described)
        self.assertEqual(len(alerts), rules.count("- alert:"))
        tested = ""
        for path in glob.glob(os.path.join(os.path.dirname(promtool.RULES), "*.test.yml")):
            with open(path, encoding="utf-8") as file:
                tested += file.read()
        for name, _, _ in alerts:
            self.assertIn(f"name: {name} fires", tested)
            self.assertIn(f"name: {name} quiet", tested)


if __name__ == "__main__":
    unittest.main(verbosity=2)
