"""What models cost.

The figures are those that the CLI ``claude`` charges itself, in US dollars for a million tokens: measured on
its version 2.1.332, from the cost that it reported of runs whose usage was known.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.ports.agent import Usage

LONG_PROMPT_TOKENS: Final = 100_000
"""Tokens of a prompt, cached or not, above which an answer is charged by ``Price.long_prompt``."""

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """What a model charges, in US dollars for a million tokens; ``cache_write`` is for five minutes.

    ``long_prompt`` are its prices for an answer to a long prompt, where they are others.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_prompt: "Price | None" = None

    def cost(self, usage: Usage) -> float:
        """What one answer costs, in US dollars; of the sum of many answers an estimate that is never too low.

        The cost that ``usage`` states itself is left out of account.
        """
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if self.long_prompt is not None and prompt > LONG_PROMPT_TOKENS:
            return self.long_prompt.cost(usage)
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        ) / _MILLION


PRICES: Final[Mapping[str, Price]] = {
    "claude-3-5-haiku": Price(0.8, 4, 0.08, 1),
    "claude-3-5-sonnet": Price(3, 15, 0.3, 3.75),
    "claude-3-7-sonnet": Price(3, 15, 0.3, 3.75),
    "claude-fable-5": Price(10, 50, 1, 12.5),
    "claude-fable-5-1": Price(10, 50, 0.25, 12.5),
    "claude-fable-5-2": Price(8, 40, 0.2, 10),
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, long_prompt=Price(0.5, 2.5, 0.05, 0.625)),
    "claude-mythos-5": Price(10, 50, 1, 12.5),
    "claude-mythos-5-1": Price(10, 50, 0.25, 12.5),
    "claude-mythos-5-2": Price(8, 40, 0.2, 10),
    "claude-opus-4-5": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-6": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-7": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-8": Price(5, 25, 0.5, 6.25),
    "claude-opus-5": Price(5, 25, 0.5, 6.25),
    "claude-opus-5-5": Price(4, 20, 0.2, 5),
    "claude-sonnet-4-0": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-4-5": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-4-6": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-5": Price(2, 10, 0.2, 2.5),
    "claude-sonnet-5-5": Price(2, 10, 0.1, 2.5),
}
"""Models by the name without a date."""

ALIASES: Final[Mapping[str, str]] = {
    "fable": "claude-fable-5-2",
    "haiku": "claude-haiku-5-5",
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
}
"""Short names, and the model that the CLI takes for them."""

DEAREST: Final = max(
    PRICES.values(), key=lambda price: (price.output, price.input, price.cache_write, price.cache_read)
)
"""Stands in for a model that is not known: an estimate that is too high keeps a ceiling."""

_SUFFIXES = re.compile(r"([-@]\d{8})?(\[1m\])?$", re.IGNORECASE)


def price_of(model: str | None) -> Price:
    """The price of a model by its name, with or without a date and ``[1m]``; ``DEAREST`` if not known."""
    name = _SUFFIXES.sub("", model or "", count=1)
    return PRICES.get(ALIASES.get(name, name), DEAREST)
