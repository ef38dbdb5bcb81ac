"""The stream of claude is counted exactly and without counting twice, and no line makes its reader raise."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agents.clis.claude import ClaudeReader
from orchestrator.agents.clis.claude.events import ClaudeTranscript
from orchestrator.agents.prices import price_of
from orchestrator.ports.agent import LogEvent, LogKind, Session, Usage
from tests.unit.agents.tasks import FIXTURES, fed, recorded

# What the server told in each answer of the recordings, and what claude-opus-4-5 costs for it.
ANSWER = Usage(1000, 200, 0.0104625, 300, 50)
NAMES = sorted(file.stem for file in (FIXTURES / "claude").glob("*.jsonl"))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        *(
            "type",
            "subtype",
            "message",
            "usage",
            "event",
            "content",
            "id",
            "model",
            "input",
            "name",
            "result",
        ),
        *("total_cost_usd", "modelUsage", "model_usage_since_last_result", "permission_denials", "is_error"),
        *("rate_limit_info", "resetsAt", "status", "errors", "input_tokens", "output_tokens", "session_id"),
        *(
            "api_error_status",
            "text",
            "old_string",
            "new_string",
            "file_path",
            "command",
            "cwd",
            "tool_use_id",
        ),
    ]
)
KINDS = st.sampled_from(
    ["system", "assistant", "user", "stream_event", "result", "rate_limit_event", "message_start", "tool_use"]
)
EVENTS = st.recursive(
    KINDS | JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


def scaled(answers: int) -> Usage:
    total = Usage()
    for _ in range(answers):
        total += ANSWER
    return total


def same(one: Usage, other: Usage) -> bool:
    return one == Usage(
        other.input_tokens,
        other.output_tokens,
        pytest.approx(other.cost_usd),  # type: ignore[arg-type]
        other.cache_read_tokens,
        other.cache_write_tokens,
    )


@pytest.mark.parametrize(("name", "answers"), [("edit", 5), ("turns", 2), ("budget", 2), ("refusal", 2)])
def test_usage_is_exact_before_the_result_and_after_it(name, answers):
    lines, reader = recorded("claude", name), ClaudeReader()
    at = next(number for number, line in enumerate(lines) if json.loads(line)["type"] == "result")
    fed(reader, lines[:at])
    assert same(reader.usage, scaled(answers))
    fed(reader, lines[at:])
    assert same(reader.usage, scaled(answers))
    assert reader.result_seen
    assert reader.turns == answers


def test_usage_grows_with_each_answer():
    seen: list[int] = []
    reader = ClaudeReader()
    for line in recorded("claude", "edit"):
        reader.feed(line)
        if not seen or seen[-1] != reader.usage.tokens:
            seen.append(reader.usage.tokens)
    assert seen == sorted(seen)
    assert [scaled(answers).tokens for answers in range(6)] == [count for count in seen if count % 1550 == 0]


def test_a_conversation_that_goes_on_is_charged_for_its_new_part_only():
    former = Session("what came before", scaled(5).cost_usd)
    reader = ClaudeReader(former)
    fed(reader, recorded("claude", "resumed"))
    assert same(reader.usage, scaled(1))
    assert reader.session is not None
    assert reader.session.cost_usd == pytest.approx(scaled(6).cost_usd)


@pytest.mark.parametrize(
    ("version", "total", "own"),
    [("2.1.332", 0.0627750, 0.0104625), ("2.1.197", 0.0104625, 0.0104625), ("2.1.250", 0.0627750, 0.0104625)],
)
def test_a_version_that_does_not_tell_runs_apart_is_understood(version, total, own):
    reader = ClaudeReader(Session("what came before", 0.0523125))
    for line in recorded("claude", "resumed"):
        event = json.loads(line)
        event.pop("model_usage_since_last_result", None)
        if event.get("subtype") == "init":
            event["claude_code_version"] = version
        if event["type"] == "result":
            event["total_cost_usd"] = total
        reader.feed(json.dumps(event))
    assert reader.usage.cost_usd == pytest.approx(own)
    assert reader.usage.tokens == ANSWER.tokens


def test_a_fallback_model_is_counted_at_its_own_price():
    lines, reader = recorded("claude", "fallback"), ClaudeReader()
    fed(reader, lines[:-1])
    assert reader.usage.cost_usd == pytest.approx(price_of("claude-sonnet-4-5").cost(ANSWER))
    fed(reader, lines[-1:])
    assert reader.usage.cost_usd == pytest.approx(price_of("claude-sonnet-4-5").cost(ANSWER))
    assert reader.retry is not None
    assert (reader.retry.status, reader.retry.error) == (529, "overloaded")


def test_a_second_result_adds_what_came_since_the_first():
    lines, reader = recorded("claude", "turns"), ClaudeReader()
    fed(reader, lines)
    fed(reader, lines)
    # The same answers told again are no new ones; the second result says what was added to the first.
    assert same(reader.usage, scaled(4))


def test_an_answer_that_was_not_streamed_is_counted_once():
    usage = {"input_tokens": 70, "output_tokens": 33}
    message = {"id": "msg_1", "model": "claude-opus-4-5", "usage": usage, "content": []}
    reader = ClaudeReader()
    fed(reader, [json.dumps({"type": "assistant", "message": message})] * 3)
    assert (reader.usage.input_tokens, reader.usage.output_tokens, reader.turns) == (70, 33, 1)


def test_what_the_cli_says_of_itself_is_remembered():
    reader = ClaudeReader()
    fed(reader, recorded("claude", "edit"))
    assert reader.version == "2.1.332"
    assert reader.last_words == "Visits are counted."
    assert reader.result is not None
    assert [one.tool for one in reader.result.denials] == ["Bash"]
    assert reader.session is not None


def test_last_words_are_masked_and_short():
    reader = ClaudeReader()
    reader.feed(f"fatal: token=hunter2secret {'x' * 1000}")
    assert reader.last_words.startswith("fatal: token=*** x")
    assert len(reader.last_words) == 300


@given(st.text() | EVENTS.map(json.dumps))
def test_no_line_makes_the_reader_or_the_transcript_raise(line):
    reader, transcript = ClaudeReader(Session("s", 1.0)), ClaudeTranscript()
    for one in (*recorded("claude", "edit")[:4], line, *recorded("claude", "edit")[-1:]):
        reader.feed(one)
        for event in transcript(one):
            (event.text + event.detail).encode()
    assert reader.usage.tokens >= 0
    reader.last_words.encode()


@given(st.sampled_from(NAMES), st.data())
def test_a_recording_that_is_damaged_anywhere_is_read_all_the_same(name, data):
    lines = recorded("claude", name)
    at = data.draw(st.integers(0, len(lines) - 1))
    cut = data.draw(st.integers(0, len(lines[at])))
    reader, transcript = ClaudeReader(), ClaudeTranscript()
    for line in (*lines[:at], lines[at][:cut], *lines[at + 1 :]):
        reader.feed(line)
        transcript(line)


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"type":' * 100_000, '{"type": "result", "n": ' + "9" * 5000]
)
def test_a_line_that_no_parser_likes_is_no_event(line):
    reader = ClaudeReader()
    reader.feed(line)
    ClaudeTranscript()(line)
    assert not reader.result_seen


def told(name: str) -> list[LogEvent]:
    transcript = ClaudeTranscript()
    return [event for line in recorded("claude", name) for event in transcript(line)]


def test_a_person_reads_what_was_done():
    assert [(event.kind.value, event.text) for event in told("edit")] == [
        ("note", "claude 2.1.332 begins with claude-opus-4-5"),
        ("text", "I write the file."),
        ("edit", "count.py +2 -0"),
        ("edit", "count.py +2 -1"),
        ("command", "python3 count.py"),
        ("tool", "Read nowhere.py"),
        ("output", "2"),
        ("error", "File does not exist. Note: your current working directory is /srv/shop."),
        ("command", "git push"),
        ("error", "Permission to use Bash with command git push has been denied."),
        ("text", "Visits are counted."),
        ("cost", "7750 tokens, $0.0523, 6 turns"),
    ]
    assert told("edit")[3].detail == "-visits = 1\n+visits = 2\n+total = 3"


def test_a_person_reads_what_went_wrong():
    assert [event.text for event in told("usage_limit") if event.kind is LogKind.ERROR] == [
        "the five hour limit is reached, it ends at 2026-12-01 03:54 UTC",
        "You've hit your 5-hour limit · resets 3:54am (UTC)",
    ]
    retries = [event.text for event in told("fallback") if event.kind is LogKind.NOTE][1:]
    assert "answers 529 (overloaded): retry 1 of 3" in retries[0]
    assert retries[-1] == "Switched to Sonnet 4.5 due to high demand for Opus 4.5"


def test_secrets_and_long_outputs_are_not_shown():
    def block(**fields: object) -> str:
        kind = "user" if fields["type"] == "tool_result" else "assistant"
        return json.dumps({"type": kind, "message": {"content": [fields]}})

    transcript = ClaudeTranscript()
    command = {"command": "curl -H 'Authorization: Bearer abcdef1234567'"}
    shown = transcript(block(type="tool_use", id="1", name="Bash", input=command))
    assert "abcdef1234567" not in shown[0].text + shown[0].detail
    output = transcript(block(type="tool_result", tool_use_id="1", content="line\n" * 5000))
    assert len(output[0].detail) < 4100
    assert "characters left out" in output[0].detail
