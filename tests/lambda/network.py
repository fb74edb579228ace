"""A name server and a TLS endpoint on the loopback, for a process that resolves a name and verifies
a certificate."""

import contextlib
import pathlib
import random
import select
import socket
import ssl
import struct
import subprocess
import threading

A, IN = 1, 1
BUFFER = 65536


class NameServer:
    """Answers A queries for `name` by 127.0.0.1, and all others by no record."""

    def __init__(self, name):
        self.name, self.asked = name, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # An address of its own, so that several may run at once.
        self.address = ".".join(["127", *(str(random.randint(1, 254)) for _ in range(3))])
        self.socket.bind((self.address, 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                query, sender = self.socket.recvfrom(512)
                self.socket.sendto(self.answer(query), sender)

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        question = query[12:at + 5]
        kind, = struct.unpack("!H", query[at + 1:at + 3])
        is_known = ".".join(labels).lower() == self.name
        has_record = is_known and kind == A
        self.asked += is_known
        flags = 0x8580 if is_known else 0x8583
        head = query[:2] + struct.pack("!5H", flags, 1, int(has_record), 0, 0)
        record = struct.pack("!3HIH4B", 0xC00C, A, IN, 60, 4, 127, 0, 0, 1) if has_record else b""
        return head + question + record

    def close(self):
        self.socket.close()


class TlsEndpoint:
    """Passes what it gets over TLS to a port of this machine. `on_request` is called for each part
    that a client has sent."""

    def __init__(self, folder, name, port):
        self.port_behind = port
        self.certificate = pathlib.Path(folder) / "endpoint.pem"
        key = pathlib.Path(folder) / "endpoint.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key,
                        "-out", self.certificate], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.on_request = lambda: None
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, plain):
        with contextlib.suppress(OSError, ssl.SSLError), plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.context.wrap_socket(plain, server_side=True) as client, \
                    socket.create_connection(("127.0.0.1", self.port_behind)) as behind:
                behind.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.pass_on(client, behind)

    def pass_on(self, client, behind):
        while True:
            ready = [client] if client.pending() else select.select([client, behind], [], [])[0]
            for source in ready:
                data = source.recv(BUFFER)
                if not data:
                    return
                if source is client:
                    self.on_request()
                    behind.sendall(data)
                else:
                    client.sendall(data)

    def close(self):
        self.server.close()
