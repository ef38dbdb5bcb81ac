"""What a run costs by the table of prices."""

import json
from dataclasses import asdict

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrator.agents.prices import ALIASES, DEAREST, LONG_PROMPT_TOKENS, PRICES, price_of
from orchestrator.ports.agent import Usage

ONE_OF_EACH = Usage(
    input_tokens=1_000, output_tokens=1_000, cache_read_tokens=1_000, cache_write_tokens=1_000
)


def test_each_kind_of_token_has_its_own_price():
    price = PRICES["claude-opus-5-5"]
    assert price.cost(Usage(input_tokens=1_000_000)) == 4
    assert price.cost(Usage(output_tokens=1_000_000)) == 20
    assert price.cost(Usage(cache_read_tokens=1_000_000)) == 0.2
    assert price.cost(Usage(cache_write_tokens=1_000_000)) == 5
    assert price.cost(ONE_OF_EACH) == pytest.approx(0.0292)


def test_the_cost_that_a_usage_states_itself_is_not_added():
    assert price_of("claude-opus-5-5").cost(Usage(input_tokens=1_000, cost_usd=9)) == pytest.approx(0.004)


@pytest.mark.parametrize("name", sorted(PRICES))
@pytest.mark.parametrize("suffix", ["", "-20251101", "@20251101", "[1m]", "-20251101[1m]"])
def test_a_name_has_its_price_with_or_without_a_date_and_a_long_context(name, suffix):
    assert price_of(name + suffix) == PRICES[name]


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_a_short_name_has_the_price_of_its_model(alias):
    assert price_of(alias) == PRICES[ALIASES[alias]]
    assert price_of(f"{alias}[1m]") == PRICES[ALIASES[alias]]


@given(
    st.none() | st.text() | st.sampled_from(["claude-fable-1", "claude-opus-5-55", "claude-opus-5-5-2025"])
)
def test_an_unknown_model_costs_as_much_as_any(name):
    assume(name not in {*PRICES, *ALIASES})
    assert price_of(name) == DEAREST


def test_no_known_model_costs_more_than_an_unknown_one():
    assert max(price.cost(ONE_OF_EACH) for price in PRICES.values()) == DEAREST.cost(ONE_OF_EACH)


def test_an_answer_to_a_long_prompt_is_charged_whole_at_its_own_price():
    price = PRICES["claude-haiku-5-5"]
    at_the_limit = Usage(input_tokens=LONG_PROMPT_TOKENS, output_tokens=1_000)
    assert price.cost(at_the_limit) == pytest.approx(0.0105)
    assert price.cost(at_the_limit + Usage(cache_read_tokens=1_000)) == pytest.approx(0.05255)


def test_the_table_can_be_written_as_json():
    assert (
        json.loads(json.dumps({name: asdict(price) for name, price in PRICES.items()})).keys()
        == PRICES.keys()
    )
