#!/usr/bin/env python3
"""One hostile client of a rate limit service: sends the bytes of a careless or malicious peer.

usage: hostile_client.py LOAD PORT [--connections N] [--seconds S] [--count N] [--blind]

LOAD is a key of LOADS. A connection that the server ends is made again at once. --count: the load
ends after this number of its calls. --blind: each call counts as answered when it is sent, for a
server that does not answer (sink.py). Prints one line of JSON, with the counts of connections, calls and bytes.
"""

import argparse
import collections
import errno
import gzip
import json
import select
import socket
import time

import frames

READ = 262_144
STREAMS = 250  # at the same time; a server allows 256
FIRST, SHORT = frames.fields()
CALL = frames.message(frames.rate_limit_request(b"edge", b"hostile"))


class Peer:
    """One connection."""

    def __init__(self):
        self.socket = None
        self.reader = frames.FrameReader()
        self.unsent = memoryview(b"")
        self.next_stream = 3
        self.in_flight = 0
        self.begun = time.monotonic()
        self.step = 0

    def take_streams(self, count):
        """The id of the first of them."""
        first = self.next_stream
        self.next_stream += 2 * count
        return first


class Load:
    """The behaviour of one kind of client. `calls` counts its repetitions."""

    connections = 8

    def __init__(self, options):
        self.options = options
        self.calls = self.answered = self.decided = 0

    def begin(self, peer):
        """The first bytes of a connection."""
        return frames.hello() + frames.call(1, FIRST, CALL)

    def more(self, peer):
        """Returns the next bytes to send; empty: nothing is sent now."""
        return b""

    def received(self, peer, data):
        """Called when more bytes have arrived."""

    def tick(self, peers):
        """Called once in a second."""

    @property
    def reads(self):
        return True

    @property
    def is_over(self):
        return self.options.count and self.answered >= self.options.count


class Repeat(Load):
    """One frame again and again, after `once`."""

    once = b""

    def __init__(self, options):
        super().__init__(options)
        self.repeated = self.frame() * (1_000_000 // len(self.frame()) + 1)

    def begin(self, peer):
        return super().begin(peer) + self.once

    def more(self, peer):
        return self.repeated


class Settings(Repeat):
    def frame(self):
        return frames.settings(INITIAL_WINDOW_SIZE=frames.FIRST_WINDOW)


class Ping(Repeat):
    def frame(self):
        return frames.frame(frames.PING, 0, 0, bytes(8))


class Priority(Repeat):
    def frame(self):
        return frames.frame(frames.PRIORITY, 0, 9, bytes([0, 0, 0, 0, 15]))


class WindowUpdates(Repeat):
    """On a stream that stays open, of the smallest size, so that its window is never too large."""

    once = frames.frame(frames.HEADERS, frames.END_HEADERS, 3, SHORT)

    def frame(self):
        return frames.window(3, 1)


class EmptyData(Repeat):
    once = frames.frame(frames.HEADERS, frames.END_HEADERS, 3, SHORT)

    def frame(self):
        return frames.frame(frames.DATA, 0, 3)


class Continuation(Repeat):
    """The fields of a request that never end, in empty frames."""

    once = frames.frame(frames.HEADERS, 0, 3, SHORT)

    def frame(self):
        return frames.frame(frames.CONTINUATION, 0, 3)


class LargeContinuation(Continuation):
    """Frames of the largest size, each with one field that the server cannot keep."""

    def frame(self):
        value = b"v" * (frames.MAX_FRAME - 6)
        return frames.frame(frames.CONTINUATION, 0, 3, b"\x00" + frames.text(b"x") + frames.text(value))


class Batches(Load):
    """Equal groups of frames, each of new streams, as fast as the socket takes them."""

    batch_size = 2_048

    def __init__(self, options):
        super().__init__(options)
        self.batches = {}

    def more(self, peer):
        # A batch belongs to a connection, because a part of it may be unsent.
        if peer not in self.batches:
            self.batches[peer] = frames.Batch(self.group(), self.batch_size, self.value)
        self.calls += self.batch_size
        return self.batches[peer].fill(peer.take_streams(self.batch_size))

    value = None


class Resets(Batches):
    """Requests that are reset before they are complete."""

    def group(self):
        return (frames.frame(frames.HEADERS, frames.END_HEADERS, 1, SHORT) +
                frames.frame(frames.RST_STREAM, 0, 1, bytes([0, 0, 0, 8])))


class DecidedResets(Batches):
    """Requests that are reset when they are complete, before their response can be sent."""

    def group(self):
        return (frames.call(1, SHORT, CALL) +
                frames.frame(frames.RST_STREAM, 0, 1, bytes([0, 0, 0, 8])))


class Bomb(Batches):
    """Fields that are 4,000 times larger than their bytes: references to one large field."""

    batch_size = 16

    def begin(self, peer):
        large = b"\x40" + frames.text(b"x") + frames.text(b"v" * 3_500)
        return frames.hello() + frames.call(1, FIRST + large, CALL)

    def group(self):
        # The large field is the newest of the table.
        return frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1,
                            b"\x83\x86" + b"\xbe" * (frames.MAX_FRAME - 2))


class Answered(Batches):
    """Whole calls, at most STREAMS at the same time, as those of a client that keeps the rules."""

    batch_size = STREAMS // 2
    block = SHORT

    def more(self, peer):
        if peer.in_flight > STREAMS - self.batch_size:
            return b""
        if self.options.blind:
            self.answered += self.batch_size
        else:
            peer.in_flight += self.batch_size
        return super().more(peer)

    def received(self, peer, data):
        ended, parts = peer.reader.count(data)
        peer.in_flight -= ended
        self.answered += ended
        self.decided += parts

    def begin(self, peer):
        peer.in_flight = 0 if self.options.blind else 1
        return super().begin(peer)

    def group(self):
        return frames.call(1, self.block, self.content())


class Keys(Answered):
    """Each call has a key that no other has. The limit of `edge` is full again at once."""

    connections = 16
    value = b"?" * frames.VALUE_SIZE
    domain = b"edge"

    def content(self):
        return frames.message(frames.rate_limit_request(self.domain, self.value))


class TightKeys(Keys):
    """As Keys, with a limit that is not full again for an hour."""

    domain = b"tight"


class Gzip(Answered):
    """Messages that unpack to more than a server takes."""

    block_of_first, block = frames.fields(gzip=True)
    unpacked = bytes(1_048_577)

    def begin(self, peer):
        peer.in_flight = 0 if self.options.blind else 1
        return frames.hello() + frames.call(1, self.block_of_first, CALL)

    def content(self):
        return frames.message(gzip.compress(self.unpacked, 9), compressed=True)


class GzipDescriptors(Gzip):
    """Messages that unpack to as much as a server takes: empty descriptors."""

    unpacked = frames.delimited(1, b"edge") + bytes([18, 0]) * ((1_048_576 - 6) // 2)


class Descriptors(Answered):
    """Messages as large as a server takes: empty descriptors."""

    batch_size = 4

    def content(self):
        return frames.message(GzipDescriptors.unpacked)


class UnknownPath(Answered):
    """Calls of a method that does not exist, with a long name, which the response contains."""

    first, block = frames.fields(path=b"/" + b"%" * 3_400)

    def begin(self, peer):
        peer.in_flight = 0 if self.options.blind else 1
        return frames.hello() + frames.call(1, self.first, CALL)

    def content(self):
        return CALL


class Oversize(Answered):
    """Messages whose stated length is more than a server takes; only a part of each is sent."""

    batch_size = 8

    def content(self):
        return frames.message(bytes(16_777_216))[:frames.FIRST_WINDOW]


class Slow(Load):
    """One byte in a second: of the connection, of the first request, or of its message."""

    connections = 1_000
    restart_after = 21  # the server has reset the request by then

    def begin(self, peer):
        peer.step = 0
        self.calls += 1
        peer.kind = self.calls % 3
        whole = super().begin(peer)
        handshake = frames.hello()
        head = frames.frame(frames.HEADERS, frames.END_HEADERS, 1, FIRST)
        peer.rest = {0: whole, 1: whole[len(handshake):], 2: CALL}[peer.kind]
        return {0: b"", 1: handshake, 2: handshake + head}[peer.kind]

    def tick(self, peers):
        for peer in peers:
            if peer.unsent:
                continue
            peer.step += 1
            if peer.kind < 2:
                peer.unsent = memoryview(peer.rest[peer.step - 1:peer.step])
                continue
            stream = peer.next_stream - 2
            if peer.step % self.restart_after == 0:
                peer.take_streams(1)
                stream += 2
                head = frames.frame(frames.HEADERS, frames.END_HEADERS, stream, SHORT)
                peer.unsent = memoryview(head)
                continue
            at = peer.step % self.restart_after % len(CALL)
            peer.unsent = memoryview(frames.frame(frames.DATA, 0, stream, CALL[at:at + 1]))


class Unread(Batches):
    """Whole calls without a pause, and nothing is read."""

    connections = 1_000
    batch_size = STREAMS

    def group(self):
        return frames.call(1, SHORT, CALL)

    @property
    def reads(self):
        return False


class Window(Batches):
    """As many calls as a connection may have, and no window for their responses. When the server
    has reset them there are new ones."""

    connections = 1_000
    batch_size = STREAMS

    def begin(self, peer):
        peer.in_flight = 1
        return frames.hello(INITIAL_WINDOW_SIZE=0) + frames.call(1, FIRST, CALL)

    def more(self, peer):
        if peer.in_flight > 1 and not self.options.blind:
            return b""
        peer.in_flight += self.batch_size
        return super().more(peer)

    def received(self, peer, data):
        ended, _ = peer.reader.count(data)
        peer.in_flight -= ended

    def group(self):
        return frames.call(1, SHORT, CALL)


class Stalled(Window):
    """As many calls as a connection may have, with large responses of which nothing is read."""

    def begin(self, peer):
        peer.in_flight = 1
        return frames.hello() + frames.call(1, UnknownPath.first, CALL)

    def group(self):
        return frames.call(1, UnknownPath.block, CALL)

    @property
    def reads(self):
        return False


class Incomplete(Window):
    """As many incomplete messages as a connection may have: STREAMS with 16 KB each."""

    connections = 200

    def group(self):
        content = frames.message(bytes(1_000_000))[:frames.MAX_FRAME]
        return frames.call(1, SHORT, content, end=0)


LOADS = {"slow": Slow, "unread": Unread, "stalled": Stalled, "window": Window, "incomplete": Incomplete,
         "reset": Resets, "reset-decided": DecidedResets, "continuation": Continuation,
         "continuation-large": LargeContinuation, "keys": Keys, "keys-tight": TightKeys,
         "settings": Settings, "ping": Ping, "priority": Priority, "window-update": WindowUpdates,
         "hpack": Bomb, "gzip": Gzip, "gzip-descriptors": GzipDescriptors,
         "descriptors": Descriptors, "unknown-path": UnknownPath, "oversize": Oversize,
         "empty-data": EmptyData}


class Client:
    """Makes the connections of a load and moves their bytes."""

    def __init__(self, load, port, connections):
        self.load, self.port = load, port
        self.counts = collections.Counter()
        self.poll = select.epoll()
        self.peers = {}
        self.wanted = connections

    def connect(self):
        peer = Peer()
        peer.socket = socket.socket()
        peer.socket.setblocking(False)
        if not self.load.reads:
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        error = peer.socket.connect_ex(("127.0.0.1", self.port))
        if error not in (0, errno.EINPROGRESS):
            self.counts["connects_failed"] += 1
            peer.socket.close()
            return
        self.counts["connections"] += 1
        peer.unsent = memoryview(self.load.begin(peer))
        self.peers[peer.socket.fileno()] = peer
        self.poll.register(peer.socket, self.events(peer, wants_write=True))

    def events(self, peer, wants_write):
        return (select.EPOLLIN if self.load.reads else 0) | (select.EPOLLOUT if wants_write else 0)

    def drop(self, peer):
        del self.peers[peer.socket.fileno()]
        if hasattr(self.load, "batches"):
            self.load.batches.pop(peer, None)
        peer.socket.close()
        self.counts["cut"] += 1

    def read(self, peer):
        """False: the connection has ended."""
        try:
            data = peer.socket.recv(READ)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.counts["bytes_received"] += len(data)
        self.load.received(peer, data)
        return bool(data)

    def write(self, peer):
        """False: the connection has ended."""
        if not peer.unsent:
            peer.unsent = memoryview(self.load.more(peer))
        if not peer.unsent:
            self.poll.modify(peer.socket, self.events(peer, wants_write=False))
            return True
        try:
            count = peer.socket.send(peer.unsent)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.counts["bytes_sent"] += count
        peer.unsent = peer.unsent[count:]
        return True

    def serve(self, descriptor, events):
        peer = self.peers.get(descriptor)
        if peer is None:
            return
        lives = not events & (select.EPOLLHUP | select.EPOLLERR)
        if lives and events & select.EPOLLIN:
            lives = self.read(peer)
            if lives and not events & select.EPOLLOUT:
                self.poll.modify(peer.socket, self.events(peer, wants_write=True))
        if lives and events & select.EPOLLOUT:
            lives = self.write(peer)
        if not lives:
            self.drop(peer)

    def run(self, seconds):
        begun = time.monotonic()
        end, tick = begun + seconds, begun + 1
        while (now := time.monotonic()) < end and not self.load.is_over:
            if now >= tick:
                tick += 1
                self.load.tick(self.peers.values())
                for peer in self.peers.values():
                    if peer.unsent:
                        self.poll.modify(peer.socket, self.events(peer, wants_write=True))
            for _ in range(min(64, self.wanted - len(self.peers))):
                self.connect()
            for descriptor, events in self.poll.poll(0.05):
                self.serve(descriptor, events)
        return {"seconds": time.monotonic() - begun, "calls": self.load.calls,
                "answered": self.load.answered, "decided": self.load.decided, **self.counts}


def main():
    parser = argparse.ArgumentParser(prog="hostile_client.py")
    parser.add_argument("load", choices=LOADS)
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, help="the load's own number unless given")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--blind", action="store_true")
    options = parser.parse_args()
    load = LOADS[options.load](options)
    client = Client(load, options.port, options.connections or load.connections)
    print(json.dumps(client.run(options.seconds)))


if __name__ == "__main__":
    main()
