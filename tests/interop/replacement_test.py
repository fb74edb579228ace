#!/usr/bin/env python3
"""Processes of Weir and of zae-limiter 0.17.0 replace each other one by one, under load.

usage: replacement_test.py WEIR WEIR_PROCESS [UNITTEST_ARGUMENT...]
"""

import sys
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import on_table  # noqa: E402
from on_table import Callers, OnTable  # noqa: E402
from sides import limit  # noqa: E402



class Replacement(OnTable):
    def replace(self, new, processes, *, kill, gives_back):
        """`new`: makes a process of one kind, the other kind first, then of the other again."""
        callers = Callers(self, gives_back=gives_back, rpm=2)
        callers.begin(self.peer, limit("rpm", 100, 50, 1))
        kinds = [self.new_peer, self.new_weir_process][::1 if new == "weir" else -1]
        running = [kinds[0]() for _ in range(processes)]
        callers.start(*running)
        for make in (kinds[1], kinds[0]):
            for number in range(processes):
                newcomer = make()
                callers.start(newcomer)
                running.append(newcomer)
                time.sleep(0.4)
                leaves = running.pop(0)
                if kill and number % 2 == 0:
                    callers.kill(leaves)
                else:
                    callers.stop(leaves)
                    leaves.close()
        callers.stop()
        callers.check("rpm")
        self.assert_balances_agree("rpm")

    def test_weir_replaces_the_peer_and_back_while_some_are_killed(self):
        self.replace("weir", 3, kill=True, gives_back=True)

    def test_the_peer_replaces_weir_and_back(self):
        self.replace("zae-limiter", 2, kill=False, gives_back=False)


if __name__ == "__main__":
    on_table.main(__doc__)
