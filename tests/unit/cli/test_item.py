"""Items are filed and looked at; what a person asks for is stored, or refused in one line."""

import pytest

from tests.unit.cli import repositories

TITLE = "Add /average to the service"
PROMISED = {
    *("work_item", "title", "project", "stage", "hold", "round", "branch", "head", "pull_request"),
    *("verdicts", "timeline", "runs", "cost"),
}


@pytest.fixture
def tally(orch, tmp_path):
    repositories.made(tmp_path / "tally")
    assert orch("project", "add", "tally", "--prefix", "TAL").code == 0
    return orch


def test_a_filed_item_is_answered_with_all_that_scripts_read(tally):
    ran = tally("item", "new", TITLE, "--project", "tally", "--label", "Bug", "--by", "sam", "--json")
    assert ran.code == 0
    item = ran.json
    assert set(item) >= PROMISED
    assert (item["ok"], item["work_item"], item["stage"], item["hold"]) == (True, "TAL-1", "created", None)
    assert (item["title"], item["track"], item["round"]) == (TITLE, "bug", 1)
    assert set(tally("item", "show", "tal-1", "--json").json) >= PROMISED


def test_with_one_project_its_name_may_be_left_out(tally):
    ran = tally("item", "new", TITLE)
    assert ran.code == 0
    assert ran.out.startswith("TAL-1: started\n")
    assert "no server is seen" in ran.err


def test_a_description_may_be_a_file(tally, tmp_path):
    (tmp_path / "request.md").write_text("Two decimals are enough.\n")
    item = tally("item", "new", TITLE, "-d", "@request.md", "--json").json
    assert item["description"].strip() == "Two decimals are enough."


def test_a_long_title_is_filed_and_blocked(tally):
    ran = tally("item", "new", "x" * 81, "--json")
    assert ran.code == 1
    assert ran.json["ok"] is False
    assert ran.json["hold"]["reason"].startswith("QG-0")
    assert ran.json["hold"]["who_can_unblock"]
    plain = tally("item", "new", "y" * 90)
    assert plain.code == 1
    assert "on hold: QG-0" in plain.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["new", TITLE, "-p", "nobody"], "unknown project nobody"),
        (["new", TITLE, "-d", "@nowhere.md"], "nowhere.md cannot be read"),
        (["show", "TAL-9"], "unknown work item TAL-9"),
        (["explain", "TAL-9"], "unknown work item TAL-9"),
        (["approve", "TAL-9"], "unknown work item TAL-9"),
        (["confirm-deploy", "TAL-9"], "unknown work item TAL-9"),
        (["retry", "TAL-9"], "unknown work item TAL-9"),
        (["stop", "TAL-9"], "unknown work item TAL-9"),
        (["logs", "TAL-9"], "unknown work item TAL-9"),
        (["follow", "TAL-9"], "unknown work item TAL-9"),
        (["list", "--stage", "lunch"], "lunch is no stage"),
        (["list", "-p", "nobody"], "unknown project nobody"),
        (["reject", "TAL-1", "--comment", " "], "say with --comment what is wrong"),
    ],
)
def test_what_cannot_be_done_is_one_line(tally, words, told):
    ran = tally("item", *words)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_without_a_project_the_way_to_one_is_shown(orch):
    ran = orch("item", "new", TITLE)
    assert ran.code == 2
    assert "orch project add" in ran.err


def test_an_item_that_nobody_worked_on_has_no_log(tally):
    tally("item", "new", TITLE)
    ran = tally("item", "logs", "TAL-1")
    assert ran.code == 2
    assert "has no run" in ran.err


def test_requests_that_do_not_fit_the_stage_are_refused(tally):
    tally("item", "new", TITLE)
    assert "is not on hold" in tally("item", "retry", "TAL-1").err
    assert "Confirm Deploy is possible in deploy only" in tally("item", "confirm-deploy", "TAL-1").err


def test_open_items_are_listed_and_a_stopped_one_only_with_all(tally):
    tally("item", "new", TITLE)
    tally("item", "new", "Another wish", "--blocked-by", "tal-1")
    stopped = tally("item", "stop", "TAL-1", "--reason", "not wanted", "--by", "sam", "--json")
    assert stopped.json["stage"] == "cancelled"
    assert [row["work_item"] for row in tally("item", "list", "--json").json] == ["TAL-2"]
    assert [row["work_item"] for row in tally("item", "list", "--all", "--json").json] == ["TAL-2", "TAL-1"]
    assert [row["work_item"] for row in tally("item", "list", "--stage", "cancelled", "--json").json] == [
        "TAL-1"
    ]
    assert "TAL-2" in tally("item", "list", "-p", "tally").out


def test_following_ends_when_the_item_is_cancelled(tally):
    tally("item", "new", TITLE)
    tally("item", "stop", "TAL-1", "--reason", "not wanted")
    ran = tally("item", "follow", "TAL-1")
    assert ran.code == 1
    assert "TAL-1 filed" in ran.out
    assert "created → cancelled (stop) not wanted" in ran.out


def test_an_item_is_shown_and_explained_to_a_person(tally):
    tally("item", "new", TITLE)
    shown, explained = tally("item", "show", "TAL-1"), tally("item", "explain", "TAL-1")
    assert TITLE in shown.out
    assert "TAL-1 filed" in shown.out
    assert "stage     created" in explained.out
    assert tally("item", "explain", "TAL-1", "--json").json["stage"] == "created"


def test_every_request_is_an_event(tally):
    tally("item", "new", TITLE, "--by", "sam")
    tally("item", "stop", "TAL-1", "--by", "kim")
    rows = tally("events", "list", "--json").json
    assert [(row["kind"], row["source"], row["work_item"]) for row in rows] == [
        ("StopItem", "kim", "TAL-1"),
        ("StartItem", "sam", "TAL-1"),
    ]
    assert [
        row["kind"] for row in tally("events", "list", "--item", "TAL-1", "--limit", "1", "--json").json
    ] == ["StopItem"]
    assert "StopItem" in tally("events", "list").out


def test_the_queue_is_shown_with_every_block(tally):
    tally("item", "new", TITLE)
    blocks = tally("queue", "--json").json
    assert blocks["serial_gate"]["projects"]["tally"]["waiting"] == ["TAL-1"]
    assert "Jobs: 1 queued" in tally("queue").out
