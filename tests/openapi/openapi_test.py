# SPDX-License-Identifier: Apache-2.0
"""Drives real processes of locusd through every answer that its /openapi.json has, and fails if one
was not seen, or if an answer was not in it. Also holds the table of paths in the docs to it.

usage: openapi_test.py LOCUSD LOCUS CONSOLE_PAGE DOCS
"""
import concurrent.futures
import glob
import json
import os
import signal
import socket
import sqlite3
import sys
import tempfile
import traceback
import urllib.request

from console import compare_with_the_page, try_console, try_without_a_table
from contract import DEADLINE, Contract, Server, wait
from leases import OF_STRICT, acquire, create, lease, now, renew, take, try_leases, try_store
from strict import try_strict
from world import World, free_port, listens

TABLE = {
    "epoch": 7,
    "shards": [{"id": 1, "name": "a", "endpoint": "mysql://127.0.0.1:1/a"},
               {"id": 2, "name": "b", "endpoint": "mysql://127.0.0.1:2/b"}],
    "ranges": [{"last": 32767, "shard": 1}, {"last": 65535, "shard": 2}],
    "moves": [{"first": 0, "last": 32767, "to": 2, "permyriad": 2500, "step": 3}],
}


LINES = {"Accept": "application/x-ndjson"}


def try_ids(server):
    """All that a service with keys, a table and a worker ID answers to requests for IDs."""
    orders = server.ask("POST", "/v1/orders/ids", {"buyers": ["1", "2", "18446744073709551615"]},
                        expect=200)[2]
    orders = json.loads(orders)["orders"]
    server.ask("POST", "/v1/orders/ids", {"buyers": ["1", "2"]}, LINES, expect=200)
    server.ask("POST", "/v1/orders/ids", {"buyers": []}, expect=400)
    numbers = [order["order_no"] for order in orders]
    other = "0" * 26
    decoded = json.loads(server.ask("POST", "/v1/order_no:decode", {"order_nos": numbers},
                                    expect=200)[2])
    assert decoded["order_ids"] == [order["order_id"] for order in orders], decoded
    server.ask("POST", "/v1/order_no:decode", {"order_nos": numbers}, LINES, expect=200)
    server.ask("POST", "/v1/order_no:decode", {"order_nos": [other, "x"]}, expect=400)
    for what in ("sequences/a/next", "snowflake", "uuid"):
        for n in ("", "?n=1", "?n=10000"):
            server.get(f"/v1/{what}{n}")
        server.ask("GET", f"/v1/{what}?n=3", headers=LINES, expect=200)
        server.ask("HEAD", f"/v1/{what}", expect=200)
        server.ask("GET", f"/v1/{what}?n=0", expect=400)
        key = {"Idempotency-Key": what}
        assert server.get(f"/v1/{what}?n=2", headers=key) == server.get(f"/v1/{what}?n=2", headers=key)
        server.ask("GET", f"/v1/{what}?n=3", headers=key, expect=422)
    key = {"Idempotency-Key": "orders"}
    server.ask("POST", "/v1/orders/ids", {"buyers": ["1"]}, key, expect=200)
    server.ask("POST", "/v1/orders/ids", {"buyers": ["2"]}, key, expect=422)
    for target, body in (("/v1/orders/ids", {"buyers": ["1"]}), ("/v1/route", {"items": []}),
                         ("/v1/order_no:decode", {"order_nos": numbers})):
        server.ask("POST", target, json.dumps(body), {"Content-Type": "text/xml"}, expect=415)
        server.ask("POST", target, body, {"Accept": "text/html"}, expect=406)
    for target in ("/v1/sequences/a/next", "/v1/snowflake", "/v1/uuid", "/v1/route?buyer=1"):
        server.ask("GET", target, headers={"Accept": "image/png"}, expect=406)
    by = [{"buyer": "1"}, {"order_id": orders[0]["order_id"]}, {"order_no": numbers[0]}]
    for each in by:
        server.get("/v1/route?" + "&".join(f"{key}={value}" for key, value in each.items()))
    server.ask("GET", "/v1/route", expect=400)
    server.ask("POST", "/v1/route", {"items": by * 5}, expect=200)
    server.ask("POST", "/v1/route", {"items": by}, LINES, expect=200)
    server.ask("POST", "/v1/route", {"items": [{}]}, expect=400)


RULE = ("start=0", "step=5", "max_value=0", "at_max=error", "expiry_ms=0", "buffer=0", "period=%s",
        "zone=UTC", "pattern=%s", "leftovers=return", "lifetime_s=60", "")


def store_types(database):
    """Two types, as `locus seq type create` stores them."""
    with sqlite3.connect(database, isolation_level=None, timeout=30) as store:
        for name, period, pattern in (("invoices", "none", "\"INV\"-{shop:2}-{seq:6}"),
                                      ("daily", "day", "{date:yyyyMMdd}{seq:8}")):
            rule = "\n".join(RULE) % (period, pattern)
            store.execute("INSERT INTO locus_sequence_type VALUES (?, 1, ?)",
                          (name.encode(), rule.encode()))


def try_types(server):
    """Numbers by sequence types of the store."""
    numbers = "/v1/numbers/invoices/next?field.shop=7"
    assert server.get(numbers)["numbers"] == ['"INV"-07-000005']
    assert server.get("/v1/sequences/invoices/next?step=5")["numbers"] == ["10"]
    assert server.get("/v1/sequences/invoices/next?key=a&n=2")["numbers"] == ["5", "10"]
    for n in ("", "&count=1", "&count=10000"):
        server.get(f"{numbers}&key=a{n}")
    server.ask("GET", f"{numbers}&count=3", headers=LINES, expect=200)
    server.ask("HEAD", numbers, expect=200)
    server.ask("GET", numbers, headers={"Accept": "image/png"}, expect=406)
    key = {"Idempotency-Key": "numbers"}
    assert server.get(numbers, headers=key) == server.get(numbers, headers=key)
    server.ask("GET", f"{numbers}&count=3", headers=key, expect=422)
    for target in ("/v1/numbers/invoices/next", f"{numbers}&count=0", f"{numbers}&n=1"):
        server.ask("GET", target, expect=400)
    for target in (f"{numbers}&step=1", "/v1/sequences/invoices/next?start=1"):
        server.ask("GET", target, expect=412)
    server.ask("GET", "/v1/numbers/none/next", expect=404)
    assert len(server.get("/v1/sequences/daily/next?n=3")["group"]) == 8
    assert len(server.get("/v1/numbers/daily/next")["numbers"][0]) == 16


CHANGES = (
    ("POST", "/v1/counters", take()),
    ("GET", "/v1/sequence_types", None),
    ("POST", "/v1/sequence_types", {"name": "t", "expected": "0", "next": None}),
    ("GET", "/v1/segments/o", None),
    ("PUT", "/v1/segments/o", create()),
    ("POST", "/v1/segments/o:allocate", lease()),
    ("POST", "/v1/segments/o:raise", {"to": "0", "reach": "near_floor", "caller_now_ms": now()}),
    ("POST", "/v1/segments/o:restored", {"caller_now_ms": now()}),
    *OF_STRICT,
    ("PUT", "/v1/spaces/s", {"rest_ms": 0, "caller_now_ms": 1}),
    ("DELETE", "/v1/spaces/s", None),
    ("GET", "/v1/leases?space=s", None),
    ("POST", "/v1/leases", acquire()),
    ("PUT", "/v1/leases/0", renew({"token": "1", "ceiling_ms": 1})),
    ("DELETE", "/v1/leases/0", {"space": "s", "token": "1", "last_used_ms": None}),
)


def try_members(world, leader):
    """A second node joins, follows, and is killed."""
    follower, process, other = world.node("b", "store = true\n")
    id_of = wait("the other's ID", lambda: follower.get("/v1/status")["id"])
    mine = leader.get("/v1/status")["id"]
    assert leader.get("/v1/time")["ending"] == 0
    leader.ask("POST", "/v1/time:advance", {}, expect=400)
    leader.ask("POST", "/v1/time:advance", {"most_ms": 1000})
    leader.ask("POST", "/v1/members", {}, expect=400)
    leader.ask("POST", "/v1/members/x:promote", expect=400)
    leader.ask("POST", "/v1/members/x:transfer", expect=400)
    leader.ask("DELETE", "/v1/members/x", expect=400)
    leader.ask("POST", f"/v1/members/{id_of}:promote", expect=404)
    leader.ask("POST", f"/v1/members/{id_of}:transfer", expect=404)
    leader.ask("DELETE", f"/v1/members/{id_of}", expect=404)
    # One that nobody hears learns nothing.
    wait("a silent one to be added", lambda: leader.ask(
        "POST", "/v1/members", {"id": "77", "address": "127.0.0.1:1 127.0.0.1:2"})[0] == 204)
    leader.ask("POST", "/v1/members/77:promote", expect=412)
    wait("it to be removed", lambda: leader.ask("DELETE", "/v1/members/77")[0] == 204)
    wait("the other to be added", lambda: leader.ask(
        "POST", "/v1/members", {"id": id_of, "address": other})[0] == 204)
    wait("the other to vote", lambda: leader.ask("POST", f"/v1/members/{id_of}:promote")[0] == 204)
    wait("the other to follow", lambda: follower.get("/v1/status")["leader"] == mine)
    changes = CHANGES + (("GET", "/v1/time", None),
                         ("POST", "/v1/time:advance", {"most_ms": 1000}),
                         ("POST", "/v1/members", {"id": id_of, "address": other}),
                         ("POST", f"/v1/members/{id_of}:promote", None),
                         ("POST", f"/v1/members/{id_of}:transfer", None),
                         ("DELETE", f"/v1/members/{id_of}", None))
    for method, target, body in changes:
        follower.ask(method, target, body, expect=307)
    wait("the leadership to go", lambda: leader.ask(
        "POST", f"/v1/members/{id_of}:transfer")[0] == 204)
    wait("the other to lead", lambda: follower.get("/v1/status")["leads_for_sure"])
    wait("and to hand it back", lambda: follower.ask(
        "POST", f"/v1/members/{mine}:transfer")[0] == 204)
    wait("the first to lead", lambda: leader.get("/v1/status")["leads_for_sure"])
    leader.get("/v1/members")
    process.end()
    wait("the first to notice", lambda: leader.get("/v1/status")["role"] != "leader")
    for method, target, body in changes:
        leader.ask(method, target, body, expect=503)
    leader.ask("GET", "/readyz", expect=503)


def try_tokens(world, server, few):
    """What whoever has no token, a wrong one, or one for something else gets."""
    nobody = Server(world.contract, server.address)
    nobody.ask("GET", "/v1/uuid", expect=401)
    nobody.ask("GET", "/v1/uuid", token="none-of-them-at-all", expect=401)
    nobody.ask("POST", "/v1/order_no:decode", {"order_nos": ["0" * 26]}, token=few, expect=403)
    for path in ("/healthz", "/readyz", "/openapi.json"):
        nobody.ask("GET", path, expect=200)
        nobody.ask("HEAD", path, expect=200)
    nobody.ask("GET", "/metrics", expect=401)
    if nobody.get("/openapi.json") != world.contract.document:
        world.contract.wrong.append("/openapi.json is another document than the one given")
    # One a second, and a few at once: how many that is depends on how fast this machine asks.
    statuses = set()
    for _ in range(1000):
        statuses.add(nobody.ask("GET", "/v1/uuid", token=few)[0])
        if 429 in statuses:
            break
    assert statuses == {200, 429}, statuses


def try_methods(contract, server):
    for _, path, item in contract.paths:
        for name in ("space", "set", "worker", "name", "type", "id"):
            path = path.replace("{%s}" % name, "1")
        for method in ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            if method == "OPTIONS" or (method.lower() not in item and (method, "get" in item) != ("HEAD", True)):
                server.ask(method, path)


def raw(server, data):
    """A request as it stands; the answer is judged as that of GET /healthz."""
    with socket.create_connection(tuple(server.address.rsplit(":", 1)), DEADLINE) as one:
        one.sendall(data)
        text = b""
        while part := one.recv(65536):
            text += part
    head, _, body = text.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    status = int(lines[0].split()[1])
    server.contract.judge("GET", "/healthz", status, headers, body)
    return status


def try_broken(server):
    host = b"Host: 127.0.0.1\r\n"
    long = b"GET /healthz HTTP/1.1\r\n" + host + b"X: " + b"x" * 20000 + b"\r\n\r\n"
    for status, data in (
            (400, b"GET /healthz HTTP/1.1\r\n\r\n"),
            (413, b"GET /healthz HTTP/1.1\r\n" + host + b"Content-Length: 99999999\r\n\r\n"),
            (417, b"GET /healthz HTTP/1.1\r\n" + host + b"Expect: x\r\nContent-Length: 1\r\n\r\n"),
            (431, long),
            (408, b"GET /healthz HTTP/1.1\r\n")):
        found = raw(server, data)
        assert found == status, (found, status)


def try_failures(laptop, data):
    """A store that does not answer, a service without a part, another host."""
    store_types(os.path.join(data, "ids.db"))
    with sqlite3.connect(os.path.join(data, "ids.db"), isolation_level=None, timeout=30) as store:
        store.execute("BEGIN EXCLUSIVE")
        requests = [("POST", "/v1/orders/ids", {"buyers": [str(buyer)]}) for buyer in range(3)]
        requests += [("GET", "/v1/sequences/new/next"), ("GET", "/v1/numbers/daily/next")]
        # All at once: each waits for as long as the service lets it.
        with concurrent.futures.ThreadPoolExecutor(len(requests)) as threads:
            for asked in [threads.submit(laptop.ask, *each, expect=503) for each in requests]:
                asked.result()
        store.execute("ROLLBACK")
        # Nor does waiting mend a space that is another one now.
        store.execute("UPDATE locus_space SET section_size = 512")
    laptop.ask("POST", "/v1/orders/ids", {"buyers": ["77"]}, expect=500)
    laptop.ask("GET", "/v1/route?buyer=1", expect=404)
    laptop.ask("POST", "/v1/route", {"items": []}, expect=404)
    laptop.ask("GET", "/v1/uuid", headers={"Host": "example.org"}, expect=403)
    laptop.ask("GET", "/v1/members", expect=404)


def try_absent_place(world):
    """A service whose worker IDs are at a place that does not answer."""
    api = f"127.0.0.1:{free_port()}"
    with open(world.path("alone.toml"), "w", encoding="ascii") as out:
        out.write(f'''roles = ["id-service"]
[api]
listen = "{api}"
[ids]
[ids.snowflake]
leases = "redis://127.0.0.1:{free_port()}"
''')
    world.start("alone", "--config", world.path("alone.toml"))
    wait("a service without its place", lambda: listens(api))
    server = Server(world.contract, api)
    server.ask("GET", "/v1/snowflake", expect=503)
    server.ask("GET", "/readyz", expect=503)
    server.ask("POST", "/v1/orders/ids", {"buyers": ["1"]}, expect=404)
    try_without_a_table(server)


def table_of_paths(document):
    """Its rows in the docs: paths by tags, each with its methods and scopes."""
    rows = ["| path | method | scope | what it does |", "| --- | --- | --- | --- |"]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            scopes = " or ".join(f"`{scope}`" for scope in operation.get("x-scopes", [])) or "none"
            rows.append(f"| `{path}` | {method.upper()} | {scopes} | {operation['summary']} |")
    return "\n".join(rows) + "\n"


def compare_with_the_docs(contract, docs):
    page = glob.glob(os.path.join(docs, "**", "http-paths.md"), recursive=True)[0]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    begin, end = "<!-- paths of /openapi.json -->\n", "<!-- end of paths -->"
    wanted = table_of_paths(contract.document)
    if text.split(begin)[-1].split(end)[0].strip() != wanted.strip():
        contract.wrong.append(f"{page}: between {begin.strip()} and {end} should be:\n{wanted}")


def main(locusd, locus, web, docs):
    with tempfile.TemporaryDirectory() as directory:
        world = World(locusd, locus, None, directory, web)
        try:
            laptop = world.laptop("laptop")
            with urllib.request.urlopen(f"http://{laptop.address}/openapi.json") as answer:
                contract = world.contract = laptop.contract = Contract(json.load(answer))
            compare_with_the_docs(contract, docs)
            drive(world, contract, laptop)
        except (OSError, ValueError, KeyError, AssertionError, TimeoutError) as error:
            world.contract.wrong.append(f"the test ended early: {error!r}")
            traceback.print_exc()
        finally:
            world.close()
    for each in sorted(set(contract.wrong)):
        print("WRONG", each)
    missing = contract.missing()
    for each in missing:
        print("NEVER SEEN", each)
    print(f"{len(contract.seen)} answers of {len(contract.operations())} operations seen")
    return 1 if contract.wrong or missing else 0


def drive(world, contract, laptop):
    few, all_of_it = world.token("few"), world.token("all")
    with open(world.path("table.json"), "w", encoding="ascii") as out:
        json.dump(TABLE, out)
    scopes = '"ids", "route", "decode", "leases", "store", "operate", "publish", "strict", "read"'
    more = f'''request_timeout = "1s"
store = true
[[token]]
name = "few"
file = "{world.path('few.token')}"
scopes = ["ids"]
rate = 1
burst = 4
[[token]]
name = "all"
file = "{world.path('all.token')}"
scopes = [{scopes}]
[ids]
keys = "{world.path('laptop/keys')}"
[ids.orders]
store = "sqlite:{world.path('ids.db')}"
create = true
[ids.sequences]
store = "sqlite:{world.path('ids.db')}"
create = true
most = 3
[ids.snowflake]
leases = "sqlite:{world.path('ids.db')}"
create = true
[ids.table]
place = "file:{world.path('table.json')}"
[strict]
name = "a"
store = "sqlite:{world.path('a-strict.db')}"
create = true
[console]
streams = 2
'''
    world.run_locus("lease", "create", "sqlite:" + world.path("ids.db"), "--first-ever")
    world.run_locus("seq", "create", "--store", "sqlite:" + world.path("ids.db"), "--first-ever")
    server, _, _ = world.node("a", more, "--begin", ids=True)
    server.token = all_of_it
    wait("a leader", lambda: server.get("/v1/status")["leads_for_sure"])
    wait("readiness", lambda: server.ask("GET", "/readyz")[0] == 200)
    try_tokens(world, server, few)
    server.ask("GET", "/metrics", expect=200)
    try_ids(server)
    store_types(world.path("ids.db"))
    try_types(server)
    for name in ("b", "c"):
        server.get(f"/v1/sequences/{name}/next")
    server.ask("GET", "/v1/sequences/d/next", expect=404)
    compare_with_the_page(world)
    try_console(world, server)
    try_methods(contract, server)
    try_leases(server)
    try_store(server)
    try_broken(server)
    try_failures(laptop, world.path("laptop"))
    try_absent_place(world)
    try_strict(world)
    try_members(world, server)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
