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
BEGAN = "process_start_time_seconds"
NOTHING = ""  # what is scraped of a process that is not there


def _series(scrapes, target):
    """Of scrapes [(text, how often it is seen)], as promtool reads series. A runner of moves tells
    the time each time; its scrapes end with "dead" where nobody writes any more. A process begins
    at the first scrape, and behind each one that found nothing."""
    parsed = [(parse(text)[0], times, bool(dead)) for text, times, *dead in scrapes]
    for name, labels in sorted({name for samples, _, _ in parsed for name in samples}):
        values = []
        told = began = 0
        for samples, times, dead in parsed:
            value = samples.get((name, labels))
            if not samples:
                began = (len(values) + times) * INTERVAL
            for _ in range(times):
                # promtool's clock begins at 0.
                if name == TOLD and value is not None:
                    told = told if dead else len(values) * INTERVAL
                    values.append(_number(told))
                elif name == BEGAN and value is not None:
                    values.append(_number(began))
                else:
                    values.append("_" if value is None else _number(value))
        inner = labels[1:-1]
        yield {"series": f"{name}{{{target}{',' if inner else ''}{inner}}}",
               "values": " ".join(values)}


def _test(targets):
    series = []
    length = 0
    for (job, instance), scrapes in targets.items():
        series += _series(scrapes, f'job="{job}",instance="{instance}"')
        length = max(length, sum(times for _, times, *_ in scrapes))
    return {
        "interval": f"{INTERVAL}s",
        "input_series": series,
        "promql_expr_test": [{
            "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
            "eval_time": f"{(length - 1) * INTERVAL}s",
            # Never true: promtool then says what it got.
            "exp_samples": [{"labels": '{alertname="none"}', "value": -1}],
        }],
    }


def each_alerts(histories):
    """Of each: the alerts that fire at its end, by name. A history: {(job, instance): scrapes}."""
    tests = {
        "rule_files": [RULES],
        "evaluation_interval": f"{INTERVAL}s",
        "tests": [_test(targets) for targets in histories],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump(tests, file)  # which is YAML
        file.flush()
        done = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True,
                              text=True, timeout=120, check=False)
    said = done.stdout + done.stderr
    got = re.findall(r"^ *got:(.*)$", said, re.M)
    if len(got) != len(histories):
        raise AssertionError("promtool did not evaluate the rules: " + said)
    return [set(re.findall(r'alertname="(\w+)"', each)) for each in got]


def alerts(targets):
    """The same of one."""
    return each_alerts([targets])[0]


def check(text):
    """What promtool finds wrong with a text of metrics; empty: nothing."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, timeout=120, check=False)
    return done.stdout + done.stderr
