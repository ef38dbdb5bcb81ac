"""The contract: what it says when it is right, and where it is wrong when it is not."""

from datetime import timedelta

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.config.contract import Contract, ContractError, parse_contract

WHOLE = """\
test:
  run: python -m pytest -q
  timeout_s: 120
  junit: build/junit.xml
smoke:
  base_url: http://localhost:${ORCH_PORT_STAGING}
  checks:
    - path: /health
    - {path: /queue, status: 200, contains: serial, json_key: serial_gate}
coverage: {run: [coverage, run, -m, pytest], report: coverage.xml}
security:
  scanners: [bandit]
  severity: high
  run: [semgrep --sarif]
staging: {build: make image, start: make up, check: make check, stop: make down, revision: cat REVISION}
deploy: {run: {run: "a | b", shell: true}, rollback: ./back, health: "http://localhost/health", timeout_s: 60}
post_deploy: {window_s: 600, interval_s: 20, health: "https://x/health", error_rate: 0.05, fail_threshold: 2}
merge: {method: squash, train: true}
protected_paths: [.ci/, docs/**]
ports: [8500, 8501]
"""


def fault(text):
    with pytest.raises(ContractError) as refused:
        parse_contract(text, source="c.yml")
    return str(refused.value)


def test_a_whole_contract_is_read():
    contract = parse_contract(WHOLE)
    assert contract.test
    assert contract.test.run.argv == ("python", "-m", "pytest", "-q")
    assert (contract.test.timeout, contract.test.junit) == (timedelta(minutes=2), "build/junit.xml")
    assert contract.smoke
    assert contract.smoke.checks[1].json_key == "serial_gate"
    assert contract.security
    assert [command.argv for command in contract.security.run] == [("semgrep", "--sarif")]
    assert contract.deploy
    assert contract.deploy.run.argv == ("/bin/sh", "-c", "a | b")
    assert contract.post_deploy
    assert (contract.post_deploy.window_s, contract.post_deploy.interval_s) == (600, 20)
    assert contract.merge
    assert contract.merge.train
    assert (contract.protected_paths, contract.ports) == ((".ci/", "docs/**"), (8500, 8501))
    assert all(contract.declares(section) for section in Contract.model_fields)


def test_what_is_left_out_has_its_default():
    contract = parse_contract(
        "test: {run: x}\ncoverage: {run: x}\nsecurity:\nstaging: {check: x}\npost_deploy:\nmerge:\nports:\n"
    )
    assert contract.test
    assert contract.test.timeout_s == 900
    assert contract.coverage
    assert contract.coverage.report == "coverage.xml"
    assert contract.security
    assert contract.security.scanners == ("detect-secrets", "bandit", "pip-audit")
    assert contract.post_deploy
    assert (contract.post_deploy.window_s, contract.post_deploy.interval_s) == (900, 30)
    assert (contract.post_deploy.fail_threshold, contract.post_deploy.error_rate) == (3, None)
    assert contract.merge
    assert (contract.merge.method, contract.merge.train, contract.ports) == ("merge", False, ())


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "null"])
def test_an_empty_contract_declares_nothing(text):
    assert parse_contract(text) == Contract.empty()
    assert not any(Contract.empty().declares(section) for section in Contract.model_fields)


def test_a_contract_does_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        Contract.empty().ports = (1,)  # type: ignore[misc]


def test_the_source_has_a_name_by_default():
    with pytest.raises(ContractError, match=r"^\.orchestrator\.yml:1:1: "):
        parse_contract("tets: {}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tets:\n  run: x\n", "c.yml:1:1: unknown key 'tets'; did you mean 'test'?"),
        (
            "test:\n  run: x\n  timeout: 5\n",
            "c.yml:3:3: unknown key 'timeout' in test; did you mean 'timeout_s'?",
        ),
        ("merge:\n  xyzzy: 5\n", "c.yml:2:3: unknown key 'xyzzy' in merge; use one of method, train"),
        (
            "smoke:\n  base_url: http://x\n  checks:\n  - path: /a\n    stats: 3\n",
            "c.yml:5:5: unknown key 'stats' in smoke.checks[0]; did you mean 'status'?",
        ),
        ("ports: [1]\ntest:\n", "c.yml:2:1: test lacks the key 'run'; add it"),
        (
            "test:\n  run: x\n  timeout_s: '9'\n",
            "c.yml:3:14: test.timeout_s must be a whole number, not '9'; write it without quotes or fraction",
        ),
        ("ports: [1, true]", "c.yml:1:12: ports[1] must be a whole number, not true;"),
        ("ports: 8500", "c.yml:1:8: ports must be a list, not 8500; begin each entry with a dash"),
        ("test: pytest", "c.yml:1:7: test must be a mapping, not 'pytest'; write its keys below it"),
        ("test: {run: x, timeout_s: 0}", "c.yml:1:27: test.timeout_s must be above 0, not 0; raise it"),
        ("ports: [70000]", "c.yml:1:9: ports[0] must be at most 65535, not 70000; lower it"),
        ("post_deploy: {error_rate: -1}", "post_deploy.error_rate must be at least 0, not -1"),
        ("post_deploy: {error_rate: .nan}", "post_deploy.error_rate must be a number, not nan"),
        ("merge: {train: 'yes'}", "c.yml:1:16: merge.train must be true or false, not 'yes'"),
        (
            "merge: {method: sqash}",
            "merge.method must be 'merge', 'squash' or 'rebase', not 'sqash'; use one",
        ),
        (
            "test: {run: pytest | tee}",
            "c.yml:1:13: test.run: '|' in 'pytest | tee' needs a shell; write it as",
        ),
        (
            "test: {run: x, junit: ../x}",
            "c.yml:1:23: test.junit: '../x' must be a path inside the repository",
        ),
        ("protected_paths: [/etc]", "protected_paths[0]: '/etc' must be a path inside the repository"),
        (
            "deploy: {run: x, health: localhost}",
            "deploy.health: 'localhost' is no address; begin it with http",
        ),
        ("deploy: {run: x, health: 'http://${a b}'}", "deploy.health: ${a b} in"),
        ("deploy: {run: x, revision: 'http://x/v'}", "deploy.revision: this is a command"),
        (
            "smoke: {base_url: 'http://x', checks: [{path: a}]}",
            "smoke.checks[0].path: 'a' is no path of a request",
        ),
        ("smoke: {base_url: 'http://x', checks: []}", "smoke.checks: it is empty; add an entry"),
        ("post_deploy: {window_s: 5, interval_s: 9}", "c.yml:1:14: post_deploy: interval_s is longer than"),
        ("smoke: {base_url: 5, checks: []}", "smoke.base_url must be text, not 5; put it into quotes"),
    ],
)
def test_a_wrong_contract_says_where_what_and_what_to_do(text, message):
    assert fault(text).startswith(message) or message in fault(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "c.yml:1:1: the contract must be a mapping, not a list; write its keys below it"),
        ("a: [\n", "c.yml:2:1: YAML syntax: expected the node content"),
        ("test:\n\trun: x\n", "c.yml:2:1: YAML syntax: found character '\\t'"),
        (
            "--- {}\n--- {}\n",
            "c.yml:2:1: YAML syntax: expected a single document in the stream, but found another",
        ),
        ("merge: {}\nmerge: {}\n", "c.yml:2:1: duplicate key 'merge', first on line 1; keep one of them"),
        ("test: &a {run: x}\ncoverage: *a\n", "anchors and aliases are not used here; write the value out"),
        ("test: !!python/name:os.system x", "c.yml:1:7: the tag !!python/name:os.system is not used here"),
        ("test: !x {run: x}", "c.yml:1:7: the tag !x is not used here; remove it"),
        ("? [a]\n: b\n", "c.yml:1:3: a key must be a word"),
        ("ok: 1\nbad: \x07", "c.yml:2:6: a character that YAML does not allow; remove it"),
        ('test: {run: "a\\0b"}', "c.yml:1:13: a text with a NUL or a half character; remove it"),
        ('"\\ud800": 1', "c.yml:1:1: a text with a NUL or a half character; remove it"),
        ('a: "\\UFFFFFFFF"', "YAML syntax: a number or an escape that is out of range"),
        ("a: 0b_", "YAML syntax: a number or an escape that is out of range"),
        ("ports: [" + "9" * 5000 + "]", "c.yml:1:9: a number with too many digits"),
        ("[" * 1000, "nested too deeply; flatten it"),
        ("#" * 300_000, "larger than 256 KiB"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_where_it_stands(text, message):
    assert message in fault(text)


def test_the_first_of_several_faults_is_told():
    assert fault("merge: {method: x}\nports: [0]\ntets: 1\n").startswith("c.yml:1:17: merge.method")


def test_a_date_stays_text():
    contract = parse_contract("staging: {check: x, revision: [echo, 2024-01-01]}")
    assert contract.staging
    assert contract.staging.revision
    assert contract.staging.revision.argv == ("echo", "2024-01-01")


WORDS = [
    *Contract.model_fields,
    "run",
    "shell",
    "checks",
    "path",
    "x",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\n",
    "  ",
]
PIECES = st.lists(
    st.sampled_from([*WORDS, "'", '"', "&a ", "*a", "!!int ", "0b_", "1:30", "~", "|\n", "?", "<<", "$"])
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS[:15]), inner, max_size=4)
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.sampled_from(list(Contract.model_fields)), VALUES, max_size=4).map(
    yaml.safe_dump
)


@given(st.text() | PIECES.map("".join) | DOCUMENTS)
def test_any_text_is_read_or_refused_with_its_place(text):
    try:
        contract = parse_contract(text, source="c.yml")
    except ContractError as error:
        place, _, sentence = str(error).partition(": ")
        source, line, column = place.split(":")
        assert source == "c.yml"
        assert int(line) >= 1
        assert int(column) >= 1
        assert "; " in sentence
    else:
        assert isinstance(contract, Contract)
