"""What a commit costs three etcd servers on loopback, beside a raw `etcdctl put` in the same run.

1,000 hosts that watch the group are as many connections. A commit is one transaction through the JSON gateway: it compares the head, and writes the commit and the head. Run alone,
this prints the medians; in the whole run it adds rows to the table.
"""

import asyncio
import base64
import http.client
import json
import os
import random
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

NODES = 3
COMMIT = 2_048
WATCHES = 1_000


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

    def cpu(self):
        """Seconds of the processor that the servers took so far."""
        total = 0
        for process in self.processes:
            fields = open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Gateway:
    """One connection to one server."""

    def __init__(self, port, prefix=b"/vault/00/"):
        self.prefix = prefix
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
        head, commit = encoded(self.prefix + b"head"), encoded(self.prefix + b"commit/%016x" % (self.epoch + 1))
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


def watches(cluster, count, rounds):
    """The median milliseconds until `count` hosts heard of a commit, the bytes that each received, and the servers' time."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 1_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    return asyncio.run(listen(cluster, count, rounds))


async def listen(cluster, count, rounds):
    body = json.dumps({"createRequest": {
        "key": encoded(b"/vault/01/commit/"), "rangeEnd": encoded(b"/vault/01/head\0"), "fragment": True}}).encode()
    request = b"POST /v3/watch HTTP/1.1\r\nHost: etcd\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    streams = []
    for index in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", cluster.ports[index % len(cluster.ports)], limit=2**20)
        writer.write(request)
        streams.append((reader, writer))
    # Without the end of the line, which can be in another chunk.
    for reader, _ in streams:
        await reader.readuntil(b'"created":true}}')
    gateway, value, received, taken = Gateway(cluster.ports[0], b"/vault/01/"), os.urandom(COMMIT), 0, []
    used = cluster.cpu()
    for _ in range(rounds):
        start = time.perf_counter()
        gateway.commit(value)
        lines = await asyncio.gather(*(reader.readuntil(b"}}]}}") for reader, _ in streams))
        taken.append((time.perf_counter() - start) * 1e3)
        received += sum(map(len, lines))
    used = cluster.cpu() - used
    for _, writer in streams:
        writer.close()
    return statistics.median(taken), received / rounds / count, used / rounds * 1e3


def run(bench):
    """Adds the lines about etcd to the table."""
    cluster = Cluster(f"{bench.folder}/cluster")
    try:
        figures = measure(cluster, 20 if bench.quick else 200)
        raw = figures["etcdctl put"]
        for name in ("a put through the gateway", "a commit's transaction"):
            wanted = ("<=", 1.5) if name == "a commit's transaction" else None
            bench.row(f"etcd, {NODES} servers: {name}", figures[name], "ms", wanted, figures[name] / raw, "etcdctl put")
        heard, size, used = watches(cluster, WATCHES, 5 if bench.quick else 20)
        bench.row(f"etcd, {WATCHES:,} watches: a commit is heard by all", heard, "ms", None)
        bench.row(f"etcd, {WATCHES:,} watches: each receives of a commit of {COMMIT:,} bytes", size, "bytes", None)
        bench.row(f"etcd, {WATCHES:,} watches: the servers' processor time of a commit", used, "ms", None)
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
            heard, size, used = watches(servers, WATCHES, 20)
            print(f"{WATCHES} watches: heard by all after {heard:.0f} ms, {size:.0f} bytes for each, {used:.0f} ms of the servers")
        finally:
            servers.end()
