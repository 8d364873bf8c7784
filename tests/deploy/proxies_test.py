# SPDX-License-Identifier: Apache-2.0
"""ID services behind nginx and haproxy, with the files of deploy/: no client is refused while the
services are restarted one after the other."""
import collections
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import unittest

import processes
import promtool
from processes import wait

SERVICES = 3
DRAIN = 7  # seconds; longer than the proxies' files say
TOKEN = "of-the-shop-" + 32 * "x"


class Proxy:
    """A proxy by a file of deploy/, whose addresses alone are replaced; without rights."""
    ADDRESS = re.compile(r"ids(\d)\.example:7070")

    def __init__(self, directory, program, path, services, frame):
        self.port = processes.free_port()
        with open(os.path.join(promtool.ROOT, path), encoding="utf-8") as file:
            text = file.read().replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")
        assert len(self.ADDRESS.findall(text)) == len(services), path
        text = self.ADDRESS.sub(lambda found: services[int(found[1]) - 1].url[len("http://"):], text)
        os.makedirs(directory)
        config = os.path.join(directory, "config")
        with open(config, "w", encoding="utf-8") as file:
            file.write(frame(directory, text))
        nobody = {}
        if os.geteuid() == 0:
            shutil.chown(directory, "nobody", "nogroup")
            nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        self._log = directory + ".log"
        with open(self._log, "wb") as log:
            path = os.environ["PATH"] + ":/usr/sbin"
            self.process = subprocess.Popen([*program, config], stdout=log, stderr=log,
                                            env=dict(os.environ, PATH=path), **nobody)
        wait(f"{program} answers", self._answers)

    def _answers(self):
        assert self.process.poll() is None, self.log()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def log(self):
        with open(self._log, encoding="utf-8") as file:
            return file.read()

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(processes.PATIENCE)


def nginx(directory, services):
    def frame(inside, text):
        temporary = "".join(f"{kind}_temp_path {inside}/{kind};\n" for kind in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return (f"daemon off;\npid {inside}/pid;\nerror_log stderr;\n"
                f"events {{ worker_connections 512; }}\n"
                f"http {{\naccess_log off;\n{temporary}{text}}}\n")
    return Proxy(directory, ["nginx", "-e", "stderr", "-c"], "deploy/nginx/ids.conf", services,
                 frame)


def haproxy(directory, services):
    return Proxy(directory, ["haproxy", "-db", "-f"], "deploy/haproxy/ids.cfg", services,
                 lambda _, text: "global\n    maxconn 512\ndefaults\n    log global\n" + text)


class Clients:
    """Threads that ask a proxy, each on a connection that is kept; some pause between requests."""
    PAUSES = [0, 0, 0, 0, 0.3, 1.1, 2.9, 6.1]  # seconds

    def __init__(self, port):
        self.port = port
        self.answers = collections.Counter()
        self.wrong = []
        self.ids = []
        self.connections = 0
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(pause,)) for pause in self.PAUSES]
        for thread in self._threads:
            thread.start()

    def _ask(self, pause):
        body = json.dumps({"buyers": [str(buyer) for buyer in range(5)]})
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self._ends.wait(pause):
            try:
                if connection.sock is None:
                    self.connections += 1
                connection.request("POST", "/v1/orders/ids", body, headers)
                answer = connection.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(repr(error))
                connection.close()
                continue
            self.answers[answer.status] += 1
            if answer.status == 200:
                self.ids += [order["order_id"] for order in json.loads(text)["orders"]]
            else:
                self.wrong.append((answer.status, text))
        connection.close()

    def close(self):
        self._ends.set()
        for thread in self._threads:
            thread.join()


class RollingRestart(unittest.TestCase):
    def service(self, directory, number):
        token = os.path.join(directory, "token")
        with open(token, "w", encoding="utf-8", opener=lambda path, flags: os.open(
                path, flags, 0o600)) as file:
            file.write(TOKEN)
        service, _ = processes.configured(
            os.path.join(directory, f"ids{number}"), 'roles = ["id-service"]\n',
            f'rate = 0\ndrain_delay = "{DRAIN}s"\n'
            f'[[token]]\nname = "shop"\nfile = "{token}"\nscopes = ["ids", "read"]\n'
            f'[ids.orders]\nstore = "sqlite:{directory}/ids.db"\ncreate = true\n')
        service.token = TOKEN
        self.addCleanup(service.close)
        return service.start()

    def asked(self, service):
        return int(re.search(r"^locus_id_requests_total (\d+)", service.metrics(), re.MULTILINE)[1])

    def test_no_post_is_lost(self):
        directory = self.enterContext(processes.scratch())
        os.chmod(directory, 0o711)
        services = [self.service(directory, number) for number in range(SERVICES)]
        proxies = [nginx(os.path.join(directory, "nginx"), services),
                   haproxy(os.path.join(directory, "haproxy"), services)]
        for proxy in proxies:
            self.addCleanup(proxy.close)
        clients = [Clients(proxy.port) for proxy in proxies]
        try:
            for service in services:
                wait("it is asked", lambda: self.asked(service) > 1000)
                service.stop()
                self.assertEqual(service.process.returncode, 0, service.log())
                service.start()
                wait("it is ready", lambda: service.ask("GET", "/readyz")[0] == 200)
                wait("it is asked again", lambda: self.asked(service) > 1000)
        finally:
            for each in clients:
                each.close()
        ids = []
        for each in clients:
            print(dict(each.answers), "on", each.connections, "connections")
            self.assertEqual(each.wrong, [])
            self.assertGreater(each.answers[200], 1000)
            # nginx ends a connection of a client after 1,000 requests.
            self.assertLess(each.connections, len(Clients.PAUSES) + each.answers[200] / 900)
            ids += each.ids
        self.assertEqual(len(set(ids)), len(ids), "an ID came twice")


if __name__ == "__main__":
    unittest.main(verbosity=2)
