"""Bytes of HTTP/2 (RFC 9113) and of gRPC calls of ShouldRateLimit, for hostile_client.py."""

import os
import struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING = 0, 1, 2, 3, 4, 6
WINDOW_UPDATE, CONTINUATION = 8, 9
END_STREAM = ACK = 1
END_HEADERS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
INITIAL_WINDOW_SIZE = 4
LARGEST_WINDOW = 2**31 - 1
FIRST_WINDOW = 65_535
MAX_FRAME = 16_384
FRAME_HEAD = 9
PATH = b"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
VALUE_SIZE = 16
ID_AT = 5  # within a frame's head
NEWEST_INDEX = 62  # of the newest field in the dynamic table (RFC 7541, 2.3.3)


def frame(kind, flags, stream, payload=b""):
    return (struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) +
            payload)


def settings(**values):
    """values: INITIAL_WINDOW_SIZE, ..."""
    entries = b"".join(struct.pack(">HI", globals()[name], value) for name, value in values.items())
    return frame(SETTINGS, 0, 0, entries)


def window(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def hello(**values):
    """The begin of a connection: its window is as large as it can be, so that no other update of
    it is needed. The acknowledgement may precede the settings that it acknowledges, because nghttp2
    has submitted them before it reads."""
    return (PREFACE + settings(**values) + window(0, LARGEST_WINDOW - FIRST_WINDOW) +
            frame(SETTINGS, ACK, 0))


def text(value):
    """A string literal of HPACK without Huffman's code, of at most 16,383 bytes."""
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest = len(value) - 127
    if rest < 128:
        return bytes([127, rest]) + value
    return bytes([127, rest & 127 | 128, rest >> 7]) + value


def fields(path=PATH, gzip=False):
    """The fields of a call, which the table keeps, and the short form of the same for later calls
    of the connection."""
    kept = [b"\x44" + text(path), b"\x41" + text(b"ratelimit"),
            b"\x5f" + text(b"application/grpc"), b"\x40" + text(b"te") + text(b"trailers")]
    if gzip:
        kept.append(b"\x40" + text(b"grpc-encoding") + text(b"gzip"))
    post_http = b"\x83\x86"
    references = bytes(128 | NEWEST_INDEX + i for i in reversed(range(len(kept))))
    return post_http + b"".join(kept), post_http + references


def delimited(field, value):
    """A field of a protobuf message, with a value of less than 128 bytes."""
    return bytes([field << 3 | 2, len(value)]) + value


def rate_limit_request(domain, value):
    entry = delimited(1, b"user") + delimited(2, value)
    return delimited(1, domain) + delimited(2, delimited(1, entry))


def message(content, compressed=False):
    return struct.pack(">BI", compressed, len(content)) + content


def call(stream, block, content, end=END_STREAM):
    """The frames of one call with the message `content`, whose flags end the request unless `end`
    is 0."""
    parts = [content[at:at + MAX_FRAME] for at in range(0, len(content), MAX_FRAME)] or [b""]
    return (frame(HEADERS, END_HEADERS, stream, block) +
            b"".join(frame(DATA, 0, stream, part) for part in parts[:-1]) +
            frame(DATA, end, stream, parts[-1]))


class Batch:
    """`count` equal groups of frames, whose stream ids and random values are replaced in one step."""

    def __init__(self, group, count, value=None):
        """`group`: frames of stream 1. `value`: what to replace by a random value."""
        self.count, self.size = count, len(group)
        self.bytes = bytearray(group * count)
        self.heads = []
        at = 0
        while at < len(group):
            self.heads.append(at + ID_AT)
            at += FRAME_HEAD + int.from_bytes(group[at:at + 3], "big")
        self.value_at = None if value is None else group.index(value)

    def fill(self, first_stream):
        """The next streams are `first_stream` and every second id after it."""
        ids = struct.pack(f">{self.count}I",
                          *range(first_stream, first_stream + 2 * self.count, 2))
        for head in self.heads:
            for i in range(4):
                self.bytes[head + i::self.size] = ids[i::4]
        if self.value_at is not None:
            values = os.urandom(VALUE_SIZE // 2 * self.count).hex().encode()
            for i in range(VALUE_SIZE):
                self.bytes[self.value_at + i::self.size] = values[i::VALUE_SIZE]
        return self.bytes


class FrameReader:
    """Splits the bytes of a server into frames."""

    def __init__(self):
        self.rest = b""

    def read(self, data):
        """Yields (kind, flags, stream) of each complete frame."""
        data = self.rest + data
        at, size = 0, len(data)
        while at + FRAME_HEAD <= size:
            end = at + FRAME_HEAD + (data[at] << 16 | data[at + 1] << 8 | data[at + 2])
            if end > size:
                break
            yield data[at + 3], data[at + 4], int.from_bytes(data[at + 5:at + 9], "big")
            at = end
        self.rest = data[at:]

    def count(self, data):
        """The number of streams that the server has ended in this data, and of frames with a part of
        a response. As read(), but faster."""
        data = self.rest + data
        at, size, ended, parts = 0, len(data), 0, 0
        while at + FRAME_HEAD <= size:
            end = at + FRAME_HEAD + (data[at] << 16 | data[at + 1] << 8 | data[at + 2])
            if end > size:
                break
            kind = data[at + 3]
            if kind == DATA:
                parts += 1
            if kind == RST_STREAM or kind <= HEADERS and data[at + 4] & END_STREAM:
                ended += 1
            at = end
        self.rest = data[at:]
        return ended, parts
