#!/usr/bin/env python3
"""vaultd's Secret Service and gnome-keyring side by side: 10,000 items, one client and 100 clients at once.

Usage: Benchmarks/secret_service.py VAULT VAULTD [--items N] [--clients N] [--rounds N]

Each service has a private bus and folder, and the items when it starts: vaultd from an import, gnome-keyring from a file of its
encrypted form that this script writes, because it takes 20 ms and more to store one. A store is CreateItem with replacement, a
look-up SearchItems and GetSecrets, over connections that stay open. The rounds of both take turns. Prints medians in
milliseconds and their ratios, the most memory of both, and the time that this disk takes to make 4 KiB durable. It needs jeepney
and cryptography (tools/prepare --with-clients installs them: .build/clients/bin/python3).
"""

import argparse
import hashlib
import json
import os
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection

NAME, ROOT, SECRET = "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret."


def label(number):
    return f"Password {number}"


def attributes(number):
    return {"service": "bench", "user": f"user{number}"}


def keyring_file(items, password):
    """A keyring in gnome-keyring's own encrypted form (its docs/file-format.txt)."""

    def number(value):
        return struct.pack(">I", value)

    def text(value):
        return number(len(value)) + value.encode()

    def pairs(of, write):
        return number(len(of)) + b"".join(text(name) + number(0) + write(value) for name, value in of.items())

    salt, iterations, times = os.urandom(8), 1_000, struct.pack(">QQ", 1_700_000_000, 1_700_000_000)
    key = hashlib.sha256(password + salt).digest()
    for _ in range(iterations - 1):
        key = hashlib.sha256(key).digest()
    hidden, shown = [], []
    for one in range(items):
        hashed = pairs(attributes(one), lambda value: text(hashlib.md5(value.encode()).hexdigest()))
        shown.append(number(one + 1) + number(0) + hashed)
        # The last number is that of the programs which may read the item.
        hidden.append(
            text(label(one)) + text("first value") + times + number(0xFFFFFFFF) + bytes(16)
            + pairs(attributes(one), text) + number(0))
    content = b"".join(hidden)
    content += bytes(-len(content) % 16)
    encryptor = Cipher(algorithms.AES(key[:16]), modes.CBC(key[16:])).encryptor()
    sealed = encryptor.update(hashlib.md5(content).digest() + content) + encryptor.finalize()
    return (
        b"GnomeKeyring\n\r\0\n" + bytes(4) + text("Login") + times + number(0) * 2 + number(iterations) + salt + bytes(16)
        + number(items) + b"".join(shown) + number(len(sealed)) + sealed)


def sync_time(folder):
    """The median time in milliseconds in which the disk makes 4 KiB durable."""
    times = []
    with open(folder + "/sync", "wb", buffering=0) as file:
        for turn in range(300):
            begin = time.perf_counter()
            os.pwrite(file.fileno(), bytes(4096), turn % 16 * 4096)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


class Client:
    def __init__(self, bus):
        self.bus = open_dbus_connection(bus)
        self.session = self.call(ROOT, "Service", "OpenSession", "sv", "plain", ("s", ""))[1]
        self.collection = self.call(ROOT, "Service", "ReadAlias", "s", "default")[0]

    def call(self, path, interface, member, signature, *values):
        message = new_method_call(DBusAddress(path, NAME, SECRET + interface), member, signature, values)
        answer = self.bus.send_and_get_reply(message, timeout=600)
        if answer.header.message_type != MessageType.method_return:
            sys.exit(f"secret_service: {member}: {answer.header.fields} {answer.body}")
        return answer.body

    def store(self, number, value):
        properties = {
            SECRET + "Item.Label": ("s", label(number)),
            SECRET + "Item.Attributes": ("a{ss}", attributes(number)),
        }
        secret = (self.session, b"", value, "text/plain")
        return self.call(self.collection, "Collection", "CreateItem", "a{sv}(oayays)b", properties, secret, True)[0]

    def look_up(self, number):
        found = self.call(ROOT, "Service", "SearchItems", "a{ss}", attributes(number))[0]
        secrets = self.call(ROOT, "Service", "GetSecrets", "aoo", found[:1], self.session)[0]
        return next(iter(secrets.values()))[2]


class Service:
    """A bus with one service on it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("data", "runtime", "config"):
            (self.folder / name).mkdir(mode=0o700, parents=True)
        configuration = self.folder / "bus.conf"
        configuration.write_text(
            "<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>"
            '<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>'
            '<allow own="*"/></policy><limit name="max_connections_per_user">1000</limit></busconfig>')
        self.daemon = subprocess.Popen(
            ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"], stdout=subprocess.PIPE,
            text=True)
        self.bus = self.daemon.stdout.readline().strip()
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("VAULT") and "DISPLAY" not in name
        } | {
            "DBUS_SESSION_BUS_ADDRESS": self.bus, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_RUNTIME_DIR": str(self.folder / "runtime"), "XDG_CONFIG_HOME": str(self.folder / "config"),
            "VAULT_HOME": str(self.folder / "home"), "VAULT_STATE": str(self.folder / "state"),
        }

    def wait(self):
        for _ in range(600):
            command = ["busctl", "--address=" + self.bus, "status", NAME]
            if subprocess.run(command, capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        sys.exit("secret_service: nobody answers")

    def memory(self):
        """The most memory that the process had, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.daemon.terminate()
        self.daemon.wait()


class Vaultd(Service):
    def __init__(self, folder, items, vault, vaultd):
        super().__init__(folder)

        def run(*arguments):
            subprocess.run([vault, *arguments], env=self.environment, capture_output=True, check=True)

        run("init", "--key-file", str(self.folder / "key"))
        run("group", "create", "desktop")
        run("service", "enroll", "--output", str(self.folder / "credential"), "--group", "desktop")
        given = [
            {"name": label(number), "kind": "string", "value": "first value", "label": label(number),
             "attributes": attributes(number)} for number in range(items)]
        (self.folder / "items").write_text(json.dumps({"items": given}))
        run("import", "--from", "json", "--group", "desktop", str(self.folder / "items"))
        self.process = subprocess.Popen(
            [vaultd, "--socket", str(self.folder / "socket"), "--credential", str(self.folder / "credential"),
             "--secret-service", "desktop"], env=self.environment, stderr=subprocess.DEVNULL)
        self.wait()


class GnomeKeyring(Service):
    def __init__(self, folder, items):
        super().__init__(folder)
        keyrings = self.folder / "data/keyrings"
        keyrings.mkdir(mode=0o700)
        (keyrings / "login.keyring").write_bytes(keyring_file(items, b"password"))
        self.process = subprocess.Popen(
            ["gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground"], env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process.stdin.write(b"password")
        self.process.stdin.close()
        self.wait()


def each(clients, numbers, work):
    """The time in milliseconds that each call takes while all clients work at once."""
    times = [[] for _ in clients]
    start = threading.Barrier(len(clients))

    def run(index):
        start.wait()
        for number in numbers[index]:
            begin = time.perf_counter()
            work(clients[index], number)
            times[index].append((time.perf_counter() - begin) * 1000)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(clients))]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = (time.perf_counter() - begin) * 1000
    # The mean time between two answers, which the order of threads does not change.
    return total / sum(map(len, numbers)), statistics.median([one for list in times for one in list])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vault")
    parser.add_argument("vaultd")
    for name, value in (("--items", 10_000), ("--clients", 100), ("--rounds", 3)):
        parser.add_argument(name, type=int, default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        vault, vaultd = (str(pathlib.Path(path).resolve()) for path in (options.vault, options.vaultd))
        services = {
            "vaultd": Vaultd(scratch + "/vaultd", options.items, vault, vaultd),
            "gnome-keyring": GnomeKeyring(scratch + "/gnome", options.items)}
        figures = {}
        try:
            clients = {name: [Client(service.bus) for _ in range(options.clients)] for name, service in services.items()}
            for name in services:
                begin = time.perf_counter()
                # Each of them reads the items when it is asked first.
                if clients[name][0].look_up(options.items - 1) != b"first value":
                    sys.exit(f"secret_service: {name} does not have the items")
                print(f"{name}: first look-up {(time.perf_counter() - begin) * 1000:.0f} ms", flush=True)
            jobs = {
                "store, one client": (1, 5, lambda client, number: client.store(number, b"second value")),
                "look-up, one client": (1, 100, lambda client, number: client.look_up(number)),
                f"store, {options.clients} clients": (
                    options.clients, 1, lambda client, number: client.store(number, b"third value")),
                f"look-up, {options.clients} clients": (
                    options.clients, 5, lambda client, number: client.look_up(number)),
            }
            for turn in range(options.rounds):
                for job, (count, times, work) in jobs.items():
                    for name in sorted(services, reverse=turn % 2 == 0):
                        numbers = [
                            [(7919 * (turn * count * times + index * times + n)) % options.items for n in range(times)]
                            for index in range(count)]
                        figures.setdefault((job, name), []).append(each(clients[name][:count], numbers, work)[0])
            for job in jobs:
                ours, theirs = (statistics.median(figures[job, name]) for name in ("vaultd", "gnome-keyring"))
                print(f"{job}: vaultd {ours:.2f} ms, gnome-keyring {theirs:.2f} ms, ratio {ours / theirs:.3f}")
            for name, service in services.items():
                print(f"{name}: {service.memory():.0f} MiB at most")
            print(f"4 KiB are durable after {sync_time(scratch):.2f} ms")
        finally:
            for service in services.values():
                service.end()


main()
