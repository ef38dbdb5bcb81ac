"""The real claude CLI, locked in, against a scripted model on the loopback."""

import json
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from orchestrator.testing.models import ModelServer, ToolCall, Turn, fixed
from tests.contract.workspaces import mirror
from tests.unit.forges.repositories import BRANCH

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "CLAUDE_CODE_TMPDIR": "/nowhere",
    "API_TIMEOUT_MS": "20000",
    "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
    "SHELL": "/bin/bash",
}


@pytest.fixture
def claude():
    """The CLI's executable."""
    found = os.environ.get("ORCH_TEST_CLAUDE") or shutil.which("claude")
    if found is None:
        pytest.skip("no claude CLI: set ORCH_TEST_CLAUDE to its path or put it on PATH")
    return Path(found).resolve()


def command(locked, claude, address, **env):
    options = ("--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
    return locked.launch(
        *(str(claude), "-p", "Count.", *options),
        readable=(str(claude.parent),),
        endpoint=address,
        env={**QUIET, "ANTHROPIC_BASE_URL": address, "CLAUDE_CONFIG_DIR": f"{locked.home}/.claude", **env},
    )


async def test_claude_edits_and_commits_without_any_network_but_its_model(locked, claude, tmp_path):
    bench = await mirror(tmp_path / "forge")
    base = await bench.base()
    await bench.workspace.check_out(BRANCH, base)
    locked.workspace.rmdir()
    await bench.workspace.lend(BRANCH, locked.workspace)
    script = fixed(
        [
            Turn(
                tools=[
                    ToolCall("Write", {"file_path": f"{locked.workspace}/new.py", "content": "print(1)\n"}),
                ]
            ),
            Turn(tools=[ToolCall("Bash", {"command": "git add -A && git commit -qm 'Count' && id -u"})]),
            Turn(text="Done: {{last}}"),
        ]
    )
    async with ModelServer(script) as model:
        done = await locked.run(command(locked, claude, model.base_url), locked.task(network=False))
    assert done.record.exit_code == 0, done.said
    result = json.loads([line for line in done.said.splitlines() if '"type":"result"' in line][-1])
    assert (result["is_error"], result["result"].strip()) == (False, "Done: 1000")
    await bench.workspace.take_back(BRANCH, locked.workspace)
    saved = await bench.save(base)
    assert await bench.workspace.changed("shop", base, saved) == ["new.py"]
    assert bench.origin(saved)[1] == "Count"


async def test_claude_reaches_an_encrypted_endpoint_through_the_proxy(locked, claude):
    """The endpoint does not answer; that a TLS greeting arrives there says that the way is open."""
    greetings: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as endpoint:

        def serve() -> None:
            while True:
                try:
                    connection, _ = endpoint.accept()
                except OSError:
                    return
                with connection:
                    greetings.append(connection.recv(3))

        thread = threading.Thread(target=serve)
        thread.start()
        address = f"https://localhost:{endpoint.getsockname()[1]}"
        done = await locked.run(command(locked, claude, address), locked.task(network=False))
        endpoint.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert done.record.exit_code == 1
    assert greetings
    assert {greeting[:2] for greeting in greetings} == {b"\x16\x03"}
