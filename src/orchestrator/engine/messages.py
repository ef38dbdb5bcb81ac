"""Every text that the orchestrator says to people in a tracker or on a forge, in English and Russian."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from typing import Final

from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.wording import Language
from orchestrator.ports.agent import Usage

_ICONS: Final[Mapping[Stage, str]] = {
    Stage.ANALYSIS: "🔎",
    Stage.ARCHITECTURE: "📐",
    Stage.DEVELOPMENT: "🛠",
    Stage.REVIEW: "👁",
    Stage.TESTING: "🧪",
    Stage.DEPLOY_STAGING: "🚦",
    Stage.DEPLOY: "🚀",
    Stage.DONE: "📈",
}

_STAGES: Final[Mapping[Language, Mapping[Stage, str]]] = {
    Language.EN: {
        Stage.ANALYSIS: "requirements are written",
        Stage.ARCHITECTURE: "the design is decided",
        Stage.DEVELOPMENT: "the code is written",
        Stage.REVIEW: "the code was reviewed",
        Stage.TESTING: "the tests were run",
        Stage.DEPLOY_STAGING: "staging was checked",
        Stage.DEPLOY: "production was deployed",
        Stage.DONE: "production was watched",
    },
    Language.RU: {
        Stage.ANALYSIS: "требования описаны",
        Stage.ARCHITECTURE: "решение спроектировано",
        Stage.DEVELOPMENT: "код написан",
        Stage.REVIEW: "код проверен ревьюером",
        Stage.TESTING: "тесты выполнены",
        Stage.DEPLOY_STAGING: "стейджинг проверен",
        Stage.DEPLOY: "выполнен деплой в продакшен",
        Stage.DONE: "продакшен наблюдался",
    },
}

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.EN: {
        "verdict": "Verdict",
        "duration": "Duration",
        "documents": "Documents",
        "in": "in",
        "out": "out",
        "pull": "Work item {id}, branch {branch}. Opened and (when every gate passed) merged by us.",
        "hold": "On hold: {reason}. Who can unblock it: {who}.",
        "approve": "The analysis is ready. Set the state to Approved (or Rejected, with a comment).",
        "confirm": "Merged as {commit}. Set the state to Confirm Deploy to let production change.",
    },
    Language.RU: {
        "verdict": "Вердикт",
        "duration": "Длительность",
        "documents": "Документы",
        "in": "вход",
        "out": "выход",
        "pull": "Задача {id}, ветка {branch}. Открыто оркестратором, сливается им после всех проверок.",
        "hold": "Остановлено: {reason}. Кто может снять: {who}.",
        "approve": "Анализ готов. Переведите задачу в Approved (или в Rejected с комментарием).",
        "confirm": "Слито как {commit}. Переведите задачу в Confirm Deploy, чтобы разрешить деплой.",
    },
}


@dataclass(frozen=True, slots=True)
class Messages:
    """Renders texts in the installation's language; everything that others wrote is escaped."""

    language: Language = Language.EN

    def status_comment(
        self,
        item: WorkItem,
        *,
        producer: str,
        verdict: str = "",
        artifact: str = "",
        duration: timedelta | None = None,
        usage: Usage | None = None,
    ) -> str:
        """The unified status comment of one piece of work (ORCH-016), as HTML."""
        words = _WORDS[self.language]
        what = _STAGES[self.language].get(item.stage, item.stage)
        lines = [f"{_ICONS.get(item.stage, '•')} <b>{escape(producer)}</b> — {what}"]
        if verdict:
            lines.append(f"{words['verdict']}: <b>{escape(verdict)}</b>")
        if duration is not None:
            lines.append(f"{words['duration']}: {spell_duration(duration)}")
        text = "<br>".join(lines)
        if artifact:
            text += f"<br><b>{words['documents']}:</b><ul><li>{escape(artifact)}</li></ul>"
        tail = self._usage_tail(usage)
        return f"{text}<sub>{tail}</sub>" if tail else text

    def _usage_tail(self, usage: Usage | None) -> str:
        if usage is None or not (usage.input_tokens or usage.output_tokens or usage.cost_usd):
            return ""
        words = _WORDS[self.language]
        tokens = (
            f"{spell_count(usage.input_tokens)} {words['in']} / "
            f"{spell_count(usage.output_tokens)} {words['out']}"
        )
        return f"{tokens} · ${usage.cost_usd:.2f}"

    def pull_request_body(self, item: WorkItem) -> str:
        """The description of the item's pull request."""
        return _WORDS[self.language]["pull"].format(id=item.id, branch=item.branch)

    def hold_comment(self, reason: str, who: str) -> str:
        """Why the item stopped, for its comments."""
        return escape(_WORDS[self.language]["hold"].format(reason=reason, who=who))

    def approve_request(self) -> str:
        """The request for the first of the two human decisions."""
        return escape(_WORDS[self.language]["approve"])

    def confirm_request(self, commit: str) -> str:
        """The request for the second of the two human decisions (Phase A, ORCH-059)."""
        return escape(_WORDS[self.language]["confirm"].format(commit=commit[:10]))


def spell_duration(duration: timedelta) -> str:
    """A duration as people read it: ``4m 12s``, ``1h 3m``, ``0.8s``."""
    seconds = duration.total_seconds()
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest}s"
    return f"{minutes // 60}h {minutes % 60}m"


def spell_count(number: int) -> str:
    """A count as people read it: ``950``, ``45.8k``, ``8.5M``."""
    if number < 1_000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.1f}M"
