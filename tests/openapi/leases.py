# SPDX-License-Identifier: Apache-2.0
"""What clients of a cluster send: worker leases, counters, order IDs and sequence types."""
import json
import time


def now():
    return int(time.time() * 1000)


def acquire(**changes):
    return {"space": "s", "first": 0, "last": 0, "preferred": None, "start": 0, "ttl_ms": 60000,
            "max_skew_ms": 1000, "nonce": "n", "holder": "h", "caller_now_ms": now(), **changes}


def renew(grant, **changes):
    return {"space": "s", "token": grant["token"], "ceiling_ms": grant["ceiling_ms"], "ttl_ms": 60000,
            "max_skew_ms": 1000, "nonce": "n", "holder": "h", "caller_now_ms": now(), **changes}


def try_leases(server):
    space = {"rest_ms": 0, "caller_now_ms": now()}
    server.ask("PUT", "/v1/spaces/s", space, expect=204)
    server.ask("PUT", "/v1/spaces/s", space, expect=204)
    server.ask("PUT", "/v1/spaces/s", {}, expect=400)
    server.get("/v1/leases?space=s")
    server.ask("GET", "/v1/leases", expect=400)
    server.ask("GET", "/v1/leases?space=none", expect=404)
    server.ask("POST", "/v1/leases", {}, expect=400)
    server.ask("POST", "/v1/leases", acquire(space="none"), expect=404)
    server.ask("POST", "/v1/leases", acquire(caller_now_ms=now() - 3_600_000), expect=412)
    grant = json.loads(server.ask("POST", "/v1/leases", acquire(), expect=201)[2])
    server.ask("POST", "/v1/leases", acquire(nonce="other"), expect=429)
    assert server.get("/v1/leases?space=s")["workers"][0]["token"] == grant["token"]
    server.ask("PUT", "/v1/leases/0", {}, expect=400)
    server.ask("PUT", "/v1/leases/0", renew(grant, token=str(int(grant["token"]) - 1)), expect=409)
    server.ask("PUT", "/v1/leases/0", renew(grant, caller_now_ms=now() - 3_600_000), expect=412)
    grant = json.loads(server.ask("PUT", "/v1/leases/0", renew(grant), expect=200)[2])
    server.ask("DELETE", "/v1/spaces/s", expect=412)
    unproved = {"space": "s", "token": grant["token"], "last_used_ms": 0}
    server.ask("DELETE", "/v1/leases/0", unproved, expect=400)
    server.ask("DELETE", "/v1/leases/0", {**unproved, "nonce": "other"}, expect=409)
    mark = server.get("/v1/leases?space=s")["workers"][0]["nonce"]
    server.ask("DELETE", "/v1/leases/0", {**unproved, "nonce": mark}, expect=409)
    server.ask("PUT", "/v1/leases/0", renew(grant, token=str(int(grant["token"]) + 1)), expect=409)
    server.ask("PUT", "/v1/leases/0", renew(grant, space="none"), expect=404)
    server.get("/v1/leases?space=none", expect=404)
    release = {**unproved, "nonce": acquire()["nonce"]}
    server.ask("DELETE", "/v1/leases/0", {}, expect=400)
    server.ask("DELETE", "/v1/leases/0", {**release, "space": "none"}, expect=404)
    server.ask("DELETE", "/v1/leases/0", {**release, "token": "1"}, expect=409)
    server.ask("DELETE", "/v1/leases/0", release, expect=204)
    server.ask("DELETE", "/v1/leases/0", release, expect=204)
    server.ask("DELETE", "/v1/spaces/%20", expect=400)
    server.ask("DELETE", "/v1/spaces/none", expect=404)
    server.ask("PUT", "/v1/spaces/brief", space, expect=204)
    server.ask("DELETE", "/v1/spaces/brief", expect=204)


OPTIONS = {"section_size": 256, "floor_epoch_ns": "1672531200000000000", "floor_rate": 16384,
           "max_lead": 1 << 24}


def take(**changes):
    return {"do": "take", "name_hex": "61", "ttl_ms": "0", "number": "1", "last_of_first": "1",
            "max_value": "0", "wraps": False, **changes}


def create(**changes):
    return {**OPTIONS, "caller_now_ms": now(), **changes}


def lease(**changes):
    return create(requests=[{"section": 7, "length": "64", "seen": "0"}], **changes)


STRICT = {"first_uid": "0", "uids": "1000000", "section_size": 100000, "step": 10000, "ttl_ms": 10000}
OWNER = {"name": "a", "address": "h:1", "instance": "7"}


def strict(section=None, options=STRICT, **more):
    sections = [{"section": 3, **section}] if section else []
    return {"options": options, "owner": OWNER, "sections": sections, **more}


def strict_calls(token="1", max_seq="0"):
    known = {"token": token, "max_seq": max_seq}
    return ((":take", strict({"seen": "0"})),
            (":extend", strict({**known, "raise_to": "20000"})),
            (":release", strict(known, successor="b")))


OF_STRICT = (
    ("GET", "/v1/strict_sets/s", None),
    ("PUT", "/v1/strict_sets/s", {"options": STRICT}),
    *(("POST", "/v1/strict_sets/s" + verb, body) for verb, body in strict_calls()),
    ("POST", "/v1/strict_sets/s:restored", {}),
)


def try_strict_store(server):
    """Sections of strict sequences, as their owners take them."""
    name, absent = "/v1/strict_sets/s", "/v1/strict_sets/none"
    for _ in range(2):
        server.ask("PUT", name, {"options": STRICT, "first_ever": True}, expect=204)
    server.ask("PUT", name, {"options": STRICT, "first_ever": "yes"}, expect=400)
    server.ask("PUT", name, {"options": {**STRICT, "step": 1}}, expect=412)
    server.ask("PUT", name, {"options": {**STRICT, "step": 0}}, expect=400)
    server.ask("PUT", "/v1/strict_sets/S", {"options": STRICT}, expect=400)
    server.ask("PUT", absent, {"options": {**STRICT, "uids": "13107200001"}}, expect=400)
    taken = json.loads(server.ask("POST", name + ":take", strict({"seen": "0"}), expect=200)[2])
    grant = taken["sections"][0]
    assert grant["verdict"] == "granted" and taken["owners"] == [OWNER], taken
    other = {**strict({"seen": "0"}), "owner": {**OWNER, "name": "b", "instance": "8"}}
    held = json.loads(server.ask("POST", name + ":take", other, expect=200)[2])
    assert held["sections"][0]["verdict"] == "held" and held["owners"] == [OWNER], held
    for verb, body in strict_calls(grant["token"], grant["max_seq"])[1:]:
        done = json.loads(server.ask("POST", name + verb, body, expect=200)[2])
        assert done["sections"] == [{"section": 3, "held": True, "max_seq": "20000"}], done
    view = server.get(name)
    assert view["sections"][0]["owner"] == 0 and view["owners"][0]["name"] == "b", view
    for verb, body in strict_calls():
        server.ask("POST", absent + verb, body, expect=404)
        server.ask("POST", name + verb, {**body, "options": {**STRICT, "step": 1}}, expect=412)
        server.ask("POST", name + verb, {**body, "sections": []}, expect=400)
    server.ask("POST", name + ":restored", {}, expect=204)
    server.ask("POST", name + ":restored", {"x": 1}, expect=400)
    server.ask("POST", absent + ":restored", {}, expect=404)
    resting = json.loads(server.ask("POST", name + ":take", other, expect=200)[2])
    assert resting["sections"][0]["verdict"] == "resting" and resting["owners"] == [], resting
    server.ask("GET", absent, expect=404)
    server.ask("GET", "/v1/strict_sets/S", expect=400)


def try_store(server):
    """Counters and spaces of order IDs, as clients of the cluster send them."""
    try_strict_store(server)
    def session(serial):
        return {"Request-Id": f"{now()}-{'0123456789abcdef' * 2}-{serial}"}
    for _ in range(2):
        answer = server.ask("POST", "/v1/counters", take(), session(2), expect=200)[2]
        assert json.loads(answer)["value"] == "1", answer
    server.ask("POST", "/v1/counters", take(), session(1), expect=409)
    server.ask("POST", "/v1/counters", take(name_hex="6"), expect=400)
    server.ask("POST", "/v1/counters", take(max_value="1"), expect=400)
    load = {"do": "load", "name_hex": "62", "ttl_ms": "0"}
    answer = server.ask("POST", "/v1/counters", load, expect=200)[2]
    assert json.loads(answer)["value"] is None, answer

    rule = {"name": "t", "expected": "0", "next": {"version": "7", "text_hex": "61"}}
    for serial in (4, 4):
        assert json.loads(server.ask("POST", "/v1/sequence_types", rule, session(serial), expect=200)[2])["done"]
    server.ask("POST", "/v1/sequence_types", rule, session(3), expect=409)
    assert not json.loads(server.ask("POST", "/v1/sequence_types", rule, expect=200)[2])["done"]
    server.ask("POST", "/v1/sequence_types", {**rule, "name": ""}, expect=400)
    server.ask("GET", "/v1/sequence_types?x=t", expect=400)
    assert server.get("/v1/sequence_types") == server.get("/v1/sequence_types?name=t")
    assert server.get("/v1/sequence_types?name=u") == {"rules": []}
    server.ask("POST", "/v1/sequence_types", {**rule, "expected": "7", "next": None}, expect=200)

    clock, late = {"caller_now_ms": now()}, {"caller_now_ms": now() - 3_600_000}
    base = {"to": "0", "reach": "near_floor"}
    space, absent = "/v1/segments/o", "/v1/segments/none"
    server.ask("PUT", space, create(**late), expect=412)
    server.ask("PUT", space, create(), session(5), expect=204)
    server.ask("PUT", space, create(section_size=512), expect=412)
    server.ask("PUT", "/v1/segments/O", create(), expect=400)
    grant = json.loads(server.ask("POST", space + ":allocate", lease(), expect=200)[2])["grants"][0]
    view = server.get(space)
    assert int(view["sections"][0]["head"]) == int(grant["first"]) + 64, view
    before = json.loads(server.ask("POST", space + ":raise", {**base, **clock}, expect=200)[2])
    server.ask("POST", space + ":restored", clock, expect=204)
    assert int(server.get(space)["base"]) > int(before["after"])
    for verb, body in ((":allocate", lease()), (":raise", {**base, **clock}), (":restored", clock)):
        server.ask("POST", absent + verb, body, expect=404)
        server.ask("POST", space + verb, {**body, **late}, expect=412)
        server.ask("POST", space + verb, {}, expect=400)
    server.ask("GET", absent, expect=404)
    server.ask("GET", "/v1/segments/O", expect=400)
