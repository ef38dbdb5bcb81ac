"""Real repositories for tests: bare ones, whose commits are made in one process each."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WHO = "Sample <sample@example.invalid> 1700000000 +0000"


@dataclass(frozen=True)
class Repository:
    """A bare repository that a test fills and looks into."""

    path: Path

    def run(self, *args: str, data: bytes = b"", cwd: Path | None = None) -> str:
        command = ["git", "-c", "user.name=Sample", "-c", "user.email=sample@example.invalid", *args]
        done = subprocess.run(command, cwd=cwd or self.path, input=data, capture_output=True, check=True)
        return done.stdout.decode(errors="backslashreplace").strip()

    def commits(
        self, trees: Sequence[Mapping[str, str]], ref: str = "refs/heads/main", parent: str = ""
    ) -> list[str]:
        """Commits one tree after another on a ref, each complete in itself."""
        lines: list[str] = []
        for number, files in enumerate(trees, start=1):
            lines += [f"commit {ref}", f"mark :{number}", f"committer {WHO}", "data 1", "m"]
            if number == 1 and parent:
                lines.append(f"from {parent}")
            lines.append("deleteall")
            for path, content in files.items():
                lines += [f"M 100644 inline {path}", f"data {len(content.encode())}", content]
        marks = self.path / "marks"
        script = "\n".join([*lines, "done", ""]).encode()
        self.run("fast-import", "--quiet", "--force", "--done", f"--export-marks={marks}", data=script)
        return [line.split()[1] for line in sorted(marks.read_text().splitlines(), key=_mark)]

    def commit(self, files: Mapping[str, str], ref: str = "refs/heads/main", parent: str = "") -> str:
        """One commit on a ref."""
        return self.commits([files], ref, parent)[0]

    def refs(self, prefix: str) -> dict[str, str]:
        """The commits of all refs at or below a path."""
        lines = self.run("for-each-ref", "--format=%(refname) %(objectname)", prefix).splitlines()
        return dict(line.split() for line in lines)

    def check_out(self, directory: Path, branch: str, *, start: str = "") -> Path:
        """A new worktree of a branch, which is made at `start` when that is given."""
        target = ["-b", branch, "--no-track", str(directory), start] if start else [str(directory), branch]
        self.run("worktree", "add", "--quiet", *target)
        return directory


def _mark(line: str) -> int:
    return int(line.split()[0][1:])


def bare(path: Path) -> Repository:
    """A new empty bare repository."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", "--template=", str(path)], check=True)
    return Repository(path)
