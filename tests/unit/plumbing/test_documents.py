import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plumbing.documents import (
    SIZE_LIMIT,
    parse_document,
    parse_yaml_mapping,
    render_document,
)

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    [
        "",
        " ",
        "no",
        "~",
        "null",
        "---",
        "- a",
        "a: b",
        "#x",
        "'",
        '"',
        "{",
        "[a]",
        "*a",
        "&a",
        "!t",
        "|",
        "\n",
        "\u2028",
    ]
)
metas = st.dictionaries(names, texts | st.integers(), min_size=1, max_size=6)
bodies = st.text(max_size=80) | st.lists(
    st.sampled_from(["---", "--- ", "\n", "verdict: APPROVED", "...", "text", "\r\n", "```"]), max_size=10
).map("".join)
# What is likely to reach deep into the parser.
fragments = st.lists(
    st.sampled_from(
        [
            "---\n",
            "a: ",
            "b\n",
            "- ",
            "[",
            "]",
            "{",
            "}",
            "!t ",
            "&x ",
            "*x",
            "? ",
            ": ",
            "|\n",
            "'",
            '"',
            "  ",
        ]
    ),
    max_size=25,
).map("".join)


def document(block, body="text\n"):
    return f"---\n{block}---\n{body}"


def test_every_scalar_stays_the_text_that_was_written():
    block = (
        "status: no\ncreated_at: 2024-05-01\nexit_code: 010\nmodel_used: n/a\n"
        "nothing: ~\nempty:\nquoted: 'it''s'\n"
    )
    found = parse_document(document(block))
    assert dict(found.meta) == {
        "status": "no",
        "created_at": "2024-05-01",
        "exit_code": "010",
        "model_used": "n/a",
        "nothing": "~",
        "empty": "",
        "quoted": "it's",
    }
    assert (found.body, found.problems) == ("text\n", ())


def test_lists_and_mappings_are_kept_as_such():
    found = parse_document(document("result: [PASS, FAIL]\ncases:\n- id: TC-1\n  covers: {ac: [AC-1]}\n"))
    assert found.meta["result"] == ["PASS", "FAIL"]
    assert found.meta["cases"] == [{"id": "TC-1", "covers": {"ac": ["AC-1"]}}]


def test_a_comment_is_no_part_of_a_value():
    assert parse_document(document("verdict: APPROVED # for now\n")).meta["verdict"] == "APPROVED"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no frontmatter"),
        ("# Title\n\n---\nverdict: APPROVED\n---\n", "no frontmatter"),
        ("\n---\na: b\n---\n", "no frontmatter"),
        ("--- a\nb: c\n---\n", "no frontmatter"),
        ("---\na: b\n", "not closed"),
        ("---\na: b\n ---\n", "not closed"),
        ("---", "not closed"),
        (document("a: b: c\n"), "line 2: invalid YAML"),
        (document("a: 'x\n"), "invalid YAML"),
        (document("a: \x07\n"), "invalid YAML"),
        (document("result: PASS\nother: x\nresult: FAIL\n"), "line 4: two values for one key (result)"),
        (document("a:\n  b: 1\n  b: 2\n"), "two values for one key (b)"),
        (document("'a': 1\na: 2\n"), "two values for one key (a)"),
        (document("a: !!str b\n"), "a tag"),
        (document("a: !!python/object/apply:os.system [ls]\n"), "a tag"),
        (document("! a: b\n"), "a tag"),
        (document("a: &x b\nc: *x\n"), "an anchor (&x)"),
        (document("a: *x\n"), "alias"),
        (document("? [a]\n: b\n"), "a key that is a list or a mapping"),
        (document("just text\n"), "not a mapping"),
        (document("- a\n- b\n"), "not a mapping"),
        (document(""), "there are no values"),
        (document("{}\n"), "there are no values"),
        (document("a: b\n...\nc: d\n"), "line 4"),
        (document("a: " + "[" * 40 + "]" * 40 + "\n"), "nested deeper"),
        (document("a: b\n", "x" * SIZE_LIMIT), "larger than 256 KiB"),
        (document("a: b\n", "\ud800"), "not Unicode"),
    ],
)
def test_what_has_no_single_meaning_yields_a_problem_and_no_values(text, problem):
    found = parse_document(text)
    assert problem in found.problems[0]
    assert len(found.meta) == 0


def test_byte_order_mark_and_windows_line_ends_are_read():
    found = parse_document("\ufeff---\r\nverdict: APPROVED\r\n---\r\nbody\r\n")
    assert (dict(found.meta), found.body, found.problems) == ({"verdict": "APPROVED"}, "body\r\n", ())


def test_the_body_may_hold_fences_and_values():
    body = "\n---\nverdict: APPROVED\n---\nmore\n--- \n"
    found = parse_document("---\nverdict: REQUEST_CHANGES\n---\n" + body)
    assert (found.meta["verdict"], found.body) == ("REQUEST_CHANGES", body)


@given(st.text() | fragments | st.tuples(fragments, st.text()).map(lambda two: document(*two)))
def test_reading_never_raises(text):
    for found in (parse_document(text), parse_yaml_mapping(text)):
        assert bool(found.problems) != bool(found.meta)


@given(metas, bodies)
def test_what_is_written_is_read_back(meta, body):
    found = parse_document(render_document(meta, body))
    assert found.problems == ()
    assert list(found.meta.items()) == [(name, str(value)) for name, value in meta.items()]
    assert found.body == "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in body)


def test_the_order_is_kept_and_quotes_are_used_only_where_needed():
    meta: dict[str, str | int] = {
        "staging_status": "SUCCESS",
        "work_item": "ORCH-7",
        "created_at": "2024-05-01",
        "model_used": "n/a",
        "exit_code": 0,
        "base_url": "http://127.0.0.1:8501",
        "note": "a: b",
        "lines": 'one\n"two" ü',
        "none": "",
    }
    assert render_document(meta, "\n# Log\n") == (
        "---\n"
        "staging_status: SUCCESS\n"
        "work_item: ORCH-7\n"
        "created_at: 2024-05-01\n"
        "model_used: n/a\n"
        "exit_code: 0\n"
        "base_url: http://127.0.0.1:8501\n"
        'note: "a: b"\n'
        'lines: "one\\n\\"two\\" ü"\n'
        "none: \n"
        "---\n"
        "\n# Log\n"
    )


@pytest.mark.parametrize("name", ["", "a b", "a:", "-a", "a\nb"])
def test_a_name_that_is_none_cannot_be_written(name):
    with pytest.raises(ValueError, match="no name"):
        render_document({name: "x"}, "")


def test_a_frontmatter_without_values_cannot_be_written():
    with pytest.raises(ValueError, match="without values"):
        render_document({}, "")


def test_a_yaml_file_is_read_with_the_same_strictness():
    found = parse_yaml_mapping("---\nsuite: smoke\ncases:\n- id: TC-1\n  automated: yes\n")
    assert dict(found.meta) == {"suite": "smoke", "cases": [{"id": "TC-1", "automated": "yes"}]}
    assert parse_yaml_mapping("a: 1\na: 2\n").problems == ("line 2: two values for one key (a)",)
    assert "more than one document" in parse_yaml_mapping("a: 1\n---\nb: 2\n").problems[0]
    assert "larger" in parse_yaml_mapping("a" * (SIZE_LIMIT + 1)).problems[0]


@pytest.mark.parametrize(
    "block",
    [
        "a: b\n" * 50_000,
        "".join(f"k{n}: v\n" for n in range(22_000)),
        "a: " + "[" * 250_000,
        "a: " + "{" * 250_000,
        "[" * 1000 + "\n" + "\n".join("[" * 1000 for _ in range(200)),
        "- " * 120_000,
        "a: '" + "x" * 250_000,
        'a: "' + "\\x" * 100_000,
        "? " * 120_000,
        ": " * 120_000,
        "#" * 250_000,
        "a: |\n" + " \n" * 100_000,
        "---\n" * 60_000,
    ],
)
def test_a_hostile_document_costs_little_time(block):
    started = time.process_time()
    parse_document(document(block + "\n"))
    parse_yaml_mapping(block)
    assert time.process_time() - started < 2
