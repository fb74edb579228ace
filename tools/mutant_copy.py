"""The copy of the source tree that mutants change, with a build folder of its own."""

import os
import pathlib
import shutil
import signal
import subprocess

PRESET = "test"


class Copy:
    def __init__(self, root):
        self.root = root
        self.folder = root / "build/mutants"
        self.tree = self.folder / "tree"
        self.build = self.tree / "build" / PRESET
        self.originals = {}  # of the files that the applied mutant changes

    def bring_up_to_date(self):
        """Copies what differs, with a new time of modification: the rest is not compiled again."""
        names = listed_files(self.root)
        for name in names:
            source, target = self.root / name, self.tree / name
            content = source.read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                shutil.copymode(source, target)
        for target in list(self.tree.rglob("*")):
            name = target.relative_to(self.tree)
            if name.parts[0] != "build" and target.is_file() and name not in names:
                target.unlink()
        self.share_dependencies()

    def share_dependencies(self):
        """AWS's C runtime and the like, which are built once for all folders below build."""
        shared, link = self.root / "build/deps", self.tree / "build/deps"
        link.parent.mkdir(parents=True, exist_ok=True)
        if shared.exists() and not link.exists():
            link.symlink_to(shared.resolve())

    def configure(self, alone):
        """`alone` are files that no batch includes: a mutant compiles its own files and no others."""
        paths = ";".join(str(self.tree / file) for file in alone)
        code, output = run_limited(["cmake", "--preset", PRESET, f"-DWEIR_COMPILED_ALONE={paths}"], self.tree, None)
        return "" if code == 0 else output

    def compile(self, targets):
        """Empty, or the end of the compiler's report."""
        if not targets:
            return ""
        command = ["cmake", "--build", str(self.build), "--parallel", str(os.cpu_count()), "--target", *targets]
        code, output = run_limited(command, self.tree, None)
        return "" if code == 0 else output[-4000:]

    def apply(self, mutant, patch):
        """Empty, or why not."""
        self.originals = {self.tree / file: self.content_of(file) for file in mutant.files}
        problem = applies(self.tree, patch)
        if problem:
            return problem
        git_apply(self.tree, patch)
        unchanged = [file for file in mutant.files if self.content_of(file) == self.originals[self.tree / file]]
        return f"git apply left {', '.join(unchanged)} unchanged" if unchanged else ""

    def content_of(self, file):
        path = self.tree / file
        return path.read_bytes() if path.is_file() else b""

    def restore(self):
        for path, content in self.originals.items():
            if path.is_file() and path.read_bytes() != content:
                path.write_bytes(content)
        self.originals = {}


def listed_files(root):
    """Those of git, and new ones: what the working tree holds, committed or not."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise SystemExit(f"mutants: {root} is not a git checkout, whose list of files is copied: {listed.stderr}")
    names = (pathlib.Path(name) for name in listed.stdout.split("\0") if name)
    return {name for name in names if (root / name).is_file()}


def git_apply(tree, patch, *options):
    # Within a repository, git silently skips files outside the folder in which it is called.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
    return subprocess.run(["git", "apply", "--whitespace=nowarn", *options, str(patch)], cwd=tree, env=environment,
                          capture_output=True, text=True, check=False)


def applies(tree, patch):
    """Empty, or why not."""
    done = git_apply(tree, patch, "--check")
    return "" if done.returncode == 0 else f"does not apply: {'; '.join(done.stderr.splitlines())}"


def run_limited(command, folder, limit):
    """Its exit code, negative if a signal ended it, None after `limit` seconds; and its output."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=limit)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            end_group(process)


def end_group(process):
    """The children of a build or a test end with it, also on Ctrl-C."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
