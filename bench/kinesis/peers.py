#!/usr/bin/env python3
"""Installs the other producers into build/deps/kinesis, pinned by version and by hash.

usage: peers.py          aiokpl (PyPI) and the Kinesis Producer Library (Maven)
       peers.py lock     resolve requirements.in again, write requirements.txt

What is installed already is left alone. Packages come from where pip and mvn are configured to get
them.
"""

import hashlib
import os
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True  # the sources stay as they are
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "tests/engines"))
import install  # noqa: E402

PEERS = ROOT / "build/deps/kinesis"
AIOKPL, KPL = PEERS / "aiokpl", PEERS / "kpl"
REQUIREMENTS, POM, SUMS = HERE / "requirements.txt", HERE / "pom.xml", HERE / "jars.sha256"
DRIVER = HERE / "KplDriver.java"


def install_aiokpl(folder):
    interpreter = install.make_venv(folder / "venv")
    install.install_pinned(interpreter, REQUIREMENTS)
    install.pip(interpreter, "check")
    # What is used gets compiled now, also where the caller's setting forbids it; the rest never.
    compiling = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    install.run(interpreter, "-c", "import aiokpl", env=compiling)


def check_jars(folder):
    wanted = dict(reversed(line.split()) for line in SUMS.read_text().splitlines())
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest()
             for jar in folder.glob("*.jar")}
    for name in wanted.keys() | found.keys():
        if wanted.get(name) != found.get(name):
            raise install.Failed(f"{name}: sha256 is {found.get(name)}, should be "
                                 f"{wanted.get(name)} ({SUMS.name})")


def install_kpl(folder):
    for tool in ("mvn", "javac"):
        if shutil.which(tool) is None:
            raise install.Failed(f"{tool} is missing: install it to fetch and drive the Kinesis "
                                 "Producer Library (Debian: maven and default-jdk-headless)")
    install.run("mvn", "--quiet", "--batch-mode", "--file", POM, "dependency:copy-dependencies",
                f"-DoutputDirectory={folder}/jars")
    check_jars(folder / "jars")
    install.run("javac", "-d", folder / "classes", "-cp", f"{folder}/jars/*", DRIVER)
    (folder / "tmp").mkdir()  # where the library unpacks the program that it starts


def install_all():
    PEERS.mkdir(parents=True, exist_ok=True)
    with install.alone():
        install.once(AIOKPL, REQUIREMENTS.read_text(), install_aiokpl)
        install.once(KPL, POM.read_text() + SUMS.read_text() + DRIVER.read_text(), install_kpl)


def aiokpl():
    """A command; endpoint and count follow."""
    return [AIOKPL / "venv/bin/python", HERE / "aiokpl_driver.py"]


def kpl():
    """A command; a port of localhost and count follow."""
    return ["java", f"-Djava.io.tmpdir={KPL}/tmp", "-cp", f"{KPL}/classes:{KPL}/jars/*",
            "KplDriver"]


def main():
    try:
        if sys.argv[1:] == ["lock"]:
            install.lock_requirements(REQUIREMENTS)
        elif sys.argv[1:]:
            print(__doc__, file=sys.stderr)
            return 2
        install_all()
    except (install.Failed, OSError) as failure:
        print(f"peers: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
