"""An installation whose agent is a real CLI and whose model is fake, and what is to be so after every run."""

import contextlib
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from orchestrator import demo
from orchestrator.agents.prices import Price
from orchestrator.plumbing.processes.leftovers import RUN_VARIABLE
from orchestrator.testing.models import ThreadedModelServer, TokenUsage, Turn
from tests.real_agents.puppet import TITLE, Puppet
from tests.scenario.house import House, Zygote, eventually, git

DEMO: Final = Path(demo.__file__).parent
MODEL_KEY: Final = "sk-ant-model-key-for-tests"
CANARIES: Final = {
    "ORCH_PLANE_API_TOKEN": "canary-plane-token-5127",
    "ORCH_PLANE_WEBHOOK_SECRET": "canary-plane-secret-8841",
    "ORCH_GITEA_TOKEN": "canary-gitea-token-2290",
    "ORCH_GITEA_WEBHOOK_SECRET": "canary-gitea-secret-7713",
    "AWS_SECRET_ACCESS_KEY": "canary-service-environment-6604",
}
"""Secrets of the service; none of them may reach an agent or a log."""

RATES: Final = {
    "claude-opus-4-8": Price(5, 25, 0.5, 6.25),
    "claude-opus-5-5": Price(4, 20, 0.2, 5),
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
}
"""Dollars for a million tokens, as the CLI charges them."""

_TREE: Final = shutil.ignore_patterns("__pycache__", ".*_cache", "*.pyc")
USED: Final = (
    "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), "
    "coalesce(sum(cache_read_tokens), 0), coalesce(sum(cache_write_tokens), 0), "
    "coalesce(sum(cost_usd), 0) FROM agent_runs"
)


@dataclass
class Witness:
    """Notes environment and command line of every process of a run, as long as the block lasts."""

    mark: str
    seen: dict[int, str] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            for process in psutil.process_iter():
                with contextlib.suppress(psutil.Error, OSError):
                    environment = process.environ()
                    if environment.get(RUN_VARIABLE, "").startswith(self.mark):
                        self.seen[process.pid] = f"{environment} {process.cmdline()}"


@dataclass
class Lodging:
    """A house whose agent is a real CLI, and the model that answers it."""

    house: House
    model: ThreadedModelServer
    witness: Witness
    kind: str = "claude"

    @property
    def base_url(self) -> str:
        return self.model.base_url

    def file(self) -> str:
        """File the work item that the fake model can do."""
        return self.house.file(TITLE)

    def runs(self) -> list[dict[str, Any]]:
        """The runs of all items, oldest first."""
        names = ("agent", "outcome", "exit_code", "model", "effort", "cli", "cli_version", "cost_usd")
        rows = self.house.rows("orchestrator.db", f"SELECT {', '.join(names)} FROM agent_runs ORDER BY id")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def roles(self) -> list[str]:
        """Whose runs there were, oldest first."""
        return [run["agent"] for run in self.runs()]

    def outcomes(self, role: str = "") -> list[str]:
        """How the runs ended that have ended, of all roles or of one."""
        return [run["outcome"] for run in self.runs() if run["outcome"] and role in ("", run["agent"])]

    def until(self, item: str, what: str, holds: Any, *, within: float = 40) -> dict[str, Any]:
        """The item as soon as ``holds`` is true of it."""

        def look() -> dict[str, Any] | None:
            view = self.house.view(item)
            return view if holds(view) else None

        return eventually(look, f"{item}: {what}; {self.told(item)}", within=within) or {}

    def told(self, item: str) -> str:
        view = self.house.view(item)
        return f"{view['stage']}, hold {view['hold']}, {view['explanation']}, runs {self.runs()}"

    def until_held(self, item: str) -> dict[str, Any]:
        hold: dict[str, Any] = self.until(item, "is on hold", lambda view: view["hold"])["hold"]
        return hold

    def until_analysed(self, item: str) -> dict[str, Any]:
        """The analysis is there and waits for a person: the work of the analyst was taken."""
        return self.until(
            item,
            "waits for the approval of its analysis",
            lambda view: view["stage"] == "analysis" and view["explanation"]["waits_for"] == "person",
        )

    def commands(self) -> dict[int, str]:
        """The command line of every living process of a run, by its id."""
        found = {}
        for process in self.house.processes():
            with contextlib.suppress(psutil.Error):
                found[process.pid] = " ".join(process.cmdline())
        return found

    def log_of(self, number: int = -1) -> str:
        rows = self.house.rows("orchestrator.db", "SELECT log_path FROM agent_runs ORDER BY id")
        return Path(rows[number][0]).read_text(encoding="utf-8", errors="replace")

    def logs(self) -> Iterator[tuple[Path, str]]:
        """Every file below the runs, and what the service itself said."""
        for place in (self.house.home / "runs", self.house.root / "said"):
            for path in place.rglob("*"):
                if path.is_file():
                    yield path, path.read_text(encoding="utf-8", errors="replace")

    def check(self) -> None:
        """What has to be so after every run, however it ended."""
        eventually(lambda: not self.house.told_processes(), "no process of a run is left", within=10)
        for path, text in self.logs():
            for name, canary in CANARIES.items():
                assert canary not in text, f"{name} stands in {path}"
        assert self.witness.seen, "no process of a run was seen"
        for pid, text in self.witness.seen.items():
            for name, canary in CANARIES.items():
                assert canary not in text, f"{name} was given to process {pid}"
        self.check_costs()

    def check_costs(self) -> None:
        """Tokens and money in the store are those that the fake model itself counted.

        The item may be on its way still: a run is counted when it has ended. Of an answer that broke off the
        CLI counts a part by an estimate of its own: then they are at least those of the answers that went out
        whole.
        """
        with contextlib.suppress(AssertionError):
            eventually(lambda: not self._difference(), "the store and the model count the same", within=30)
        assert not self._difference()

    def _difference(self) -> str:
        """What the store and the model do not agree on."""
        served = counted(self.model.account.served.values())
        whole = counted(self.model.account.completed.values())
        (kept,) = self.house.rows("orchestrator.db", USED)
        charged = self.model.cost(RATES) if self.kind == "claude" else 0.0
        if served != whole:
            agreed = all(mine >= theirs for mine, theirs in zip(kept[:4], whole, strict=True))
        else:
            agreed = kept[:4] == served and abs(kept[4] - charged) < 1e-6
        return (
            "" if agreed else f"kept {kept}; served {served} for ${charged}, of it in whole answers {whole}"
        )


def counted(usages: Iterable[TokenUsage]) -> tuple[int, int, int, int]:
    """Tokens read, written, read from the cache and written to it."""
    total = sum(usages, TokenUsage())
    return total.input, total.output, total.cache_read, total.cache_creation


def furnished(
    root: Path, zygote: Zygote, *, command: Path, kind: str, base_url: str, options: Sequence[str] = ()
) -> House:
    """A house with the sample service as its project and a real CLI as its agent, in an empty HOME."""
    home = root / "empty-home"
    (home / ".codex").mkdir(parents=True)
    (root / "temporary").mkdir()
    settings = {
        **CANARIES,
        "HOME": str(home),
        # The sandbox of codex takes nothing from below the directory for temporary files.
        "TMPDIR": str(root / "temporary"),
        "ORCH_AGENT_CLI": kind,
        "ORCH_AGENT_COMMAND": str(command),
        "ORCH_AGENT_BASE_URL": base_url,
        "ORCH_AGENT_API_KEY": MODEL_KEY,
        "ORCH_AGENT_MAX_RETRIES": "0",
        "ORCH_AGENT_RESULT_GRACE_S": "2",
    }
    house = House(root / "house", zygote, settings)
    shutil.copytree(DEMO / "sample", house.user, ignore=_TREE)
    git(house.user, "init", "-q", "-b", "main")
    git(house.user, "add", "-A")
    git(house.user, "commit", "-q", "-m", "The tally service")
    added = house.orch("project", "add", house.user, "--prefix", "SHOP", *options)
    assert added.code == 0, added
    return house


def puppet(root: Path, *, lead: Mapping[str, Turn] | None = None, **wrong: Any) -> Puppet:
    """The fake model, with the demo's agent in a place of its own."""
    place = root / "puppet"
    shutil.copytree(DEMO / "playbook", place / "playbook", ignore=_TREE)
    shutil.copy(DEMO / "agent.py", place / "agent.py")
    (place / "scratch").mkdir()
    return Puppet(place / "agent.py", place / "scratch", wrong=wrong, lead=dict(lead or {}))


def end(pid: int, number: int) -> None:
    """Send a signal to a process of a run."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
