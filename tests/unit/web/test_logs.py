import pytest

from orchestrator.web.logs import CHUNK

KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA\n" * 20 + "-----END RSA PRIVATE KEY-----\n"


async def read(client, **asked):
    answer = await client.get("/api/v1/runs/7/log", params=asked)
    return answer.text, int(answer.headers["x-next-offset"])


@pytest.fixture
def log(house):
    return house.logs / "7.log"


async def test_a_log_is_followed_by_offset(client, log):
    log.write_text("one\ntwo\n")
    assert await read(client) == ("one\ntwo\n", 8)
    assert await read(client, offset=8) == ("", 8)
    log.write_text("one\ntwo\nthree\n")
    assert await read(client, offset=8) == ("three\n", 14)


async def test_a_line_without_end_is_held_back_until_the_run_has_ended(client, log):
    log.write_text("one\nAPI_TOK")
    assert await read(client) == ("one\n", 4)
    assert await read(client, whole=True) == ("one\nAPI_TOK", 11)


async def test_secrets_are_masked(client, log):
    log.write_text("API_TOKEN=hunter2hunter2\nnext\n")
    assert await read(client) == ("API_TOKEN=***\nnext\n", 30)


async def test_a_key_stays_masked_wherever_the_reader_goes_on(client, log):
    log.write_text(f"before\n{KEY}after\n")
    for offset in range(0, len(f"before\n{KEY}"), 13):
        text, _ = await read(client, offset=offset)
        assert "MIIE" not in text
        assert text.endswith("after\n")


async def test_an_offset_within_a_line_tells_the_whole_line(client, log):
    log.write_text("one\ntwo\nthree\n")
    assert await read(client, offset=6) == ("two\nthree\n", 14)


async def test_a_long_log_comes_in_pieces(client, log):
    whole = b"".join(b"%098d\n" % number for number in range(4000))
    log.write_bytes(whole)
    pieces, offset = [], 0
    while True:
        text, following = await read(client, offset=offset)
        if following == offset:
            break
        assert len(text) <= CHUNK
        pieces.append(text)
        offset = following
    assert "".join(pieces).encode() == whole
    assert len(pieces) == 2


async def test_one_endless_line_does_not_stop_the_reader(client, log):
    log.write_bytes(b"x" * (CHUNK + 10))
    text, offset = await read(client)
    assert (len(text), offset) == (CHUNK, CHUNK)


async def test_a_run_without_log_is_404(client):
    answer = await client.get("/api/v1/runs/8/log")
    assert (answer.status_code, answer.json()) == (404, {"error": "run 8 has no log"})
