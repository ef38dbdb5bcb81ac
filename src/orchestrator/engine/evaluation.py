"""Asking a gate: the only place where an adapter's error becomes an answer."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from orchestrator.errors import AdapterError, Unavailable
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Inconclusive, Verdict
from orchestrator.ports.gate import Gate, Question

SOON: Final = timedelta(seconds=5)
LATER: Final = timedelta(seconds=60)


class Evaluation:
    """Asks registered gates; a gate that is not registered is a bug, not an answer."""

    def __init__(self, gates: Mapping[GateName, Gate]) -> None:
        self._gates = gates

    async def ask(self, gate: GateName, question: Question) -> Verdict:
        """The gate's answer; an adapter error is ``Inconclusive``, a bug in a gate goes up to the worker."""
        try:
            return await self._gates[gate](question)
        except Unavailable as error:
            return Inconclusive(str(error), SOON)
        except AdapterError as error:
            return Inconclusive(str(error), LATER)
