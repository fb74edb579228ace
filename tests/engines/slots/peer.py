#!/usr/bin/env python3
"""rate-limiter-py 0.3.0 itself, one call for each line that it reads. Runs on the engines' Python.

    {"call": "reserve", "resource": R, "account": A, "limit": N}   -> {"id": I} or {"refused": TEXT}
    {"call": "bind", "id": I, "to": ID}                            -> {}
    {"call": "delete", "id": I}                                    -> {}
    {"call": "take", "resource": R, "account": A, "limit": N, "window": S} -> {} or {"refused": TEXT}
    {"call": "load", "service": S, "file": F}                      -> {}
    {"call": "event", "source": S, "path": P, "event": E}          -> {}
"""

import json
import sys

from limiter import fungible_limiter, non_fungible_limiter
from limiter.event_processors import EventProcessor, EventProcessorManager
from limiter.exceptions import CapacityExhaustedException
from limiter.loader import LimitLoader

reservations = {}


def reserve(resource, account, limit):
    reservation = non_fungible_limiter(resource, account, limit).get_reservation()
    reservations[reservation.id] = reservation
    return {"id": reservation.id}


def bind(id, to):
    reservations[id].create_token(to)


def delete(id):
    reservations[id].delete()


def take(resource, account, limit, window):
    fungible_limiter(resource, account, limit, window).get_token()


def load(service, file):
    LimitLoader(service).load_limits(file)


def event(source, path, event):
    manager = EventProcessorManager(processors=[EventProcessor(source, path)])
    manager.process_event(event)


CALLS = {call.__name__: call for call in (reserve, bind, delete, take, load, event)}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = CALLS[request.pop("call")](**request) or {}
        except CapacityExhaustedException as refusal:
            answer = {"refused": str(refusal)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
