"""The built-in prompts: what a role is told when its repository has no ``.openclaw/agents/<role>.md``."""

from importlib.resources import files

from orchestrator.pipeline.stages import Role


def built_in_prompt(role: Role) -> str:
    """The text of the built-in prompt of ``role``."""
    return files(__name__).joinpath(f"{role.value}.md").read_text(encoding="utf-8")
