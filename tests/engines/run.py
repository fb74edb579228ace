#!/usr/bin/env python3
"""Runs a command beside a real engine and passes its exit code on.

usage: run.py [--engine dynoxide|moto|dynamodb-local|kinesis-local|ferrokinesis] [--faults]
              -- COMMAND...

COMMAND gets WEIR_TEST_DYNAMODB and AWS_ENDPOINT_URL_DYNAMODB, or of an engine for Kinesis
AWS_ENDPOINT_URL_KINESIS (where the engine answers), a region and credentials it takes, and
WEIR_TEST_DYNOXIDE_CONTROL from dynoxide. No other AWS setting of the caller reaches it. With moto
signatures are verified. Without the engine the exit code is 1.

--faults: dynoxide keeps its data in a file, and there is a proxy before it. COMMAND gets
WEIR_TEST_PROXY, where that answers, and WEIR_TEST_CONTROL, the port that takes the lines of
fault_proxy.py.
"""

import argparse
import contextlib
import signal
import sys

sys.dont_write_bytecode = True  # the sources stay as they are
import engine  # noqa: E402
import fault_proxy  # noqa: E402

ENGINES = {"dynoxide": engine.Dynoxide, "moto": lambda: engine.Moto(verify=True),
           "dynamodb-local": engine.DynamoDbLocal, "kinesis-local": engine.KinesisLocal,
           "ferrokinesis": engine.Ferrokinesis}


def run(command, environment, meanwhile=None):
    """As a shell tells it: a command that a signal ended gives 128 and the signal. `meanwhile` is
    done again and again until then."""
    try:
        process = engine.start(command, env=environment)
    except OSError as error:
        raise engine.Failed(f"cannot run {command[0]}: {error.strerror}") from None
    try:
        while meanwhile is not None and process.poll() is None:
            meanwhile()
        code = process.wait()
    finally:
        process.kill()
    return code if code >= 0 else 128 - code


def run_with_faults(command, running):
    with contextlib.ExitStack() as stack:
        proxy = stack.enter_context(fault_proxy.FaultProxy(running))
        control = stack.enter_context(fault_proxy.Control(proxy))
        return run(command, running.environment() | {
            "WEIR_TEST_PROXY": proxy.url, "WEIR_TEST_CONTROL": str(control.port)},
            control.serve_once)


def started(arguments):
    return engine.Dynoxide(durable=True) if arguments.faults else ENGINES[arguments.engine]()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--engine", choices=ENGINES, default="dynoxide")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if arguments.faults and arguments.engine != "dynoxide":
        parser.error("--faults is for dynoxide")
    # Ended from outside, the blocks below still stop what they began.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with started(arguments) as running:
            if arguments.faults:
                code = run_with_faults(arguments.command, running)
            else:
                code = run(arguments.command, running.environment())
            if code != 0:
                print(f"run.py: the engine's last words:\n{running.log_tail()}", file=sys.stderr)
            return code
    except engine.Failed as failure:
        print(f"run.py: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
