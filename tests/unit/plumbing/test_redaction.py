import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plumbing.redaction import LineRedactor, Redactor, is_secret_name, redact

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----"
GHP = "ghp_" + "a1B2" * 9
ANT = "sk-ant-api03-" + "Ab_9-" * 8
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ORCH_GITEA_TOKEN=abc123 next", "ORCH_GITEA_TOKEN=*** next"),
        ("export DEPLOY_KEY='two words' x", "export DEPLOY_KEY='***' x"),
        ("client_secret: hunter2", "client_secret: ***"),
        ("PGPASSWORD=p&q;r,s psql", "PGPASSWORD=*** psql"),
        ('{"apiToken": "a\\"b", "n": 1}', '{"apiToken": "***", "n": 1}'),
        (r'"{\"token\": \"abc\", \"n\": 1}"', r'"{\"token\": \"***\", \"n\": 1}"'),
        (r'"out\nAPP_KEY=abc\n"', r'"out\nAPP_KEY=***"'),
        ("cmd='API_KEY=abc run'", "cmd='API_KEY=*** run'"),
        ('password = b"hunter22"', 'password = b"***"'),
        ('password = """hunter22"""', 'password = """***"""'),
        ("secret => 'x y'", "secret => '***'"),
        ("orch --api-token abc123 --json", "orch --api-token *** --json"),
        ("--password=abc", "--password=***"),
        ("?user=a&access_token=abc&x=1 HTTP", "?user=a&access_token=*** HTTP"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("curl -H 'Authorization: token abc' http://h", "curl -H 'Authorization: ***' http://h"),
        ('"authorization": "Basic YTpi", "x": 1', '"authorization": "***", "x": 1'),
        ("Set-Cookie: session=abc; Path=/", "Set-Cookie: ***"),
        ("sent bearer abc123def456", "sent bearer ***"),
        ("http://user:p@ss@host/path", "http://***@host/path"),
        ("postgresql://orch:pw@127.0.0.1/db", "postgresql://***@127.0.0.1/db"),
        (f"got {GHP}.", "got ***."),
        (rf'"line\n{GHP}"', r'"line\n***"'),
        (f"uses {ANT} here", "uses *** here"),
        ("id AKIAIOSFODNN7EXAMPLE end", "id *** end"),
        (f"jwt {JWT}", "jwt ***"),
        ("bot 123456789:AAE" + "x" * 32, "bot ***"),
        ("plane_api_" + "0f" * 16, "***"),
        (f"before\n{KEY}\nafter", "before\n***\nafter"),
        ("before\n-----BEGIN RSA PRIVATE KEY-----\nMIIE", "before\n***"),
        (json.dumps({"k": KEY}), '{"k": "***"}'),
    ],
)
def test_what_looks_like_a_secret_is_masked(text, shown):
    assert redact(text) == shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "verdict: APPROVED",
        "usage: input_tokens=1200, max_tokens: 4096",
        "ORCH_MAX_TOKENS=4096",
        "assert token == expected",
        "def login(token: str, password: str | None = None) -> bool:",
        "token = get_token(request)",
        'key = os.environ["HOME"]',
        "primary_key: id",
        "https://host/a@b and me@example.invalid",
        "git@host:owner/repo.git",
        "the task-aaaaaaaaaaaaaaaaaaaaaaaa is done",
        "12:30:45 bearer of news",
        "commit 8d185b1d96171c926ffaf93e2bbdca1861e80f47",
        "password:",
        "--token --json",
        "-----BEGIN CERTIFICATE-----",
        "Scheme::Token::Name",
    ],
)
def test_ordinary_text_stays(text):
    assert redact(text) == text


def test_known_values_are_masked_in_every_spelling():
    redactor = Redactor(['p/w "ü"', "abcdef", "abcdefgh", "short"])
    text = f'p/w "ü" | p%2Fw%20%22%C3%BC%22 | {json.dumps({"x": 1, "v": chr(34)})} abcdefgh abcdef short'
    assert redactor.redact(text) == '*** | *** | {"x": 1, "v": "\\""} *** *** short'
    assert redactor.redact(json.dumps('p/w "ü"')) == '"***"'


def test_names_of_secrets_are_known():
    for name in ("ORCH_PLANE_API_TOKEN", "signing-key", "Authorization", "db.password", "ORCH_API_TOKENS"):
        assert is_secret_name(name)
    for name in ("input_tokens", "primary_key", "status", "keyboard", "tokenizer"):
        assert not is_secret_name(name)


def test_a_key_is_masked_line_by_line():
    lines = [f"{line}\n" for line in ("start", *KEY.splitlines(), "TOKEN=abc", "end")]
    shown = map(LineRedactor(Redactor()).redact, lines)
    assert list(shown) == ["start\n", "***\n", "***\n", "***\n", "***\n", "TOKEN=***\n", "end\n"]


def test_a_key_within_one_line_ends_there():
    redactor = LineRedactor(Redactor())
    assert redactor.redact(json.dumps(KEY) + "\n") == '"***"\n'
    assert redactor.redact("next\n") == "next\n"


HOSTILE = (
    *("a", "\u00e9", " ", "=", ":", "@", "'", '"', "-", "\\", "\\n", '\\"', "a\\", "x.y-"),
    *(
        "A_TOKEN",
        "_KEY=",
        "token=",
        "token:'",
        'token="',
        'token="\\',
        "token =\t",
        "--token ",
        "--a ",
        "Cookie: ",
    ),
    *("://", "a://", "://a@", "http://a:", "bearer ", "bearer a1", "1234567890:"),
    *("eyJ", "eyJaaaaaaaa.", "eyJaaaaaaaa-", "sk-", "sk-ant-", "ghp_", "AKIA", "github_pat_"),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN "),
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_line_costs_little_time(unit):
    line = unit * (100_000 // len(unit))
    redactor = Redactor(["known-value-1", "known-value-2"])
    started = time.process_time()
    redactor.redact(line)
    LineRedactor(redactor).redact(line)
    assert time.process_time() - started < 1


@given(st.text(), st.from_regex(r"[A-Za-z0-9/+]{6,40}", fullmatch=True))
def test_a_named_secret_never_comes_through(text, secret):
    for line in (
        f"{text} MY_TOKEN={secret}",
        f'{{"password": "{secret}"}} {text}',
        f"Authorization: x {secret}\n{text}",
    ):
        assert secret not in redact(line).replace(text, "") or secret in text
