"""What a commit costs three etcd servers on loopback, beside a raw `etcdctl put` in the same run.

1,000 hosts that watch the group are as many connections. A commit is one transaction through the JSON gateway: it compares the head, and writes the commit and the head. Two hosts
with a store and a `vaultd` each show what users see of it. Run alone, as `cluster.py VAULT VAULTD`, this prints the figures; in
the whole run it adds rows to the table.
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
import threading
import time

import daemon

GROUP = "team.shared"
NODES = 3
COMMIT = 2_048
WATCHES = 1_000
PROCESSES = (1, 8)


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


class Host:
    """A store with its `vaultd`: the owner's, or one that joins an application."""

    def __init__(self, folder, name, vault, vaultd):
        self.vault, self.vaultd, self.socket, self.log = vault, vaultd, f"{folder}/{name}.sock", f"{folder}/{name}.log"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "VAULT_HOME": f"{folder}/{name}",
            "VAULT_STATE": f"{folder}/{name}.state", "VAULT_SOCKET": self.socket}
        self.daemon = None

    def run(self, *words, given=b""):
        done = subprocess.run([self.vault, *words], input=given, env=self.environment, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"{words}: {done.returncode} {done.stderr.decode()}")
        return done.stdout

    def serve(self, *words):
        environment = {name: value for name, value in self.environment.items() if name != "VAULT_KEY_FILE"}
        with open(self.log, "wb") as log:
            self.daemon = subprocess.Popen(
                [self.vaultd, "--socket", self.socket, *words], env=environment, stdout=log, stderr=log)
        while not os.path.exists(self.socket):
            time.sleep(0.01)

    def end(self):
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("vaultd")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def set(self, item, value):
        self.request("POST", f"/v1/{GROUP}/data/{item}", json.dumps({"data": {"value": value}}))
        answer = self.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(answer.status)


def hosts(cluster, folder, vault, vaultd, rounds, items):
    """The figures of two hosts that share a small group, and of one that joins a group of `items` items."""
    owner, second, third = (Host(folder, name, vault, vaultd) for name in ("owner", "second", "third"))
    figures = {}
    try:
        owner.environment["VAULT_KEY_FILE"] = f"{folder}/key"
        owner.run("init", "--key-file", f"{folder}/key")
        owner.run("remote", "add", "office", cluster.address)
        for group in (GROUP, "large"):
            owner.run("group", "create", group)
        with open(f"{folder}/items.json", "w") as file:
            json.dump({f"item/{number:06}": f"a value of 32 bytes, about {number:06}" for number in range(items)}, file)
        owner.run("import", f"{folder}/items.json", "-g", "large")
        for app, group in (("web", GROUP), ("batch", "large")):
            owner.run("app", "issue", app, "--output", f"{folder}/{app}.unused", "--group", f"{group}:write")
        owner.run("service", "enroll", "--output", f"{folder}/service", "--group", f"{GROUP}:write", "--group", "large:write")
        owner.run("app", "bind", "local", "--user", str(os.getuid()))
        owner.run("grant", GROUP, "local", "--rights", "write")
        owner.serve("--credential", f"{folder}/service")
        for group in (GROUP, "large"):
            owner.run("group", "publish", group, "--remote", "office")
        for app in ("web", "batch"):
            owner.run("app", "issue", app, "--output", f"{folder}/{app}", "--remote", "office", "--again")
        second.serve()
        second.run("join", "--credential", f"{folder}/web")
        second.environment["VAULT_CREDENTIAL"] = f"{folder}/web"
        figures.update(changes(cluster, owner, second, rounds))
        figures["many"] = at_once(owner, 16, max(4, rounds // 4))
        for count in PROCESSES:
            figures[f"{count} processes"] = processes(owner, count, max(4, rounds // 4))
        third.serve()
        start = time.perf_counter()
        third.run("join", "--credential", f"{folder}/batch")
        figures["join"] = time.perf_counter() - start
    finally:
        for host in (owner, second, third):
            host.end()
    return figures


def changes(cluster, owner, second, rounds):
    """Medians in milliseconds, measured in turn: a raw put, a set as a command and over HTTP, and until it is read elsewhere."""
    taken = {"put": [], "set": [], "http": [], "readable": []}
    connection, text = UnixConnection(owner.socket), "x" * 64
    for number in range(rounds + 3):
        value = f"{text}{number}"
        ways = {
            "put": lambda: cluster.etcdctl("put", "raw", value),
            "http": lambda: connection.set("http", value),
            "set": lambda: owner.run("set", "-g", GROUP, "command", given=value.encode()),
        }
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            taken[name].append((time.perf_counter() - start) * 1e3)
        acknowledged = time.perf_counter()
        while True:
            start = time.perf_counter()
            if number and second.run("get", "-g", GROUP, "command") == value.encode():
                break
            if not number:
                second.run("sync", GROUP)
                break
        # The process that read it has begun then.
        taken["readable"].append((start - acknowledged) * 1e3)
    return {name: statistics.median(times[3:]) for name, times in taken.items()}


def at_once(host, clients, rounds):
    """How many sets a second `clients` connections make together."""
    def work(number):
        connection = UnixConnection(host.socket)
        for _ in range(rounds):
            connection.set(f"client{number}", "x" * 64)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients * rounds / (time.perf_counter() - start)


def processes(host, count, rounds):
    """How many sets a second `count` commands make, each set in a process of its own."""
    def work(number):
        for _ in range(rounds):
            host.run("set", "-g", GROUP, f"process{number}", given=b"x" * 64)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * rounds / (time.perf_counter() - start)


def run(bench):
    """Adds the lines about etcd to the table."""
    cluster = Cluster(f"{bench.folder}/cluster")
    try:
        figures = measure(cluster, 20 if bench.quick else 200)
        raw = figures["etcdctl put"]
        for name in ("a put through the gateway", "a commit's transaction"):
            wanted = ("<=", 1.5) if name == "a commit's transaction" else None
            bench.row(f"etcd, {NODES} servers: {name}", figures[name], "ms", wanted, figures[name] / raw, "etcdctl put")
        items = 10_000 if bench.quick else 100_000
        os.mkdir(f"{bench.folder}/hosts")
        seen = hosts(cluster, f"{bench.folder}/hosts", bench.vault, daemon.VAULTD, 20 if bench.quick else 100, items)
        for job, name in (("vault set", "set"), ("a set over HTTP", "http")):
            bench.row(f"published group: {job}", seen[name], "ms", ("<=", 1.5), seen[name] / seen["put"], "etcdctl put")
        bench.row("published group: 16 clients over HTTP", seen["many"], "sets per s", None)
        for count in PROCESSES:
            bench.row(f"published group: vault set, {count} at a time", seen[f"{count} processes"], "sets per s", None)
        bench.row("published group: readable on another host after", seen["readable"], "ms", ("<=", 50))
        bench.row(f"published group: join with {items:,} items", seen["join"], "s", None)
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
            if len(sys.argv) == 3:
                os.mkdir(f"{place}/hosts")
                for name, figure in hosts(servers, f"{place}/hosts", *sys.argv[1:], 100, 100_000).items():
                    print(f"{name}: {figure:.2f}")
            for name, figure in measure(servers, 200).items():
                print(f"{name}: {figure:.2f} ms")
            heard, size, used = watches(servers, WATCHES, 20)
            print(f"{WATCHES} watches: heard by all after {heard:.0f} ms, {size:.0f} bytes for each, {used:.0f} ms of the servers")
        finally:
            servers.end()
