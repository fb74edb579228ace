"""Envoy with the configuration of deploy/envoy, on free ports.

    with Envoy(service.port) as envoy:
        envoy.get(envoy.open_port, user="ann")
"""

import http.client
import re
import urllib.request

from served import ROOT, engine

CONFIGURATION = ROOT / "deploy/envoy/envoy.yaml"
README = ROOT / "deploy/envoy/README.md"
RULES = ROOT / "deploy/envoy/rules.yaml"
# The ports of the file: the administration, the two listeners, and the example of a backend.
PORTS = (9901, 10000, 10001, 10002)
SERVICE_PORT = 8081
GRPC_SERVICE = "grpc_service: {envoy_grpc: {cluster_name: weir}}"
CLUSTER = "    - name: weir\n"
AUTHORIZATION = (', initial_metadata: [{key: authorization, value: "Bearer %s"}, '
                 '{key: x-request-id, value: "%%REQ(x-request-id):128%%"}]}')


class Envoy(engine.Engine):
    """`backend_port`: of a backend instead of the file's example. `token`: sent to the service.
    `tls`: by their names in the README, the files of a connection with TLS."""

    needs = engine.ENGINES / "service/stamp"
    extra_ports = len(PORTS) - 1

    def __init__(self, service_port, backend_port=None, token=None, tls=None):
        self.service_port, self.backend_port = service_port, backend_port
        self.token, self.tls = token, tls

    def command(self, *ports):
        self.open_port, self.closed_port = ports[1:3]
        text = CONFIGURATION.read_text()
        head, clusters = text.split("\n  clusters:\n")
        if self.backend_port is not None:
            clusters = with_port(clusters, 10002, self.backend_port)
        text = f"{head}\n  clusters:\n{clusters}"
        for old, new in [*zip(PORTS, ports), (SERVICE_PORT, self.service_port)]:
            text = with_port(text, old, new)
        if self.token is not None:
            text = replaced(text, GRPC_SERVICE, GRPC_SERVICE[:-1] + AUTHORIZATION % self.token)
        if self.tls is not None:
            text = replaced(text, CLUSTER, CLUSTER + self.transport_socket())
        (self.folder / "envoy.yaml").write_text(text)
        return [engine.ENGINES / "service/venv/bin/envoy", "-c", self.folder / "envoy.yaml",
                "--log-level", "warning", "--concurrency", "2", "--disable-hot-restart"]

    def transport_socket(self):
        """The example of the README."""
        example, = re.findall(r"```yaml\n( +transport_socket:.*?)```", README.read_text(), re.DOTALL)
        for name, path in self.tls.items():
            example = replaced(example, name, str(path))
        return example

    def ping(self):
        with urllib.request.urlopen(f"{self.url}/ready", timeout=10):
            pass

    def statistic(self, name):
        with urllib.request.urlopen(f"{self.url}/stats?filter=^{name}$", timeout=10) as page:
            return int(page.read().decode().rpartition(":")[2])

    def get(self, port, **headers):
        """(status, headers) of one request with the headers x-NAME."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", "/", headers={f"x-{name}": str(value)
                                                    for name, value in headers.items()})
            response = connection.getresponse()
            response.read()
            return response.status, {name.lower(): value for name, value in response.getheaders()}
        finally:
            connection.close()


def replaced(text, old, new):
    if old not in text:
        raise engine.Failed(f"deploy/envoy has no '{old}'")
    return text.replace(old, new)


def with_port(text, old, new):
    return replaced(text, f"port_value: {old}}}", f"port_value: {new}}}")
