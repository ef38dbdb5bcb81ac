"""Which tracker and forge the orchestrator works with, and for which projects."""

from pydantic import BaseModel, Field, SecretStr, field_validator


class Neighbours(BaseModel):
    """Plane, Gitea and the list of projects."""

    plane_base_url: str = Field("", description="Address of Plane. Empty: only the built-in board is used.")
    plane_workspace: str = Field("", description="Slug of the workspace in Plane.")
    plane_api_token: SecretStr = Field(
        SecretStr(""), description="API token of the orchestrator's user in Plane."
    )
    plane_webhook_secret: SecretStr = Field(
        SecretStr(""), description="Secret with which Plane signs its webhooks."
    )
    plane_test_write_enabled: bool = Field(
        False, description="Lets a test process write to Plane, and to the sandbox projects only (ORCH-117)."
    )
    plane_test_sandbox_projects: str = Field(
        "",
        description="Ids of the Plane projects that a test process may write to, separated by commas; "
        "empty: none. †",
    )
    gitea_base_url: str = Field("", description="Address of Gitea. Empty: only local repositories are used.")
    gitea_token: SecretStr = Field(
        SecretStr(""), description="Access token of the orchestrator's user in Gitea."
    )
    gitea_webhook_secret: SecretStr = Field(
        SecretStr(""), description="Secret with which Gitea signs its webhooks."
    )
    projects_json: str = Field(
        "", description="The projects as a JSON list; `orch project add` does the same without it."
    )

    @field_validator("plane_base_url", "gitea_base_url")
    @classmethod
    def _address_is_plain(cls, value: str) -> str:
        if not value:
            return value
        scheme, _, rest = value.partition("://")
        if scheme not in {"http", "https"} or not rest:
            raise ValueError("must begin with http:// or https://")
        if "@" in rest.partition("/")[0]:
            raise ValueError("must not contain a user or password; the token has a setting of its own")
        return value.rstrip("/")
