# SPDX-License-Identifier: Apache-2.0
"""The processes of locusd that are held to the document."""
import os
import random
import signal
import socket
import subprocess

from contract import DEADLINE, Server, wait


RESERVED = []  # sockets whose names keep other tests off a port, as tests/support/private_server.cc


def free_port():
    """One below those that Linux gives to outgoing connections, reserved until this process ends."""
    while True:
        port = random.randint(10_000, 32_767)
        name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with socket.socket() as one:
            try:
                name.bind(f"\0locus-port-{port}")
                one.bind(("127.0.0.1", port))
            except OSError:
                name.close()
                continue
        RESERVED.append(name)
        return port


class Process:
    def __init__(self, command, log):
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as text:
            return text.read()

    def end(self, with_signal=signal.SIGKILL):
        self.process.send_signal(with_signal)
        self.process.wait(DEADLINE)


def listens(address):
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 5).close()
        return True
    except OSError:
        return False


class World:
    """The processes: a laptop, and a cluster whose first node also serves IDs and knows tokens."""

    def __init__(self, locusd, locus, contract, directory, web):
        self.locusd, self.locus, self.contract, self.directory = locusd, locus, contract, directory
        self.web = web  # of the console's page
        self.processes = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, name, *arguments):
        process = Process([self.locusd, *arguments], self.path(name + ".log"))
        self.processes.append(process)
        return process

    def run_locus(self, *words):
        subprocess.run([self.locus, *words], check=True, timeout=DEADLINE)

    def laptop(self, name):
        process = self.start(name, "--listen", "127.0.0.1:0", "--data", self.path(name))
        text = wait("the laptop", lambda: "curl http://" in process.text() and process.text())
        return Server(self.contract, text.split("curl http://")[1].split("/")[0])

    def token(self, name):
        token = name + "-0123456789abcdef"
        with open(os.open(self.path(name + ".token"), os.O_WRONLY | os.O_CREAT, 0o600), "w",
                  encoding="ascii") as out:
            out.write(token + "\n")
        return token

    def node(self, name, more, *arguments, ids=False):
        raft, api = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        roles = '["cluster-node", "id-service", "sequence-node"]' if ids else '["cluster-node"]'
        with open(self.path(name + ".toml"), "w", encoding="ascii") as out:
            out.write(f'roles = {roles}\ncluster = "c"\ndata = "{self.path(name)}"\n'
                      f'[raft]\nlisten = "{raft}"\n[api]\nlisten = "{api}"\n{more}')
        process = self.start(name, "--config", self.path(name + ".toml"), *arguments)

        def ready():
            if process.process.poll() is not None:
                raise RuntimeError(process.text())
            return listens(api)
        wait(name, ready)
        return Server(self.contract, api), process, f"{raft} {api}"

    def close(self):
        for process in self.processes:
            if process.process.poll() is None:
                process.process.send_signal(signal.SIGCONT)
                process.end()
