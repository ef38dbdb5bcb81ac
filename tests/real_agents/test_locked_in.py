"""The real CLI locked in: it does its work, and reaches nothing else."""

import os
import shutil
import socket

import pytest

from tests.real_agents.lodging import MODEL_KEY
from tests.real_agents.test_claude_troubles import bash, developing
from tests.scenario.house import git

OFFLINE = ("--sandbox", "bubblewrap", "--no-network")


@pytest.fixture(autouse=True)
def bubblewrap():
    if shutil.which("bwrap") is None:
        told = "bubblewrap is not installed; apt-get install bubblewrap"
        if os.environ.get("ORCH_REQUIRE_SANDBOX") == "1":
            pytest.fail(told)
        pytest.skip(told)


def test_an_agent_that_is_locked_in_develops_and_reaches_nothing_else(lodge, tmp_path):
    canary = tmp_path / "canary.txt"
    canary.write_text("canary-outside-of-the-tree-3301")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        tries = (
            f"cat {canary}; ls {tmp_path}; touch {tmp_path}/planted; "
            f"cat /etc/shadow; touch /usr/planted; (echo > /dev/tcp/127.0.0.1/{port}) 2>&1; "
            "printf '#!/bin/sh\\ntouch /tmp/hooked\\n' > .git/hooks/post-checkout; "
            "chmod +x .git/hooks/post-checkout; git config core.fsmonitor 'touch /tmp/hooked'; "
            "git config filter.evil.clean 'touch /tmp/hooked'; "
            "echo '* filter=evil' > .gitattributes; echo tried"
        )
        lodging = lodge(lead={"developer": bash(tries)}, options=OFFLINE)
        item = developing(lodging)
        lodging.until(item, "left development", lambda view: view["stage"] != "development", within=60)
        other.settimeout(0.2)
        with pytest.raises(TimeoutError):
            other.accept()
    told = lodging.log_of(lodging.roles().index("developer"))
    assert "canary-outside" not in told
    assert "tried" in told
    assert not (tmp_path / "planted").exists()
    assert not os.path.exists("/usr/planted")
    branch = lodging.house.view(item)["branch"]
    assert "def average(" in git(lodging.house.forge(), "show", f"{branch}:tally/scores.py")
    log = git(lodging.house.forge(), "log", "--format=%s by %an", branch).splitlines()
    assert "Work of the developer by developer" in log
    lodging.until(item, "was reviewed", lambda _: lodging.outcomes("reviewer"), within=60)
    assert not os.path.exists("/tmp/hooked")
    assert set(lodging.outcomes()) == {"finished"}


def test_what_the_agent_sees_is_no_secret_of_ours(lodge):
    look = "env | sort; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; ls -la ~ /; echo looked"
    lodging = lodge(lead={"developer": bash(look)}, options=("--sandbox", "bubblewrap"))
    item = developing(lodging)
    lodging.until(item, "was developed", lambda _: lodging.outcomes("developer"), within=60)
    told = lodging.log_of(lodging.roles().index("developer"))
    assert "looked" in told
    assert "ORCH_ROLE=developer" in told
    assert str(lodging.house.home / "orchestrator.db") not in told
    # The key of the model is the agent's own; the log that is kept does not show it all the same.
    assert MODEL_KEY not in told
