import pytest

from orchestrator.plumbing.git import Git
from tests.unit.plumbing.git.repositories import bare


@pytest.fixture
def git():
    return Git()


@pytest.fixture
def repo(tmp_path):
    return bare(tmp_path / "repo.git")
