"""What every agent is told in its environment, whatever its kind (product §6a)."""

import os
from collections.abc import Iterable

from orchestrator.ports.agent import AgentTask


def protocol_variables(task: AgentTask) -> dict[str, str]:
    """The ``ORCH_*`` variables of a task."""
    values = {
        "ORCH_ROLE": task.role.value,
        "ORCH_WORK_ITEM": task.work_item,
        "ORCH_TITLE": task.title,
        "ORCH_TASK_FILE": str(task.task_file.absolute()),
        "ORCH_ARTIFACT_DIR": str(task.artifact_dir.absolute()),
        "ORCH_BRANCH": task.branch,
        "ORCH_BASE": task.base,
        "ORCH_ROUND": str(task.round),
        "ORCH_RUN_ID": str(task.run_id),
        **_identity(task),
    }
    # What people type may hold anything; the operating system refuses a NUL byte in an environment.
    return {name: value.replace("\0", "") for name, value in values.items()}


def handed_over(names: Iterable[str]) -> dict[str, str]:
    """The variables of our own environment that agents get on purpose (ORCH_AGENT_ENV)."""
    return {name: os.environ[name] for name in names if name in os.environ}


def _identity(task: AgentTask) -> dict[str, str]:
    """Who git says that a commit of the agent is by: its home need not hold any configuration."""
    if not task.email:
        return {}
    names = {f"GIT_{who}_NAME": task.role.value for who in ("AUTHOR", "COMMITTER")}
    return names | {f"GIT_{who}_EMAIL": task.email for who in ("AUTHOR", "COMMITTER")}


def request(task: AgentTask) -> str:
    """What a model is asked to do, in the name of the user: what there is to know stands in the files."""
    if task.resume is not None:
        return (
            "The provider's limit interrupted you; it is over now. Go on with your task where you stopped, "
            "look first at what stands in the workspace already, and do the work to its end."
        )
    return (
        f"You are the {task.role.value} of work item {task.work_item}. Read {task.task_file.absolute()}: "
        f"it is your task. The documents of the work item are in {task.artifact_dir.absolute()}; write yours "
        "there. Nobody answers questions: do the work to its end, then say in a few sentences what you did."
    ).replace("\0", "")
