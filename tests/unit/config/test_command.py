"""Commands are argv lists; what needs a shell says so."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.command import Command
from orchestrator.config.placeholders import check_placeholders, expand
from orchestrator.errors import BadInput


@pytest.mark.parametrize(
    ("written", "argv"),
    [
        ("python -m pytest -q", ("python", "-m", "pytest", "-q")),
        ("grep 'a | b; $HOME' x", ("grep", "a | b; $HOME", "x")),
        ('grep "a | b > c" x', ("grep", "a | b > c", "x")),
        (r"echo a\|b \$HOME", ("echo", "a|b", "$HOME")),
        ("serve --port ${ORCH_PORT_STAGING}", ("serve", "--port", "${ORCH_PORT_STAGING}")),
        ("grep x$ y", ("grep", "x$", "y")),
        ("pytest tests/*.py", ("pytest", "tests/*.py")),
        ("env A=1 x --b=2", ("env", "A=1", "x", "--b=2")),
        (["a b", "|", "$HOME", ""], ("a b", "|", "$HOME", "")),
        ({"run": "make test"}, ("make", "test")),
        ({"run": ["make", "a b"], "shell": False}, ("make", "a b")),
        ({"run": "a | b && c $HOME", "shell": True}, ("/bin/sh", "-c", "a | b && c $HOME")),
    ],
)
def test_a_command_becomes_an_argv_list(written, argv):
    assert Command.read(written).argv == argv


@pytest.mark.parametrize(
    "written",
    [
        *(
            "a | b",
            "a && b",
            "a; b",
            "a > f",
            "a < f",
            "(a)",
            "a & ",
            "a `b`",
            'a "`b`"',
            "a $(b)",
            'a "$(b)"',
        ),
        *("a $HOME", 'a "$HOME"', "a $?", "a ${B", "A=1 b"),
    ],
)
def test_what_needs_a_shell_is_refused_with_a_hint(written):
    with pytest.raises(ValueError, match=r"needs a shell; .*shell: true"):
        Command.read(written)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ([], "empty"),
        (["", "a"], "empty"),
        ({"run": " ", "shell": True}, "empty"),
        ("echo 'a", "cannot be split"),
        ("a ${1x}", "is no name"),
        (["a", 1], "put numbers and switches into quotes"),
        (5, "a command is a text"),
        (None, "a command is a text"),
        ({"shell": True}, "a command is a text"),
        ({"run": ["a"], "shell": True}, "a command is a text"),
        ({"run": "a", "shell": "yes"}, "a command is a text"),
        ({"run": "a", "shel": True}, "a command is a text"),
        ({"run": {"run": "a"}}, "a command is a text"),
        ({"words": ["a"], "shell": False}, "a command is a text"),
    ],
)
def test_what_is_no_command_is_refused(written, message):
    with pytest.raises(ValueError, match=message):
        Command.read(written)


def test_a_command_shows_as_it_could_be_typed():
    assert str(Command.read(["echo", "a b"])) == "echo 'a b'"
    assert str(Command.read({"run": "a | b", "shell": True})) == "a | b"


def test_placeholders_are_filled_in_outside_a_shell_only():
    env = {"PORT": "81"}
    assert Command.read("serve :${PORT}").argv_in(env) == ("serve", ":81")
    assert Command.read({"run": "serve :${PORT}", "shell": True}).argv_in(env)[-1] == "serve :${PORT}"


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1))
def test_quoted_words_come_out_as_they_went_in(words):
    words = ["run", *(word.replace("${", "") for word in words)]
    assert Command.read(shlex.join(words)).argv == tuple(words)


@given(st.text())
def test_any_text_is_a_command_or_refused(text):
    try:
        command = Command.read(text)
    except ValueError:
        return
    assert command.argv == tuple(shlex.split(text))


def test_names_are_replaced_by_their_values():
    env = {"A": "${B}", "B": "b"}
    assert expand("http://x:${B}/${A}$B$", env) == "http://x:b/${B}$B$"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${C}", r"\$\{C\} in '\$\{C\}' has no value; known here: A, B"),
        ("${A", "is not closed"),
        ("${A${B}", "is not closed"),
        ("${}", "is no name"),
        ("${a-b}", "is no name"),
    ],
)
def test_a_name_without_a_value_is_refused(text, message):
    with pytest.raises(BadInput, match=message):
        expand(text, {"A": "1", "B": "2"})


@given(st.text(alphabet="${}Aa1 "))
def test_a_checked_text_can_be_filled_in(text):
    try:
        check_placeholders(text)
    except ValueError:
        return
    names = {"A", "a", "Aa", "aA", "A1"}
    try:
        assert "${" not in expand(text, dict.fromkeys(names, ""))
    except BadInput as error:
        assert "has no value" in str(error)  # noqa: PT017 - a longer name than the sample has
