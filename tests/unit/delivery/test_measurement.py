"""Coverage reports: one figure, from the three usual formats, never from a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.delivery.governance import governed_paths
from orchestrator.delivery.measurement import percent_of

XML = '<?xml version="1.0" ?>\n<coverage version="7" lines-valid="8" lines-covered="6" {}line-rate="0.75">\n'


@pytest.mark.parametrize(
    ("report", "percent"),
    [
        ('{"totals": {"percent_covered": 87.5}}', 87.5),
        (XML.format(""), 75.0),
        (XML.format('branches-valid="2" branches-covered="0" '), 60.0),
        ('<coverage line-rate="0.5"><packages/></coverage>', 50.0),
        ("SF:a.py\nLF:4\nLH:3\nend_of_record\nSF:b.py\nLF:4\nLH:4\nend_of_record\n", 87.5),
        ("LF:2\nLH:2\nBRF:2\nBRH:0\n", 50.0),
    ],
)
def test_the_total_is_read(report, percent):
    assert percent_of(report.encode()) == pytest.approx(percent)


@pytest.mark.parametrize(
    "report",
    [
        "",
        "TOTAL 87%",
        "{}",
        "{",
        "[" * 100_000,
        '{"totals": {"percent_covered": true}}',
        '{"totals": {"percent_covered": "87"}}',
        '{"totals": {"percent_covered": NaN}}',
        '{"totals": {"percent_covered": 101}}',
        '{"totals": {"percent_covered": -1}}',
        "<html></html>",
        '<coverage line-rate="1.2.3">',
        '<coverage lines-valid="1" lines-covered="9">',
        "LF:0\nLH:0\n",
    ],
)
def test_what_holds_no_figure_has_none(report):
    assert percent_of(report.encode()) is None


@given(st.binary(max_size=200))
def test_any_bytes_have_a_share_or_none(report):
    percent = percent_of(report)
    assert percent is None or 0 <= percent <= 100


@pytest.mark.parametrize(
    ("path", "governed"),
    [
        (".orchestrator.yml", True),
        (".gitea/workflows/ci.yml", True),
        (".github/workflows/ci.yml", True),
        (".openclaw/agents/tester.md", True),
        (".openclawful", False),
        ("docs/.orchestrator.yml", False),
        ("src/app.py", False),
    ],
)
def test_what_governs_the_pipeline_is_known_without_a_contract(path, governed):
    assert governed_paths([path], None) == ((path,) if governed else ())
