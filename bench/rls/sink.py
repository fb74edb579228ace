#!/usr/bin/env python3
"""Reads the bytes of connections, and drops them.

usage: sink.py CUT

A connection that has sent CUT bytes is closed; 0: none is. Prints its port. The process runs only
when nothing else on its core wants to, so that it takes no time from a server there.
"""

import os
import selectors
import socket
import sys


def serve(cut):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    waiting = selectors.DefaultSelector()
    listener = socket.create_server(("127.0.0.1", 0), backlog=4_096)
    listener.setblocking(False)
    waiting.register(listener, selectors.EVENT_READ)
    print(listener.getsockname()[1], flush=True)
    buffer = bytearray(65_536)
    read = {}

    def take(connection):
        try:
            count = connection.recv_into(buffer)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        read[connection] += count
        if count == 0 or cut and read[connection] >= cut:
            waiting.unregister(connection)
            del read[connection]
            connection.close()

    while True:
        for key, _ in waiting.select():
            if key.fileobj is not listener:
                take(key.fileobj)
                continue
            try:
                connection, _ = listener.accept()
            except OSError:
                continue
            connection.setblocking(False)
            read[connection] = 0
            waiting.register(connection, selectors.EVENT_READ)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
