# SPDX-License-Identifier: Apache-2.0
"""What the console's page asks, asked of real processes, and held to the document."""
import glob
import json
import os
import re

from contract import Server, wait

PAGE = {"Locus-Console": "1"}  # as the page sends it
NEW_SHARD = {"name": "c", "endpoint": "mysql://127.0.0.1:3/c", "weight": 0, "labels": {"tier": "hot"}}
LINES = 10_000  # of a stream, in which it tells what it is read for


def try_console(world, server):
    nobody = Server(world.contract, server.address)
    try_tables(server, nobody)
    try_page(world, nobody)
    try_moves(server)
    try_stats(server)
    try_types(server)
    try_events(world, server)
    try_plans(server)


def try_tables(server, nobody):
    assert "offers" not in nobody.get("/v1/console/session")
    assert server.get("/v1/console/session")["offers"]["history"]
    server.ask("GET", "/v1/console/session?x", expect=400)
    assert server.get("/v1/table")["source"]["state"] == "following"
    assert server.get("/v1/table?epoch=7")["source"] is None
    server.ask("GET", "/v1/table?epoch=0", expect=400)
    server.ask("GET", "/v1/table?epoch=99", expect=404)
    server.get("/v1/table/history")
    server.ask("GET", "/v1/table/history?most=0", expect=400)
    server.get("/v1/table/diff?before=7")
    server.ask("GET", "/v1/table/diff", expect=400)
    server.ask("GET", "/v1/table/diff?before=99", expect=404)
    server.get("/v1/shards")
    order = json.loads(server.ask("POST", "/v1/orders/ids", {"buyers": ["1"]})[2])["orders"][0]
    snowflake = server.get("/v1/snowflake")["ids"][0]
    for text in (order["order_id"], order["order_no"], "gene:1", "buyer:1", "snowflake:" + snowflake):
        server.get("/v1/inspect?text=" + text)
    server.ask("GET", "/v1/inspect?text=x", expect=400)


def try_page(world, nobody):
    """The files of the page, which are those of its bundle; without a token."""
    for path in ("/", *sorted("/" + name for name in os.listdir(os.path.join(world.web, "dist")))):
        status, headers, text = nobody.ask("GET", path, expect=200)
        with open(os.path.join(world.web, "dist", path[1:] or "index.html"), "rb") as file:
            assert text == file.read(), path
        nobody.ask("HEAD", path, expect=200)
        nobody.ask("GET", path, headers={"If-None-Match": headers["ETag"]}, expect=304)


def try_moves(server):
    moves = server.get("/v1/moves")
    assert moves["file"] is None and moves["table_moves"][0]["from"] == 1, moves
    server.ask("HEAD", "/v1/moves", expect=200)


def try_stats(server):
    def counted():
        current = server.get("/v1/stats")["current"]
        return current["orders"]["ids"] and current["snowflake"]["ids"] and current["sequences"]
    wait("the figures", counted)
    server.ask("HEAD", "/v1/stats", expect=200)


def try_types(server):
    """The rules that try_types counted by."""
    types = {each["name"]: each for each in server.get("/v1/types")["types"]}
    assert types["invoices"]["fields"] == ["shop"] and types["invoices"]["counters"], types
    assert types["daily"]["first_number"].endswith("00000005"), types
    server.ask("GET", "/v1/types?x=1", expect=400)


def open_streams(server):
    """How many the server counts."""
    text = server.ask("GET", "/metrics", expect=200)[2].decode()
    return int(re.search(r"^locusd_console_streams (\d+)$", text, re.M).group(1))


def try_events(world, server):
    """The head of a stream opens none; two of them are all that may be open here."""
    for _ in range(3):
        headers = server.ask("HEAD", "/v1/events", expect=200)[1]
        assert headers["Content-Type"] == "text/event-stream", headers
        assert open_streams(server) == 0
    both = [server.stream("/v1/events", {"table", "moves", "stats"}, LINES) for _ in range(2)]
    assert open_streams(server) == 2
    server.ask("GET", "/v1/events", expect=503)
    server.ask("HEAD", "/v1/events", expect=200)
    for stream in both:
        stream.close()


def try_plans(server):
    """Plans, and publishes a shard that gets nothing yet."""
    change = {"epoch": 7, "add": [{**NEW_SHARD, "weight": 100}], "weights": {"a": 50}}
    planned = json.loads(server.ask("POST", "/v1/plan", change, PAGE, expect=200)[2])
    assert planned["plan"]["moves"], planned
    server.ask("POST", "/v1/plan", {"plan": planned["plan"], "most_per_shard": 2}, PAGE, expect=200)
    for body in ({"remove": ["x"]}, {"add": 1}, {"most_per_shard": 0}, {"x": 1}, "{"):
        server.ask("POST", "/v1/plan", body, {**PAGE, "Content-Type": "application/json"}, expect=400)
    server.ask("POST", "/v1/plan", {"epoch": 1}, PAGE, expect=409)
    plan = json.loads(server.ask("POST", "/v1/plan", {"add": [NEW_SHARD]}, PAGE, expect=200)[2])
    wanted = {"epoch": plan["epoch"], "plan": plan["plan"], "digest": plan["next"]["digest"]}
    for path, body in (("/v1/plan", change), ("/v1/plan:publish", wanted)):
        server.ask("POST", path, json.dumps(body), {**PAGE, "Content-Type": "text/xml"}, expect=415)
        server.ask("POST", path, body, expect=403)
        server.ask("POST", path, body, {**PAGE, "Origin": "http://example.org"}, expect=403)
    server.ask("POST", "/v1/plan:publish", {}, PAGE, expect=400)
    server.ask("POST", "/v1/plan:publish", {**wanted, "digest": "0" * 64}, PAGE, expect=409)
    for already in (False, True):
        answer = json.loads(server.ask("POST", "/v1/plan:publish", wanted, PAGE, expect=200)[2])
        assert answer["epoch"] == 8 and answer["already"] == already, answer
    unchanged = server.ask("POST", "/v1/plan", {"epoch": 8}, PAGE, expect=200)[2]
    assert json.loads(unchanged)["next"] is None, unchanged
    server.get("/v1/table/diff?before=7&after=8")


def try_without_a_table(server):
    """A service that has no table, and no place that keeps one."""
    for path in ("/v1/table", "/v1/table/history", "/v1/shards", "/v1/moves", "/v1/types"):
        server.ask("GET", path, expect=404)
    server.ask("POST", "/v1/plan", {}, PAGE, expect=404)
    publication = {"epoch": 1, "plan": {"epoch": 1}, "digest": "0" * 64}
    server.ask("POST", "/v1/plan:publish", publication, PAGE, expect=404)
    assert server.get("/v1/stats")["current"]["orders"] is None


def compare_with_the_page(world):
    """The page asks for nothing that the document lacks; and what it knows of a move, which needs
    database servers to be seen and is held to them by console_move_test, of rules and of strict
    sequences, is what the document has."""
    types = ""
    for path in sorted(glob.glob(os.path.join(world.web, "src", "api*.ts"))):
        with open(path, encoding="utf-8") as text:
            types += text.read()
    paths = re.search(r"export const paths = \{(.*?)\}", types, re.S).group(1)
    for path in re.findall(r'"(/[^"]+)"', paths):
        assert world.contract.find(path) is not None, path
    for name in ("MoveStatus", "MoveSide", "NumberType", "NumberCounter", "StrictStatus", "StrictSections",
                 "StrictRange"):
        body = re.search(r"^export interface %s \{\n(.*?)^\}" % name, types, re.S | re.M).group(1)
        members = re.findall(r"^  (\w+)(\??):", body, re.M)
        schema = world.contract.document["components"]["schemas"][name]
        assert {each for each, _ in members} == set(schema["properties"]), name
        assert {each for each, may_lack in members if not may_lack} == set(schema["required"]), name
