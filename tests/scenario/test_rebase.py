"""The base moves while an item is on its way: what is merged is what was tested."""

from tests.scenario.house import House, View, commit, eventually, git


def move_base(shop: House, files: dict[str, str]) -> str:
    """The user's next commit on main, as the forge has it from then on."""
    commit(shop.user, files, "by the user")
    git(shop.forge(), "fetch", "-q", str(shop.user), "main:main")
    return git(shop.user, "rev-parse", "HEAD")


def in_staging(shop: House, item: str) -> View:
    """The item while its staging check is held up."""
    return shop.drive(item, lambda _: any(line[0] == "staging" for line in shop.ledger("steps")))


def test_the_branch_is_rebased_and_every_gate_answers_again(shop):
    shop.steer("hold-staging")
    shop.serve()
    item = shop.file("Sell more")
    before = in_staging(shop, item)
    moved = move_base(shop, {"own.txt": "mine\n"})
    shop.release("hold-staging")
    view = shop.drive_to_done(item)
    merged = view["merged"]
    git(shop.forge(), "merge-base", "--is-ancestor", moved, merged)
    assert git(shop.forge(), "show", f"{merged}:own.txt") == "mine"
    assert view["rounds"] == []
    passed: dict[str, set[str]] = {}
    for verdict in view["verdicts"]:
        if verdict["stage"] == "deploy-staging" and verdict["answer"] == "passed":
            passed.setdefault(verdict["code"], set()).add(verdict["gate"])
    assert len(passed) == 2
    assert len(passed[list(passed)[-1]]) == 5, passed
    assert before["code"] in passed
    staged = [line[1] for line in shop.ledger("steps") if line[0] == "staging"]
    assert len(staged) == 2
    (retested,) = [line[1] for line in shop.ledger("steps") if line[0] == "retest"]
    documents = f":(exclude)docs/work-items/{item}"
    assert git(shop.forge(), "diff", "--name-only", retested, merged, "--", ".", documents) == ""
    assert git(shop.forge(), "diff", "--name-only", staged[-1], merged, "--", ".", documents) == ""


def test_what_the_user_commits_to_the_own_repository_meanwhile_is_not_forgotten(shop):
    """The merge must not make the user's repository and ours go apart."""
    shop.steer("hold-staging")
    shop.serve()
    item = shop.file("Sell more")
    in_staging(shop, item)
    commit(shop.user, {"own.txt": "mine\n"}, "by the user")
    shop.release("hold-staging")
    view = shop.drive_to_done(item)
    assert git(shop.forge(), "show", f"{view['merged']}:own.txt") == "mine"


def test_a_conflict_is_another_round_that_a_rebase_resolves(shop):
    """The finding says literally: rebase onto the base and resolve the conflicts."""
    shop.steer("hold-staging")
    shop.steer("touch", "price.txt")
    shop.serve()
    item = shop.file("Sell more")
    in_staging(shop, item)
    moved = move_base(shop, {"price.txt": "12\n"})
    shop.steer("rebase")
    shop.release("hold-staging")
    view = shop.drive_to_done(item)
    git(shop.forge(), "merge-base", "--is-ancestor", moved, view["merged"])


def test_a_conflict_is_another_round_that_a_merge_of_the_base_resolves(shop):
    shop.steer("hold-staging")
    shop.steer("touch", "price.txt")
    shop.serve()
    item = shop.file("Sell more")
    in_staging(shop, item)
    moved = move_base(shop, {"price.txt": "12\n"})
    shop.steer("merge")
    shop.release("hold-staging")
    view = shop.drive_to_done(item)
    (round_,) = view["rounds"]
    assert round_["gate"] == "check_branch_mergeable"
    assert "price.txt" in round_["findings"][0]
    git(shop.forge(), "merge-base", "--is-ancestor", moved, view["merged"])
    assert git(shop.forge(), "show", f"{view['merged']}:price.txt") == f"{item} round 2"


def test_a_base_that_is_red_itself_freezes_the_project_and_blames_nobody(shop):
    shop.steer("hold-staging")
    shop.serve()
    item = shop.file("Sell more")
    in_staging(shop, item)
    move_base(shop, {"own.txt": "mine\n"})
    shop.steer("fail-retest")
    shop.release("hold-staging")
    eventually(lambda: shop.get("/api/v1/projects")["projects"][0]["frozen"], "the project is frozen")
    view = shop.view(item)
    assert (view["stage"], view["rounds"], view["hold"]) == ("deploy-staging", [], None)
