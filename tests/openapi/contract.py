# SPDX-License-Identifier: Apache-2.0
"""Holds answers of a server to its OpenAPI document, and the document to the answers."""
import http.client
import json
import re
import time

import jsonschema

METHODS = ("get", "put", "post", "delete", "patch")
SCOPES = ("ids", "route", "decode", "leases", "store", "operate", "publish", "strict", "read")
DEADLINE = 120  # seconds, for whatever is waited for


def wait(what, done):
    end = time.monotonic() + DEADLINE
    while True:
        value = done()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


class Contract:
    """The document, what was seen of it, and what was wrong."""

    def __init__(self, document):
        self.document = document
        self.wrong = []
        self.seen = set()  # (operation ID, status as the document has it)
        self.seen_anywhere = set()  # statuses of the response that every operation may give
        self.paths = []
        for path, item in document["paths"].items():
            pattern = re.escape(path)
            pattern = re.sub(r"\\\{[a-z_]+\\\}", "[^/]+", pattern)
            self.paths.append((re.compile(pattern + "$"), path, item))
        # A path that has more behind its parameter is the closer one.
        self.paths.sort(key=lambda each: -len(each[1]))
        self._judge_document()

    def _judge_document(self):
        """The document by itself: references, schemas, parameters, names."""
        if not self.document["openapi"].startswith("3.1."):
            self.wrong.append("openapi is not 3.1")
        for schema in self.document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        self._follow(self.document, "#")
        names = [operation["operationId"] for operation in self.operations()]
        if len(names) != len(set(names)):
            self.wrong.append("an operationId is there twice")
        for _, path, item in self.paths:
            for operation in self._of(item).values():
                given = {self.resolve(p)["name"] for p in operation.get("parameters", [])
                         if self.resolve(p)["in"] == "path"}
                if given != set(re.findall(r"\{([a-z_]+)\}", path)):
                    self.wrong.append(f"{path}: its parameters are not those of its operations")
                for scope in operation.get("x-scopes", []):
                    if scope not in SCOPES:
                        self.wrong.append(f"{path}: there is no scope {scope}")

    def _follow(self, value, where):
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                self.resolve(value)  # KeyError where it leads nowhere
            for key, each in value.items():
                self._follow(each, f"{where}/{key}")
        elif isinstance(value, list):
            for each in value:
                self._follow(each, where)

    @staticmethod
    def _of(item):
        return {method: item[method] for method in METHODS if method in item}

    def operations(self):
        return [operation for _, _, item in self.paths for operation in self._of(item).values()]

    def resolve(self, value):
        while "$ref" in value:
            at = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                at = at[part]
            value = at
        return value

    def find(self, path):
        for pattern, _, item in self.paths:
            if pattern.match(path):
                return self._of(item)
        return None

    def judge(self, method, target, status, headers, body):
        """Whether the answer is one that the document has."""
        where = f"{method} {target}: {status}"
        item = self.find(target.split("?")[0])
        if item is None:
            self.wrong.append(f"{where}: the document has no such path")
            return
        if "X-Request-Id" not in headers:
            self.wrong.append(f"{where}: no X-Request-Id")
        allowed = {each.upper() for each in item} | {"OPTIONS"}
        if "get" in item:
            allowed.add("HEAD")
        if method not in allowed or method == "OPTIONS":
            if status != (204 if method == "OPTIONS" else 405):
                self.wrong.append(f"{where}: not what a method that is not there is answered with")
            if set(headers.get("Allow", "").split(", ")) != allowed:
                self.wrong.append(f"{where}: Allow is {headers.get('Allow')}, not {allowed}")
            if status == 405:
                self.seen_anywhere.add(405)
            return
        operation = item["get" if method == "HEAD" else method.lower()]
        responses = operation["responses"]
        if str(status) in responses:
            response = self.resolve(responses[str(status)])
            self.seen.add((operation["operationId"], str(status)))
        else:
            response = self.resolve(responses["default"])
            if status not in response["x-statuses"]:
                self.wrong.append(f"{where}: the document has no such status; {body[:200]!r}")
                return
            self.seen_anywhere.add(status)
        for name, header in response.get("headers", {}).items():
            if name not in headers:
                self.wrong.append(f"{where}: no header {name}")
            elif message := self._flaw(header["schema"], headers[name]):
                self.wrong.append(f"{where}: {name}: {message}")
        if method != "HEAD":
            self._judge_body(where, response, headers.get("Content-Type"), body)

    def _judge_body(self, where, response, content_type, body):
        content = response.get("content")
        if content is None:
            if body:
                self.wrong.append(f"{where}: it has a body, {body[:100]!r}")
            return
        if content_type not in content:
            self.wrong.append(f"{where}: Content-Type is {content_type}, not one of {list(content)}")
            return
        schema = content[content_type]["schema"]
        text = body.decode()
        if content_type == "application/x-ndjson":
            values = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
        elif "json" in content_type:
            values = [json.loads(text)]
        elif content_type == "text/event-stream":
            self._judge_events(where, content[content_type]["x-events"], text)
            return
        else:
            values = [text]
        for value in values:
            if message := self._flaw(schema, value):
                self.wrong.append(f"{where}: {message}; {text[:300]}")

    def _judge_events(self, where, schemas, text):
        for kind, data in re.findall(r"^event: (.*)\ndata: (.*)\n\n", text, re.M):
            if kind not in schemas:
                self.wrong.append(f"{where}: the document has no event {kind}")
            elif message := self._flaw(schemas[kind], json.loads(data)):
                self.wrong.append(f"{where}: event {kind}: {message}; {data[:300]}")

    def _flaw(self, schema, value):
        resolver = jsonschema.RefResolver("", self.document)
        validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
        errors = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]
        return "; ".join(errors)

    def missing(self, absent=()):
        """What the document has and no answer was; `absent`: operations that are not served here."""
        left = []
        for operation in self.operations():
            if operation["operationId"] in absent:
                continue
            for status in operation["responses"]:
                if status != "default" and (operation["operationId"], status) not in self.seen:
                    left.append(f"{operation['operationId']} {status}")
        anywhere = self.resolve({"$ref": "#/components/responses/Any"})["x-statuses"]
        return left + [f"any operation: {each}" for each in anywhere if each not in self.seen_anywhere]


class Server:
    """One that answers at an address; each answer is judged."""

    def __init__(self, contract, address, token=None):
        self.contract = contract
        self.address = address
        self.token = token

    def ask(self, method, target, body=None, headers=None, token=None, expect=None):
        """The status, the headers and the body. A body that is no text is sent as JSON."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        sent = dict(headers or {})
        if token or self.token:
            sent["Authorization"] = "Bearer " + (token or self.token)
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        connection.request(method, target, body, sent)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        self.contract.judge(method, target, answer.status, dict(answer.getheaders()), text)
        if expect is not None and answer.status != expect:
            self.contract.wrong.append(f"{method} {target}: {answer.status}, not {expect}; {text[:300]!r}")
        return answer.status, dict(answer.getheaders()), text

    def get(self, target, expect=200, **more):
        return json.loads(self.ask("GET", target, expect=expect, **more)[2])

    def stream(self, target, kinds, most_lines):
        """A stream of events, each judged, that has told all of these kinds; it is still open."""
        connection = http.client.HTTPConnection(self.address, timeout=DEADLINE)
        connection.request("GET", target, headers={"Authorization": "Bearer " + self.token})
        answer = connection.getresponse()
        text, seen = b"", set()
        while not (seen >= kinds and text.endswith(b"\n\n")):
            line = answer.readline()
            most_lines -= 1
            if not line or most_lines == 0:
                raise ValueError(f"{target}: it told only {seen} of {kinds}")
            text += line
            if line.startswith(b"event: "):
                seen.add(line[len(b"event: "):].decode().strip())
        self.contract.judge("GET", target, answer.status, dict(answer.getheaders()), text)
        return answer
