# SPDX-License-Identifier: Apache-2.0
"""Strict sequences of real nodes, held to the document."""
from contract import Server, wait
from world import free_port, listens


def try_strict(world):
    """Two nodes of strict sequences, and one whose store does not answer."""
    def node(name, store):
        api = f"127.0.0.1:{free_port()}"
        with open(world.path(name + ".toml"), "w", encoding="ascii") as out:
            out.write(f'''roles = ["sequence-node"]
[api]
listen = "{api}"
[strict]
name = "{name}"
store = "{store}"
create = true
uids = 1000
section_size = 100
''')
        process = world.start(name, "--config", world.path(name + ".toml"))

        def ready():
            if process.process.poll() is not None:
                raise RuntimeError(process.text())
            return listens(api)
        wait(name, ready)
        return Server(world.contract, api)

    def owner_of(server, section):
        table = server.get("/v1/strict/table")
        names = [table["owners"][each["owner"]]["name"] for each in table["ranges"]
                 if each["first"] <= section <= each["last"]]
        return names[0] if names else None

    one, other = (node(name, f"sqlite:{world.path('strict.db')}") for name in ("one", "other"))
    wait("a spread", lambda: {owner_of(one, section) for section in range(10)} == {"one", "other"})
    mine = next(section for section in range(10) if owner_of(one, section) == "one")
    uid = str(mine * 100)
    for body in ({"uids": [uid]}, {"uids": [uid, uid], "count": 3}):
        wait("numbers", lambda body=body: one.ask("POST", "/v1/strict/next", body)[0] == 200)
    one.ask("POST", "/v1/strict/next", {"texts": ["alice"]})
    for body in ({"uids": ["1000"]}, {"uids": []}, {"uids": [uid], "count": 10001}, {}, "x"):
        one.ask("POST", "/v1/strict/next", body, expect=400)
    other.ask("POST", "/v1/strict/next", {"uids": [uid]}, expect=421)
    over = "/v1/strict/sections:hand_over"
    one.ask("POST", over, {"sections": [str(mine)], "to": "other"}, expect=200)
    one.ask("POST", "/v1/strict/next", {"uids": [uid]}, expect=421)
    one.ask("POST", over, {"to": "nobody"}, expect=404)
    one.ask("POST", over, {"sections": ["9-1"]}, expect=400)
    one.ask("POST", over, {}, expect=200)
    status = one.get("/v1/strict/status")
    assert not status["takes"] and status["sections"] == 10, status
    assert {each["name"] for each in status["nodes"]} >= {"one", "other"}, status
    one.ask("POST", "/v1/strict/sections:take", {}, expect=200)
    one.ask("POST", "/v1/strict/sections:take", {"sections": ["0-9"]}, expect=200)
    one.ask("POST", "/v1/strict/sections:take", {"sections": ["10"]}, expect=400)
    news = {"name": "third", "address": "127.0.0.1:1", "weight": 0, "set": "orders",
            "table_version": "0", "wants_loads": True, "nodes": [], "loads": []}
    one.ask("POST", "/v1/strict/nodes", news, expect=200)
    one.ask("POST", "/v1/strict/nodes", {**news, "set": "another"}, expect=400)
    for target in ("/v1/strict/next", over, "/v1/strict/sections:take", "/v1/strict/nodes"):
        one.ask("POST", target, "{}", {"Content-Type": "text/xml"}, expect=415)
        one.ask("POST", target, {}, {"Accept": "text/html"}, expect=406)
    for target in ("/v1/strict/table", "/v1/strict/status"):
        one.ask("GET", target, headers={"Accept": "image/png"}, expect=406)
    away = node("away", f"mysql://u@127.0.0.1:{free_port()}/d")
    away.ask("POST", "/v1/strict/next", {"uids": ["1"]}, expect=503)
    away.ask("GET", "/v1/strict/table", expect=503)
    assert away.get("/v1/strict/status")["open"] is False
    away.ask("HEAD", "/v1/strict/status", expect=200)
    away.ask("POST", over, {}, expect=503)
    away.ask("POST", "/v1/strict/sections:take", {"sections": ["1"]}, expect=503)
    away.ask("GET", "/readyz", expect=503)
