# SPDX-License-Identifier: Apache-2.0
"""What Prometheus makes of the metrics of a real process: promtool runs the rules on them."""
import json
import math
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = os.path.join(ROOT, "deploy/prometheus/locus.rules.yml")
INTERVAL = 15  # seconds between two scrapes

SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$')


def parse(text):
    """{series: value} and {family: type} of a text that Prometheus takes."""
    samples, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            types[name] = kind
        elif line and not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            samples[(name, labels or "{}")] = float(value)
    return samples, types


def _number(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value)


TOLD = "locus_move_told_timestamp_seconds"


def _series(scrapes, target):
    """Of scrapes [(text, how often it is seen)], as promtool reads series. A runner of moves tells
    the time each time; its scrapes end with "dead" where nobody writes any more."""
    parsed = [(parse(text)[0], times, bool(dead)) for text, times, *dead in scrapes]
    for name, labels in sorted({name for samples, _, _ in parsed for name in samples}):
        values = []
        told = 0
        for samples, times, dead in parsed:
            value = samples.get((name, labels))
            for _ in range(times):
                if name == TOLD and value is not None:  # promtool's clock begins at 0
                    told = told if dead else len(values) * INTERVAL
                    values.append(_number(told))
                else:
                    values.append("_" if value is None else _number(value))
        inner = labels[1:-1]
        yield {"series": f"{name}{{{target}{',' if inner else ''}{inner}}}",
               "values": " ".join(values)}


def alerts(targets):
    """The alerts that fire at the end, by name. targets: {(job, instance): scrapes}."""
    series = []
    length = 0
    for (job, instance), scrapes in targets.items():
        series += _series(scrapes, f'job="{job}",instance="{instance}"')
        length = max(length, sum(times for _, times, *_ in scrapes))
    test = {
        "rule_files": [RULES],
        "evaluation_interval": f"{INTERVAL}s",
        "tests": [{
            "interval": f"{INTERVAL}s",
            "input_series": series,
            "promql_expr_test": [{
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{(length - 1) * INTERVAL}s",
                # Never true: promtool then says what it got.
                "exp_samples": [{"labels": '{alertname="none"}', "value": -1}],
            }],
        }],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump(test, file)  # which is YAML
        file.flush()
        done = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True,
                              text=True, timeout=120, check=False)
    said = done.stdout + done.stderr
    got = re.search(r"^ *got:(.*)$", said, re.M)
    if got is None:
        raise AssertionError("promtool did not evaluate the rules: " + said)
    return set(re.findall(r'alertname="(\w+)"', got.group(1)))


def check(text):
    """What promtool finds wrong with a text of metrics; empty: nothing."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, timeout=120, check=False)
    return done.stdout + done.stderr
