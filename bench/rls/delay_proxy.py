#!/usr/bin/env python3
"""Forwards connections, and delays each piece that the target sends.

usage: delay_proxy.py TARGET_PORT MILLISECONDS

Prints its port. tests/engines/fault_proxy.py does more, and passes fewer requests a second.
"""

import asyncio
import sys


class Half(asyncio.Protocol):
    """One direction of a connection."""

    def __init__(self, delay):
        self.delay, self.other, self.early = delay, None, []
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        if self.other is None:
            self.early.append(data)
        elif self.delay:
            asyncio.get_running_loop().call_later(self.delay, self.pass_on, data)
        else:
            self.pass_on(data)

    def pass_on(self, data):
        if not self.other.is_closing():
            self.other.write(data)

    def connection_lost(self, _):
        if self.other is not None:
            self.other.close()


class Accepted(Half):
    def __init__(self, port, delay):
        super().__init__(0)
        self.port, self.response_delay = port, delay

    def connection_made(self, transport):
        super().connection_made(transport)
        asyncio.get_running_loop().create_task(self.connect())

    async def connect(self):
        target = Half(self.response_delay)
        target.other = self.transport
        loop = asyncio.get_running_loop()
        self.other, _ = await loop.create_connection(lambda: target, "127.0.0.1", self.port)
        for data in self.early:
            self.pass_on(data)


async def main(port, milliseconds):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Accepted(port, milliseconds / 1_000), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
