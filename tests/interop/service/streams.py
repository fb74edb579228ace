"""Many requests at the same time, through one event loop: a backend whose responses end when the test
says so, and the clients."""

import asyncio
import contextlib
import re

OPENED_SECONDS = 30


async def read_head(reader):
    return (await reader.readuntil(b"\r\n\r\n")).decode()


def header(head, name):
    found = re.search(rf"^{name}: *(.*?)\r$", head, re.MULTILINE | re.IGNORECASE)
    return found[1] if found else None


class Backend:
    """Answers with the cost that the request's x-cost states, and ends its responses when
    end_responses() is called."""

    def __init__(self):
        self.opened, self.ends = 0, asyncio.Event()

    async def serve(self, reader, writer):
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            cost = header(await read_head(reader), "x-cost")
            writer.write(f"HTTP/1.1 200 OK\r\nx-tokens: {cost}\r\ntransfer-encoding: chunked\r\n"
                         "connection: close\r\n\r\n5\r\nbegin\r\n".encode())
            self.opened += 1
            await self.ends.wait()
            writer.write(b"3\r\nend\r\n0\r\n\r\n")
            await writer.drain()

    def end_responses(self):
        self.ends.set()

    async def wait_for(self, opened):
        async with asyncio.timeout(OPENED_SECONDS):
            while self.opened < opened:
                await asyncio.sleep(0.02)

    @contextlib.asynccontextmanager
    async def listening(self):
        """Yields the port."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=2000)
        async with server:
            yield server.sockets[0].getsockname()[1]
            self.ends.set()


async def get(port, **headers):
    """The head of the response and its body, which is read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.closing(writer):
        lines = "".join(f"x-{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{lines}\r\n".encode())
        return await read_head(reader), await reader.read()


def status(head):
    return int(head.split(" ")[1])
