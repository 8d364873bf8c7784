# SPDX-License-Identifier: Apache-2.0
"""usage: move_alerts.py AT_WORK HELD TROUBLED: what `locus move run --metrics` wrote while a move went
on, while it was on hold, and while a shard did not answer. Checks alerts and dashboard; called by cli_moves_test, which has a move."""
import sys

import dashboard
import promtool


def main(at_work, held, troubled):
    with open(at_work, encoding="utf-8") as file:
        at_work = file.read()
    with open(held, encoding="utf-8") as file:
        held = file.read()
    with open(troubled, encoding="utf-8") as file:
        troubled = file.read()
    target = ("moves", "a:9100")
    for text in (at_work, held, troubled):
        assert promtool.check(text) == "", promtool.check(text)
    for scrapes, expected in (([(at_work, 60)], set()),
                              ([(at_work, 30), (held, 30)], {"LocusMoveHeld"}),
                              # It is still on hold.
                              ([(held, 30), (troubled, 30)], {"LocusMoveHeld", "LocusMoveTroubled"}),
                              ([(troubled, 30)], {"LocusMoveHeld", "LocusMoveTroubled"}),
                              # The runner was killed.
                              ([(at_work, 30), (at_work, 30, "dead")], {"LocusMoveUnattended"})):
        fired = promtool.alerts({target: scrapes})
        assert fired == expected, (fired, expected)
    faults = dashboard.faults(held, lambda name: name.startswith("locus_move_"))
    assert not faults, "\n".join(faults)


if __name__ == "__main__":
    main(*sys.argv[1:])
