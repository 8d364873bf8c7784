# SPDX-License-Identifier: Apache-2.0
"""What deploy/grafana/locus.json asks Prometheus and what docs/run/metrics.md says, compared with the
metrics of real processes."""
import json
import os
import re
import subprocess
import tempfile

import promtool

PATH = os.path.join(promtool.ROOT, "deploy/grafana/locus.json")
NAME = re.compile(r"\blocusd?_[a-z0-9_]+\b")


def queries():
    """[(panel's title, expression)]"""
    with open(PATH, encoding="utf-8") as file:
        dashboard = json.load(file)
    return [(panel["title"], target["expr"])
            for panel in dashboard["panels"] for target in panel.get("targets", [])]


def family(name, types):
    """The family that a sample's name belongs to, and its type; None: there is none."""
    if name in types:
        return name, types[name]
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return (base, types[base]) if types.get(base) == "histogram" else None


def faults(text, belongs):
    """What is wrong with the queries whose metrics `belongs` says are of these processes."""
    samples, types = promtool.parse(text)
    labels = {}
    for name, shown in samples:
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', shown))
    found = []
    for title, expression in queries():
        for name in filter(belongs, NAME.findall(expression)):
            what = f"{title}: {name}"
            known = family(name, types)
            if known is None:
                found.append(f"{what} is no metric of these processes")
                continue
            rises = known[1] in ("counter", "histogram")
            if bool(re.search(r"(rate|increase)\(" + name, expression)) != rises and not (
                    name == "locus_store_losses_total"):  # shown as it is
                found.append(f"{what} is a {known[1]}")
            wanted = set(re.findall(r"by \(([^)]*)\)", expression)[0].split(", ")
                         if " by (" in expression else [])
            lacking = wanted - labels.get(name, set()) - {"job", "instance"}
            if lacking:
                found.append(f"{what} has no label {lacking}")
    return found


def page_faults(text):
    """Which samples docs/run/metrics.md does not have, with that type and these labels."""
    with open(os.path.join(promtool.ROOT, "docs/run/metrics.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `(\w+)\{?([\w,]*)\}?` \| (\w+)", file.read(), re.M)
    page = {name: (kind, set(labels.split(","))) for name, labels, kind in rows}
    samples, types = promtool.parse(text)
    found = {f"{name} is a {kind}" for name, kind in types.items()
             if page.get(name, ("",))[0] != kind}
    for sample, shown in samples:
        name, _ = family(sample, types)
        labels = set(re.findall(r'(\w+)="', shown)) - {"le"}
        if name in page and not labels <= page[name][1]:
            found.add(f"{name} has the labels {labels}")
    return sorted(found)


def syntax_faults():
    """What Prometheus finds wrong with the expressions themselves."""
    rules = []
    for _, expression in queries():
        for variable, stands_for in (("$__rate_interval", "5m"), ("$job", ".*"),
                                     ("$instance", ".*")):
            expression = expression.replace(variable, stands_for)
        rules.append({"record": "checked", "labels": {"number": str(len(rules))},
                      "expr": expression})
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True,
                              text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr
