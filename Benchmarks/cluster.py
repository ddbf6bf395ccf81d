"""What a commit costs three etcd servers on loopback, beside a raw `etcdctl put` in the same run.

A commit is one transaction through the JSON gateway: it compares the head, and writes the commit and the head. Run alone,
this prints the medians; in the whole run it adds rows to the table.
"""

import base64
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

NODES = 3
COMMIT = 2_048


def available():
    return shutil.which("etcd") and shutil.which("etcdctl")


def free_ports(count):
    """Ports below those that the kernel gives to connections."""
    ports = set()
    while len(ports) < count:
        port = random.randrange(16_384, 32_768)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                ports.add(port)
    return list(ports)


class Cluster:
    """Three servers on loopback, until `end`."""

    def __init__(self, folder, count=NODES):
        os.makedirs(folder, exist_ok=True)
        ports = free_ports(2 * count)
        self.ports, peers = ports[:count], ports[count:]
        everyone = ",".join(f"n{index}=http://127.0.0.1:{port}" for index, port in enumerate(peers))
        self.processes = []
        for index in range(count):
            client, peer = f"http://127.0.0.1:{self.ports[index]}", f"http://127.0.0.1:{peers[index]}"
            self.processes.append(subprocess.Popen(
                ["etcd", "--name", f"n{index}", "--data-dir", f"{folder}/n{index}", "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", everyone, "--initial-cluster-state", "new"],
                stdout=subprocess.DEVNULL, stderr=open(f"{folder}/n{index}.log", "w")))
        self.endpoints = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.address = f"etcd://{self.endpoints}"
        self.environment = dict(os.environ, ETCDCTL_API="3")
        for _ in range(50):
            if self.etcdctl("endpoint", "health", check=False).returncode == 0:
                return
            time.sleep(0.2)
        self.end()
        raise RuntimeError("etcd does not start")

    def etcdctl(self, *arguments, check=True):
        return subprocess.run(
            ["etcdctl", f"--endpoints={self.endpoints}", *arguments], env=self.environment, check=check,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Gateway:
    """One connection to one server."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self.revision, self.epoch = 0, 0

    def call(self, path, body):
        self.connection.request("POST", f"/v3/{path}", json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(text)
        return json.loads(text)

    def put(self, value):
        self.call("kv/put", {"key": encoded(b"raw"), "value": encoded(value)})

    def commit(self, value):
        """The transaction that `vaultd` sends for each commit."""
        prefix = b"/vault/00/"
        head, commit = encoded(prefix + b"head"), encoded(prefix + b"commit/%016x" % (self.epoch + 1))
        answer = self.call("kv/txn", {
            "compare": [{"key": head, "target": "MOD", "result": "EQUAL", "modRevision": str(self.revision)},
                        {"key": commit, "target": "MOD", "result": "EQUAL", "modRevision": "0"}],
            "success": [{"requestPut": {"key": commit, "value": encoded(value)}},
                        {"requestPut": {"key": head, "value": encoded(b"h" * 56)}}],
            "failure": [{"requestRange": {"key": head}}, {"requestRange": {"key": commit}}]})
        if not answer.get("succeeded"):
            raise RuntimeError("somebody else writes here")
        self.revision, self.epoch = answer["header"]["revision"], self.epoch + 1


def encoded(data):
    return base64.b64encode(data).decode()


def measure(cluster, rounds):
    """The median milliseconds of each way to write COMMIT bytes, measured in turn."""
    gateway, value = Gateway(cluster.ports[0]), os.urandom(COMMIT)
    text = encoded(value)[:COMMIT]
    ways = {
        "etcdctl put": lambda: cluster.etcdctl("put", "raw", text),
        "a put through the gateway": lambda: gateway.put(value),
        "a commit's transaction": lambda: gateway.commit(value),
    }
    taken = {name: [] for name in ways}
    for number in range(rounds + 3):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            # The first ones open connections.
            if number >= 3:
                taken[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(times) for name, times in taken.items()}


def run(bench):
    """Adds the lines about etcd to the table."""
    cluster = Cluster(f"{bench.folder}/cluster")
    try:
        figures = measure(cluster, 20 if bench.quick else 200)
        raw = figures["etcdctl put"]
        for name in ("a put through the gateway", "a commit's transaction"):
            wanted = ("<=", 1.5) if name == "a commit's transaction" else None
            bench.row(f"etcd, {NODES} servers: {name}", figures[name], "ms", wanted, figures[name] / raw, "etcdctl put")
    finally:
        cluster.end()


if __name__ == "__main__":
    if not available():
        sys.exit("cluster: etcd and etcdctl are not installed: tools/prepare --with-clients")
    with tempfile.TemporaryDirectory() as place:
        servers = Cluster(place)
        try:
            for name, figure in measure(servers, 200).items():
                print(f"{name}: {figure:.2f} ms")
        finally:
            servers.end()
