"""What a launch brings along lies in the directory of the run before it starts, for nobody else to read."""

from dataclasses import replace

from orchestrator.agents.clis.claude import ClaudeCli, ClaudeOptions
from orchestrator.ports.agent import AgentFailed
from orchestrator.testing.clock import ManualClock
from tests.unit.agents.real import transport_of
from tests.unit.agents.tasks import ENDED, agent_task


async def test_the_prompt_is_there_when_the_cli_starts(tmp_path):
    program = tmp_path / "claude"
    program.write_text(
        '#!/bin/sh\nwhile [ "$1" != --system-prompt-file ]; do shift; done\ncat "$2"; exit 1\n'
    )
    program.chmod(0o755)
    task = replace(agent_task(tmp_path), prompt="You build, and nobody reads it: é")
    task.workspace.mkdir()
    clock = ManualClock(ENDED)
    cli = ClaudeCli(clock, home=tmp_path, options=ClaudeOptions(command=str(program)))
    outcome = await transport_of("claude", cli, clock, tmp_path).run(task)
    assert isinstance(outcome, AgentFailed)
    assert outcome.reason == f"exit code 1: {task.prompt}"
    assert (task.run_dir / "system-prompt.md").stat().st_mode & 0o077 == 0
