#!/usr/bin/env python3
"""Runs a command beside a real engine and passes its exit code on.

usage: run.py [--engine dynoxide|moto|dynamodb-local] -- COMMAND...

COMMAND gets WEIR_TEST_DYNAMODB and AWS_ENDPOINT_URL_DYNAMODB (where the engine answers), a region
and credentials it takes, and WEIR_TEST_DYNOXIDE_CONTROL from dynoxide. No other AWS setting of the
caller reaches it. With moto signatures are verified. Without the engine the exit code is 1.
"""

import argparse
import signal
import sys

sys.dont_write_bytecode = True  # the sources stay as they are
import engine  # noqa: E402

ENGINES = {"dynoxide": engine.Dynoxide, "moto": lambda: engine.Moto(verify=True),
           "dynamodb-local": engine.DynamoDbLocal}


def run(command, running):
    """As a shell tells it: a command that a signal ended gives 128 and the signal."""
    try:
        process = engine.start(command, env=running.environment())
    except OSError as error:
        raise engine.Failed(f"cannot run {command[0]}: {error.strerror}") from None
    try:
        code = process.wait()
    finally:
        process.kill()
    return code if code >= 0 else 128 - code


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--engine", choices=ENGINES, default="dynoxide")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    # Ended from outside, the blocks below still stop what they began.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with ENGINES[arguments.engine]() as running:
            code = run(arguments.command, running)
            if code != 0:
                print(f"run.py: the engine's last words:\n{running.log_tail()}", file=sys.stderr)
            return code
    except engine.Failed as failure:
        print(f"run.py: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
