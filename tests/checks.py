"""What the tests of whole programs share."""

import time


class Failed(Exception):
    """A check that did not hold."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def wait_for_bytes(path, size, process):
    """Looks again and again; the processor goes to the process that is waited for."""
    while not path.exists() or path.stat().st_size < size:
        if process.poll() is not None:
            error = process.stderr.read() if process.stderr else process.returncode
            raise Failed(f"the process ended by itself: {error}")
        time.sleep(0)
