#!/usr/bin/env python3
"""Prints "ready", then the signals that it got until none came for a second; ends with 7.

usage: record_signals.py [FILE]   the signals go to FILE instead
"""

import signal
import sys

WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1}
QUIET = 1.0

signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
print("ready", flush=True)
got = []
while not got or (info := signal.sigtimedwait(WATCHED, QUIET)):
    if not got:
        info = signal.sigwaitinfo(WATCHED)
    got.append(signal.Signals(info.si_signo).name)
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(" ".join(got))
else:
    print(" ".join(got), flush=True)
sys.exit(7)
