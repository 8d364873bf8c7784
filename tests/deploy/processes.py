# SPDX-License-Identifier: Apache-2.0
"""Real processes of locusd for tests: with a clock that a test can set back, and their metrics."""
import contextlib
import http.client
import json
import mmap
import os
import random
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

LOCUSD = os.environ["LOCUS_LOCUSD_PROGRAM"]
LOCUS = os.environ["LOCUS_PROGRAM"]
PRELOADED = os.environ["LOCUS_PRELOADED_FAULTS"]
PATIENCE = 120  # seconds; machines may be busy


def wait(what, condition):
    """What `condition` answers once it is true."""
    until = time.monotonic() + PATIENCE
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > until:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.01)


RESERVED = []  # sockets whose names keep other tests off a port, as tests/support/private_server.cc


def free_port():
    """One below those that Linux gives to outgoing connections, reserved until this process ends."""
    while True:
        port = random.randint(10_000, 32_767)
        name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with socket.socket() as listener:
            try:
                name.bind(f"\0locus-port-{port}")
                listener.bind(("127.0.0.1", port))
            except OSError:
                name.close()
                continue
        RESERVED.append(name)
        return port


class Faults:
    """The FaultPage of tests/proof/fault_page.h, of one process."""
    CLOCK_SHIFT, SLEPT, WORDS = 0, 6, 7

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.write(bytes(8 * self.WORDS))
        self._file = open(path, "r+b")
        self._page = mmap.mmap(self._file.fileno(), 8 * self.WORDS)

    def _set(self, word, seconds):
        struct.pack_into("<q", self._page, 8 * word, int(seconds * 1e9))

    def shift_clock(self, seconds):
        self._set(self.CLOCK_SHIFT, seconds)

    def sleep(self, seconds):
        """The machine was suspended for so long, in all."""
        self._set(self.SLEPT, seconds)

    def close(self):
        self._page.close()
        self._file.close()


class Locusd:
    """One locusd; `words` are its options. Its log is kept in a file."""

    def __init__(self, directory, words, url=None):
        os.makedirs(directory, exist_ok=True)
        self.directory = directory
        self.words = words
        self.url = url
        self.faults = Faults(os.path.join(directory, "faults"))
        self.log_path = os.path.join(directory, "log")
        self.process = None
        self.token = None
        self._tls = None

    def over_tls(self):
        """With whatever certificate it has."""
        self.url = self.url.replace("http://", "https://")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE

    def start(self):
        environment = dict(os.environ, LD_PRELOAD=PRELOADED, LOCUS_PROOF_FAULTS=self.faults.path)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([LOCUSD, *self.words], stdout=log, stderr=log,
                                            env=environment)
        wait(f"{self.words} answers: {self.log()}", self._answers)
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"locusd ended with {self.process.returncode}: {self.log()}")
        if self.url is None:
            found = re.search(r"serves IDs at (\S+) and", self.log())
            self.url = found.group(1) if found else None
        return self.url is not None and self.ask("GET", "/healthz")[0] == 200

    def ask(self, method, path, body=None, token=None, headers=()):
        """Status and text; (0, reason) where nobody answers."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers=dict(headers))
        if token or self.token:
            request.add_header("Authorization", f"Bearer {token or self.token}")
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._tls) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)

    def metrics(self):
        status, text = self.ask("GET", "/metrics")
        assert status == 200, (status, text)
        return text

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def close(self):
        self.stop()
        self.faults.close()

    def kill(self):
        self.signal(signal.SIGKILL)
        self.close()


def locus(*words):
    """What the command prints, which succeeds."""
    done = subprocess.run([LOCUS, *words], capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def configured(directory, first, more=""):
    """A locusd on loopback, and its file: `first`, its API, `more`."""
    os.makedirs(directory, exist_ok=True)
    api = free_port()
    path = os.path.join(directory, "locusd.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{first}[api]\nlisten = "127.0.0.1:{api}"\n{more}')
    return Locusd(directory, ["--config", path], f"http://127.0.0.1:{api}"), path


def node(directory, more=""):
    """A node of a cluster."""
    return configured(directory, f'cluster = "orders"\ndata = "{directory}/data"\n'
                                 f'[raft]\nlisten = "127.0.0.1:{free_port()}"\n', more)


def sequence_node(directory, name, store, more=""):
    """A node of the strict sequences of a million users, in ten sections."""
    return configured(directory, 'roles = ["sequence-node"]\n',
                      f'[strict]\nname = "{name}"\nstore = "{store}"\ncreate = true\n'
                      f'uids = 1000000\n{more}')


class Redis:
    """A server that keeps what it acknowledges."""

    def __init__(self, directory):
        self.port = free_port()
        os.makedirs(directory)
        with open(os.path.join(directory, "log"), "wb") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", directory,
                 "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
                stdout=log, stderr=log)
        wait("redis listens", self._listens)

    def _listens(self):
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()


def write_table(path, epoch, shard):
    """A routing table whose vnodes all belong to that shard; there is shard 1."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"epoch": epoch,
                   "shards": [{"id": 1, "name": "a", "endpoint": "mysql://127.0.0.1:1/shop"}],
                   "ranges": [{"last": 65535, "shard": shard}]}, file)
    os.rename(path + ".new", path)


@contextlib.contextmanager
def scratch():
    directory = tempfile.mkdtemp(prefix="locus-deploy-")
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
