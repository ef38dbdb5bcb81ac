"""Gates that answer what they were told to."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Evidence, Failed, Passed, Verdict
from orchestrator.ports.gate import Gate, Question

Answer: TypeAlias = Verdict | BaseException | Callable[[Question], Awaitable[Verdict]]
"""A verdict to give, an error to raise, or a function that answers."""


class ScriptedGates:
    """The registered gates of an installation; what was not scripted passes.

    ``asked`` lists every question with its gate, oldest first.
    """

    def __init__(self, answers: Mapping[GateName, Answer] | None = None) -> None:
        """Each gate of ``answers`` gives that answer every time."""
        self.asked: list[tuple[GateName, Question]] = []
        self._standing: dict[GateName, Answer] = dict(answers or {})
        self._next: dict[GateName, list[Answer]] = {}

    def bind(self) -> Mapping[GateName, Gate]:
        """The gates as the engine asks them."""
        return {name: self._bound(name) for name in GateName}

    def always(self, gate: GateName, answer: Answer) -> None:
        """``gate`` gives this answer from now on."""
        self._standing[gate] = answer
        self._next.pop(gate, None)

    def then(self, gate: GateName, answers: Iterable[Answer]) -> None:
        """``gate`` gives these answers one after the other, and its standing one afterwards."""
        self._next.setdefault(gate, []).extend(answers)

    def names_asked(self) -> list[GateName]:
        """Which gates were asked, oldest first."""
        return [gate for gate, _ in self.asked]

    def _bound(self, name: GateName) -> Gate:
        async def gate(question: Question) -> Verdict:
            self.asked.append((name, question))
            waiting = self._next.get(name)
            answer = waiting.pop(0) if waiting else self._standing.get(name, passing)
            if isinstance(answer, BaseException):
                raise answer
            return await answer(question) if callable(answer) else answer

        return gate


async def passing(question: Question) -> Verdict:
    """Pass for the head that the question is about."""
    return Passed(question.head.code, question.head.commit, Evidence(source="script"))


def failing(*findings: str, reason: str = "it is wrong") -> Callable[[Question], Awaitable[Verdict]]:
    """An answer that refuses the head that the question is about, with these findings."""

    async def answer(question: Question) -> Verdict:
        return Failed(
            question.head.code,
            question.head.commit,
            reason,
            findings=findings,
            evidence=Evidence(source="report.md"),
        )

    return answer
