# SPDX-License-Identifier: Apache-2.0
"""What docs/use/http.md says to watch has an alert or a reason for none; each alert is explained in
docs/run/alerts.md, and fired by a test on a real process; and no alert on a counter overlooks what was
counted before the first scrape or before a restart."""
import glob
import os
import re
import unittest

from promtool import ROOT, RULES


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rules():
    """{alert: expression}."""
    found = re.findall(r"- alert: (\w+)\n +expr: ((?:>-\n(?: {10}.*\n)+)|.*\n)", text_of(RULES))
    assert len(found) == text_of(RULES).count("- alert: "), found
    return dict(found)


def watched():
    """[(metrics, alerts, the whole third cell)] of the table."""
    section = text_of("docs/use/http.md").split("### What to watch")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    for row in rows:
        metrics = re.findall(r"`(\w+)[^`]*`", row[0])
        yield metrics, re.findall(r"\[(Locus\w+)\]", row[-1]), row[-1]


class Watch(unittest.TestCase):
    def test_what_is_to_be_watched_has_an_alert_or_a_reason(self):
        known = rules()
        seen = 0
        for metrics, alerts, cell in watched():
            for metric in metrics:
                seen += 1
                with self.subTest(metric):
                    if any(re.search(rf"\b{metric}\b", known[alert]) for alert in alerts):
                        continue
                    self.assertIn("none: ", cell)
        self.assertGreater(seen, 25)

    def test_each_alert_is_explained_and_fired(self):
        explained = text_of("docs/run/alerts.md")
        tests = "".join(map(text_of, glob.glob(os.path.join(ROOT, "tests/deploy/*.py"))))
        for alert in rules():
            with self.subTest(alert):
                self.assertTrue(f'<a id="{alert.lower()}"></a>{alert} (' in explained)
                self.assertTrue(f'"{alert}"' in tests, "no test fires it")

    def test_a_wrong_clock_names_the_operators_verb(self):
        rule = text_of(RULES).split("- alert: LocusdClockOff\n")[1].split("- alert: ")[0]
        row = next(line for line in text_of("docs/run/alerts.md").splitlines()
                   if line.startswith('| <a id="locusdclockoff">'))
        for text in rule, row:
            self.assertIn("locus cluster time --advance", text)

    def test_no_counter_is_overlooked_at_a_start(self):
        for alert, expression in rules().items():
            for counter in re.findall(r"increase\((\w+)\[", expression):
                with self.subTest(f"{alert} {counter}"):
                    # What the store keeps outlives the processes.
                    if counter == "locus_strict_losses_total":
                        continue
                    ratio = re.search(rf"\b{counter}\b(?!\[)", expression)
                    self.assertTrue(ratio)
                    self.assertIn("time() - process_start_time_seconds <", expression)


if __name__ == "__main__":
    unittest.main(verbosity=2)
