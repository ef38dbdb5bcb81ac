import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline.findings import (
    Finding,
    Severity,
    blocking,
    extract_review_findings,
    extract_test_failures,
    fingerprint,
    normalise,
)

REVIEW = """\
# Review

## Summary
Two things to mend.

- **P0** in the summary is prose.

## Findings

### P0 — Blocker
- `take()` loses the lease in `src/lease.py:42`
  when two workers start:
  - first the reaper
  - then the worker

  ```python
  ### P1 — not a heading
  - not an item
  ```

### P1 — Must fix
1. No test for the empty list.
2. The log is written twice.

### P2 — Should fix
None.

### P3 — Nice-to-have
* Rename `x`.

## Documentation
- P0: not a finding
"""

markdown = st.lists(
    st.sampled_from(
        [
            "## Findings",
            "## Замечания",
            "## Results",
            "## Pytest output",
            "### P0 — Blocker",
            "### P1: Must fix",
            "#### P2-1 text",
            "# Other",
            "- item",
            "  - nested",
            "1. one",
            "```",
            "~~~~",
            "````py",
            "---",
            "",
            "None",
            "FAIL x",
            "text",
        ]
    ),
    max_size=30,
).map("\n".join)


def found(body: str) -> list[tuple[str, str]]:
    return [(finding.severity.value, finding.text) for finding in extract_review_findings(body)]


def under(heading: str, *lines: str) -> list[tuple[str, str]]:
    return found("\n".join(["## Findings", heading, *lines]))


def test_items_are_taken_verbatim_with_nested_lists_and_code():
    assert found(REVIEW) == [
        (
            "P0",
            "`take()` loses the lease in `src/lease.py:42`\n  when two workers start:\n  - first the reaper\n"
            "  - then the worker\n\n  ```python\n  ### P1 — not a heading\n  - not an item\n  ```",
        ),
        ("P1", "No test for the empty list."),
        ("P1", "The log is written twice."),
        ("P3", "Rename `x`."),
    ]


def test_only_p0_and_p1_block():
    kept = blocking(Finding(severity, "text") for severity in Severity)
    assert [finding.severity for finding in kept] == [Severity.P0, Severity.P1]


@pytest.mark.parametrize(
    "heading",
    [
        "### P0 — Blocker",
        "### P0 – Blockers (1)",
        "### P0 - Blocking issues",
        "### P0: Blocker",
        "### P0",
        "#### **P0** Blocker",
        "### [P0] Blocker ###",
        "### 🔴 P0 — Блокер",
        "### Р0 — Блокирующие замечания",
        "### p0. Must be fixed before merge",
    ],
)
def test_headings_of_many_styles_are_understood(heading):
    assert under(heading, "- one", "- two") == [("P0", "one"), ("P0", "two")]


@pytest.mark.parametrize("title", ["Findings", "findings:", "3. Findings", "Findings (round 2)", "Замечания"])
def test_the_section_is_found_in_both_languages(title):
    assert found(f"# Review\n## {title}\n### P1\n- one\n") == [("P1", "one")]


@pytest.mark.parametrize(
    "nothing",
    [
        "None",
        "none.",
        "- None",
        "* нет",
        "—",
        "- —",
        "-",
        "_None_",
        "(none)",
        "n/a",
        "Нет.",
        "<!-- none -->",
        "",
    ],
)
def test_placeholders_are_dropped(nothing):
    assert under("### P0 — Blocker", "", nothing, "", "### P1 — Must fix", "- real") == [("P1", "real")]


def test_a_numbered_heading_is_a_finding_of_its_own():
    assert under("### P1-1: SQL injection", "In `a.py`.", "", "Use parameters.") == [
        ("P1", "SQL injection\nIn `a.py`.\n\nUse parameters.")
    ]


def test_a_heading_that_names_the_defect_is_kept_with_its_text():
    assert under("### P1 — SQL injection in a.py", "", "- use parameters") == [
        ("P1", "SQL injection in a.py\n\n- use parameters")
    ]


def test_items_may_carry_their_severity_themselves():
    assert under("", "- **P1**: one", "- [P3] two", "- no severity") == [
        ("P1", "**P1**: one"),
        ("P3", "[P3] two"),
    ]


def test_paragraphs_are_items_too():
    assert under("### P1", "First,", "in two lines.", "", "Second.") == [
        ("P1", "First,\nin two lines."),
        ("P1", "Second."),
    ]


def test_a_deeper_heading_without_severity_belongs_to_the_item():
    assert under("### P1", "- one", "#### How", "like this") == [("P1", "one\n#### How\nlike this")]


def test_a_block_of_code_that_is_never_closed_hides_nothing():
    assert under("### P0", "- one", "```", "### P1", "- two") == [("P0", "one\n```"), ("P1", "two")]


def test_a_rule_ends_an_item():
    assert under("### P0", "- one", "", "---") == [("P0", "one")]


def test_line_endings_do_not_matter():
    assert found(REVIEW.replace("\n", "\r\n")) == found(REVIEW)


@pytest.mark.parametrize(
    "body", ["", "no headings", "## Findings", "## Other\n### P0\n- x", "```\n## Findings\n```"]
)
def test_a_report_without_findings_yields_nothing(body):
    assert found(body) == []


OUTPUT = "## {}\n```\nE assert 1 == 2\nFAILED tests/test_a.py\n```\n"
RESULTS = "## {}\n| TC-1 | PASS |\n| TC-2 | FAIL |\n| TC-3 | ❌ |\n"
SUMMARY = "## {}\nTwo tests are red.\n"


@pytest.mark.parametrize(
    "titles", [("Pytest output", "Results", "Summary"), ("Вывод pytest", "Результаты", "Итог")]
)
def test_failures_are_looked_for_in_three_places_in_order(titles):
    output, results, summary = (
        text.format(t) for text, t in zip((OUTPUT, RESULTS, SUMMARY), titles, strict=True)
    )
    assert extract_test_failures(summary + results + output, 500) == "E assert 1 == 2\nFAILED tests/test_a.py"
    assert extract_test_failures(summary + results, 500) == "| TC-2 | FAIL |\n| TC-3 | ❌ |"
    assert extract_test_failures(summary, 500) == "Two tests are red."


def test_empty_places_are_passed_over():
    body = f"## Pytest output\n```\n```\n## Results\nall PASS\n{SUMMARY.format('Summary')}"
    assert extract_test_failures(body, 500) == "Two tests are red."


def test_output_is_cut_at_its_beginning_and_a_summary_at_its_end():
    assert extract_test_failures("## Pytest output\nfirst line\nsecond\nlast line\n", 15) == "…\nlast line"
    assert extract_test_failures("## Summary\nabcdefghij\n", 6) == "abcde…"


@given(body=st.one_of(st.text(), markdown), limit=st.integers(-3, 60))
def test_any_text_can_be_read_and_the_limit_holds(body, limit):
    assert len(extract_test_failures(body, limit)) <= max(limit, 0)
    for finding in extract_review_findings(body):
        assert finding.text.strip()
    assert isinstance(normalise(body), str)


@given(markdown)
def test_no_blocking_text_is_invented(body):
    lines = {line.strip() for line in body.split("\n")}
    for finding in extract_review_findings(body):
        assert all(any(part.strip() in line for line in lines) for part in finding.text.split("\n"))


def test_lone_surrogates_are_only_text():
    assert len(extract_review_findings("## Findings\n### P0\n- \ud800\n")) == 1
    assert fingerprint(["\ud800"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fix `take()` in src/lease.py:42", "fix take()  in\nsrc/lease.py:57"),
        ("See line 12", "See line 340"),
        ("See lines 12-20 of it", "see lines 3–4 of it"),
        ("Строка 12 неверна", "строка 99 неверна"),
        ("Round 2: still broken", "round 3: still broken"),
        ("Attempt 1/3 failed", "attempt 2/3 failed"),
        ("в раунде 2 то же", "в раунде 3 то же"),
        ("1 failed in 0.12s", "1 failed in 3.4s"),
        ("<Lease at 0x7f01>", "<lease at 0x7fab>"),
        ("**Bold** text.", "bold text"),
    ],
)
def test_the_same_demand_in_other_words_of_place_is_recognised(one, other):
    assert normalise(one) == normalise(other)
    assert fingerprint([one]) == fingerprint([other])


@pytest.mark.parametrize(
    ("one", "other"),
    [("expected 3", "expected 4"), ("fix a.py", "fix b.py"), ("use take", "use give"), ("TC-1", "TC-2")],
)
def test_different_demands_stay_different(one, other):
    assert fingerprint([one]) != fingerprint([other])


@given(texts=st.lists(st.text(), max_size=5), data=st.data())
def test_the_fingerprint_knows_neither_order_nor_repetition(texts, data):
    shuffled = data.draw(st.permutations([*texts, *texts]))
    assert fingerprint(shuffled) == fingerprint(texts)
    assert fingerprint(Finding(Severity.P1, text) for text in texts) == fingerprint(texts)


@given(
    text=st.from_regex(r"[a-z ]{1,30}", fullmatch=True),
    first=st.integers(1, 9999),
    second=st.integers(1, 9999),
)
def test_the_fingerprint_does_not_move_with_the_line(text, first, second):
    assert fingerprint([f"{text} a.py:{first}"]) == fingerprint([f"{text.upper()} `a.py:{second}`"])


def test_nothing_has_no_fingerprint():
    assert fingerprint([]) == fingerprint(["", " - "]) == ""


SIZE = 200_000
"""Characters: a quadratic step would take minutes on them."""

ATTACKS = {
    "openers": "```a\n",
    "growing fences": "".join("`" * n + "a\n" for n in range(1200, 3, -1)) + "```\n",
    "headings": "### P0 — x\n",
    "sections": "## Findings\n### P0\n- x\n## Results\nFAIL\n",
    "hashes": "#",
    "spaces": " ",
    "digits": "1",
    "dotted": "1.",
    "items": "- - - a\n",
    "leave": "leave `a.py` ",
    "lines": "line ",
    "colons": "a.py:1:",
    "stars": "*_`",
    "backticks": "`",
}


def seconds_for(body: str) -> float:
    started = time.process_time()
    extract_review_findings(body)
    extract_test_failures(body, 1500)
    fingerprint([body])
    return time.process_time() - started


@pytest.mark.parametrize("piece", ATTACKS.values(), ids=ATTACKS)
def test_hostile_text_takes_linear_time(piece):
    assert seconds_for("## Findings\n### P0\n- " + piece * (SIZE // len(piece))) < 5


def test_a_megabyte_of_everything_takes_linear_time():
    pieces = [piece * (1_000_000 // len(ATTACKS) // len(piece)) for piece in ATTACKS.values()]
    assert seconds_for("## Findings\n### P0\n- " + "\n".join(pieces)) < 10
