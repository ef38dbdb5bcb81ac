"""The same road by bare commands: what a shell script would do that trusts everything and remembers nothing.

It is what the product's ratio is measured against, so nothing is in it that the road could do without.
"""

import shutil
import subprocess
from pathlib import Path

from ground import git
from instant import documents, write

from orchestrator.pipeline.stages import WORKING, Stage

CONTENTS = (
    "filing: fetch upstream → forge → mirror",
    "each of the 7 stages: bring the worktree to the branch's head (worktree add first; then reset --hard "
    "and clean), write the documents, add, commit, push the run's ref and the branch in one go, and read the "
    "document that the stage's gate judges from the commit",
    "CI of development: clone --shared, checkout, run the test process, delete the clone",
    "merge: fetch upstream → forge → mirror, look that the base is contained, commit-tree, update-ref, push "
    "the base to upstream, fetch",
)


class BareRoad:
    """An upstream, a bare forge and a bare mirror, laid out as the product's, for items one after another."""

    def __init__(self, root: Path, upstream: Path) -> None:
        root.mkdir(parents=True)
        self._upstream = upstream
        self._root = root
        self._forge = root / "forge.git"
        self._mirror = root / "mirror.git"
        git("clone", "--quiet", "--bare", str(upstream), str(self._forge), cwd=root)
        git("clone", "--quiet", "--bare", str(self._forge), str(self._mirror), cwd=root)
        self.commands = 0

    def go(self, item: str) -> None:
        """Everything of one item, from its filing to its merge and deploy log."""
        self._fetch()
        worktree = self._root / "worktrees" / item
        base = self._git("rev-parse", "refs/remotes/origin/main", cwd=self._mirror)
        self._git("worktree", "add", "--quiet", "--detach", str(worktree), base, cwd=self._mirror)
        for stage in WORKING:
            if stage is not Stage.ANALYSIS:
                self._git("reset", "--hard", "--quiet", cwd=worktree)
                self._git("clean", "-ffdq", cwd=worktree)
            self._deliver(item, stage, worktree)
            if stage is Stage.DEVELOPMENT:
                self._ci(item)
            if stage is Stage.DEPLOY_STAGING:
                self._merge(item)

    def tidy(self, item: str) -> None:
        """Remove the item's worktree, which is not timed on either side."""
        git("worktree", "remove", "--force", str(self._root / "worktrees" / item), cwd=self._mirror)

    def _deliver(self, item: str, stage: Stage, worktree: Path) -> None:
        texts = documents(item, stage)
        write(worktree, texts)
        self._git("add", "--all", cwd=worktree)
        self._git("commit", "--quiet", "--message", f"{stage}({item}): instant", cwd=worktree)
        refs = (f"HEAD:refs/orchestrator/{item}/0", f"HEAD:refs/heads/feature/{item}")
        self._git("push", "--quiet", "--force", str(self._forge), *refs, cwd=worktree)
        self._git("show", f"HEAD:{next(iter(texts))}", cwd=worktree)

    def _ci(self, item: str) -> None:
        clone = self._root / "ci" / item
        place = ("--shared", "--no-checkout", str(self._forge), str(clone))
        self._git("clone", "--quiet", *place, cwd=self._root)
        self._git("checkout", "--quiet", "--detach", f"origin/feature/{item}", cwd=clone)
        subprocess.run(["true"], cwd=clone, check=True)
        self.commands += 1
        shutil.rmtree(clone)

    def _merge(self, item: str) -> None:
        head, main = f"refs/heads/feature/{item}", "refs/heads/main"
        self._fetch()
        self._git("merge-base", "--is-ancestor", main, head, cwd=self._forge)
        tree, base, tip = f"{head}^{{tree}}", main, head
        made = self._git("commit-tree", tree, "-p", base, "-p", tip, "-m", f"Merge {item}", cwd=self._forge)
        self._git("update-ref", main, made, cwd=self._forge)
        self._git("push", "--quiet", str(self._upstream), main, cwd=self._forge)
        self._fetch_mirror()

    def _fetch(self) -> None:
        """Upstream → forge → mirror."""
        self._git("fetch", "--quiet", str(self._upstream), "+main:refs/upstream/main", cwd=self._forge)
        self._fetch_mirror()

    def _fetch_mirror(self) -> None:
        refs = "+refs/heads/*:refs/remotes/origin/*"
        self._git("fetch", "--quiet", "--no-tags", "--prune", str(self._forge), refs, cwd=self._mirror)

    def _git(self, *words: str, cwd: Path) -> str:
        self.commands += 1
        return git(*words, cwd=cwd)
