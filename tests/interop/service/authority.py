"""Certificates for tests, made by openssl."""

import subprocess

import grpc


def openssl(*words, **options):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, **options)


class Authority:
    """Signs certificates for localhost in `folder`, which exists; `name` distinguishes authorities."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", 2, "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)

    def sign(self, subject):
        """Returns the files of a certificate and its key."""
        base = self.folder / f"{self.name}-{subject}"
        key, asked, certificate = (base.with_suffix(end) for end in (".key", ".csr", ".pem"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={subject}", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                asked)
        openssl("x509", "-req", "-in", asked, "-CA", self.certificate, "-CAkey", self.key, "-days", 2,
                "-copy_extensions", "copy", "-out", certificate)
        return certificate, key

    def credentials(self, certificate=None, key=None):
        """Of a client that trusts this authority."""
        return grpc.ssl_channel_credentials(self.certificate.read_bytes(), key and key.read_bytes(),
                                            certificate and certificate.read_bytes())
