"""A proxy before an engine that does to requests what a bad day does, and counts them.

    with FaultProxy(engine) as proxy:
        proxy.set_mode("status 500")
        use(proxy.url)

mode                what happens to a request
pass                it is passed on, and so is the answer
status N            the answer is N with a page of HTML; the engine sees nothing
error CODE          the answer is 400 with DynamoDB's body for CODE; the engine sees nothing
swallow             taken and never answered; the engine sees nothing
reset               the connection is reset; the engine sees nothing
lose                passed on; the connection is reset instead of the answer
cut                 passed on; half of the answer, then the end
delay MS            as pass, so much later
hold N              as pass, once N are here at the same time, or after HOLD_SECONDS
tamper              as pass, but one bit of the body is another

A request goes by the mode at the moment it has come in whole. Over a socket the same is said by a
line for each connection, answered by a line: `mode ...`; `counts`, which begins anew; and, of an
engine that keeps its data in a file, `kill` and `start`.
"""

import collections
import contextlib
import http
import json
import select
import socket
import socketserver
import struct
import threading
import time
import urllib.parse

HOLD_SECONDS = 5
ARGUMENTS = {"pass": None, "status": int, "error": str, "swallow": None, "reset": None,
             "lose": None, "cut": None, "delay": int, "hold": int, "tamper": None}
KEEP, CLOSE, RESET = range(3)
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Message:
    """A request or an answer, as it came."""

    def __init__(self, head, body):
        self.head, self.body = head, body
        self.first_line, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}

    def target(self):
        return self.headers.get("x-amz-target", "").rpartition(".")[2] or "other"

    def is_last(self):
        return (self.headers.get("connection", "").lower() == "close"
                or "content-length" not in self.headers)


def read_message(stream, whole_stream=False):
    """None at the end of the stream. Without a length there is no body, or with `whole_stream` all
    there is."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        head += line
    message = Message(head, b"")
    length = message.headers.get("content-length")
    if length is not None or whole_stream:
        message.body = stream.read(None if length is None else int(length))
    return message


def tampered(body):
    """One letter in its second half is another letter or a sign: what it was in stays well-formed."""
    at = next(i for i in range(len(body) // 2, len(body)) if chr(body[i]).isalpha())
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1:]


def answer(status, content_type, body):
    return (f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def html_page(status):
    return answer(status, "text/html", f"<html><body><h1>{status}</h1></body></html>")


def dynamodb_error(code):
    return answer(400, "application/x-amz-json-1.0", json.dumps({
        "__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "Made by a test"}))


class Handler(socketserver.StreamRequestHandler):
    """One connection of a client, and one of its own to the engine."""

    disable_nagle_algorithm = True
    upstream = None

    def handle(self):
        with contextlib.suppress(OSError):
            while request := read_message(self.rfile):
                if not self.end(*self.server.proxy.serve(self, request)):
                    return

    def finish(self):
        self.forget_upstream()
        with contextlib.suppress(OSError):
            super().finish()

    def forget_upstream(self):
        if self.upstream is not None:
            self.upstream.close()
            self.upstream = self.stream = None

    def is_stale(self):
        return self.upstream is not None and bool(select.select([self.upstream], [], [], 0)[0])

    def ask(self, request):
        """The engine's answer; None if it gives none."""
        try:
            if self.is_stale():
                self.forget_upstream()
            if self.upstream is None:
                self.upstream = socket.create_connection(self.server.proxy.upstream_address)
                self.upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.stream = self.upstream.makefile("rb")
            self.upstream.sendall(request.head + request.body)
            reply = read_message(self.stream, whole_stream=True)
        except OSError:
            reply = None
        if reply is None or reply.is_last():
            self.forget_upstream()
        return reply

    def end(self, text, how):
        """Says `text`. False: the connection is over, the way `how` says."""
        self.wfile.write(text)
        if how == RESET:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            self.connection.close()
        return how == KEEP


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


class FaultProxy:
    """`url`: where to ask instead of the engine's own."""

    handler = Handler

    def __init__(self, engine):
        self.engine = engine
        there = urllib.parse.urlsplit(engine.url)
        self.upstream_address = (there.hostname, there.port)
        self.mode = ("pass", None)
        self.ended = threading.Event()  # nobody is held back any longer
        self.changed = threading.Condition()  # guards what follows
        self.counts = collections.Counter()
        self.under_way = self.peak = self.turns = 0

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), self.handler)
        self.server.proxy = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def set_mode(self, text):
        name, *words = text.split() or [""]
        if name not in ARGUMENTS or len(words) != (ARGUMENTS[name] is not None):
            raise ValueError(f"'{text}' is not a mode: one of {', '.join(ARGUMENTS)}")
        self.mode = (name, ARGUMENTS[name](words[0]) if words else None)

    def take_counts(self):
        """How often each operation was asked for since the last time; `peak`: most at once;
        `turns`: how often one came while no other was here, that is, round trips."""
        with self.changed:
            counts, self.counts = dict(self.counts), collections.Counter()
            counts["peak"], self.peak = self.peak, self.under_way
            counts["turns"], self.turns = self.turns, 0
        return counts

    def serve(self, handler, request):
        """What to say, and what becomes of the connection. When it is said, the request is no longer
        here: the next one may come at once."""
        with self.changed:
            self.counts[request.target()] += 1
            self.turns += self.under_way == 0
            self.under_way += 1
            self.peak = max(self.peak, self.under_way)
            self.changed.notify_all()
        try:
            return self.serve_by(*self.mode, handler, request)
        finally:
            with self.changed:
                self.under_way -= 1

    def serve_by(self, mode, argument, handler, request):
        if mode == "status":
            return html_page(argument), KEEP
        if mode == "error":
            return dynamodb_error(argument), KEEP
        if mode == "reset":
            return b"", RESET
        if mode == "swallow":
            handler.rfile.read()  # until the client gives up
            return b"", CLOSE
        if mode == "delay":
            self.ended.wait(argument / 1000)
        if mode == "hold":
            with self.changed:
                self.changed.wait_for(lambda: self.peak >= argument, HOLD_SECONDS)
        if mode == "tamper":
            request.body = tampered(request.body)
        reply = handler.ask(request)
        if reply is None or mode == "lose":
            return b"", RESET
        if mode == "cut":
            return reply.head + reply.body[:len(reply.body) // 2], CLOSE
        return reply.head + reply.body, CLOSE if reply.is_last() else KEEP


class Control(socketserver.TCPServer):
    """Lines about a proxy from another process. Served by the thread that runs `serve_once`, which
    must live as long as the engine: that ends with the thread which started it."""

    timeout = 0.05

    def __init__(self, proxy):
        super().__init__(("127.0.0.1", 0), self.Line)
        self.proxy = proxy
        self.verbs = {"mode": proxy.set_mode, "counts": self.counts,
                      "kill": lambda _: proxy.engine.kill(),
                      "start": lambda _: proxy.engine.start_again()}

    class Line(socketserver.StreamRequestHandler):
        timeout = 5

        def handle(self):
            with contextlib.suppress(OSError):
                self.wfile.write((self.server.obey(self.rfile.readline().decode()) + "\n").encode())

    @property
    def port(self):
        return self.server_address[1]

    def serve_once(self):
        self.handle_request()

    def counts(self, _):
        return " ".join(f"{name}={count}" for name, count in self.proxy.take_counts().items())

    def obey(self, line):
        verb, _, rest = line.strip().partition(" ")
        try:
            return f"ok {self.verbs[verb](rest) or ''}".strip()
        except Exception as error:  # goes to who asked
            return f"error {type(error).__name__}: {error}"
