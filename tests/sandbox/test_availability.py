"""What the doctor hears about the sandbox."""

import pytest

from orchestrator.plumbing.bubblewrap import available

DENIED = "bwrap: setting up uid map: Permission denied"


@pytest.fixture
def program(tmp_path):
    """Makes a program that stands in for bubblewrap: what it says to --version, and how a trial ends."""

    def make(version, *, complaint="", code=0):
        path = tmp_path / "bwrap"
        path.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "{version}"; exit 0; }}\n'
            f'echo "{complaint}" >&2\nexit {code}\n'
        )
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def sysctls(tmp_path):
    """Makes the settings of a kernel."""

    def make(**values):
        for name, value in values.items():
            place = tmp_path / "sys" / name.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{value}\n")
        return tmp_path / "sys"

    return make


def test_a_sandbox_that_works_names_its_version(bubblewrap, program):
    if bubblewrap.ok:
        assert bubblewrap.version
    said = available(program("bubblewrap 0.11.0"))
    assert (said.ok, said.version) == (True, "0.11.0")


def test_a_missing_program_is_named_with_its_mend(tmp_path):
    said = available(str(tmp_path / "bwrap"))
    assert not said.ok
    assert "not installed" in said.problem
    assert "apt-get install bubblewrap" in said.mend


@pytest.mark.parametrize("version", ["bubblewrap 0.6.1", "bubblewrap 0.7", "what?"])
def test_a_program_that_is_too_old_or_unknown_is_no_sandbox(program, version):
    said = available(program(version))
    assert not said.ok
    assert said.mend


@pytest.mark.parametrize(
    ("setting", "value", "mend"),
    [
        ("kernel__unprivileged_userns_clone", 0, "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("kernel__apparmor_restrict_unprivileged_userns", 1, "apparmor_restrict_unprivileged_userns=0"),
        ("user__max_user_namespaces", 0, "sysctl -w user.max_user_namespaces"),
        ("user__max_user_namespaces", 9, "seccomp"),
    ],
)
def test_a_kernel_that_refuses_is_told_by_the_setting_that_does_it(program, sysctls, setting, value, mend):
    said = available(program("bubblewrap 0.8.0", complaint=DENIED, code=1), sysctls(**{setting: value}))
    assert (said.ok, said.problem, said.version) == (False, DENIED, "0.8.0")
    assert mend in said.mend
