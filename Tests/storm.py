#!/usr/bin/env python3
"""Three users write to a shared group and watch it, while its owner gives it new keys, replaces credentials, shares, closes,
compacts, repairs and backs it up, and some of all these commands are killed.

    Tests/storm.py [--seconds N] [--seed N] [--read-only] [--full-disk] [--stall] [--vault PATH]

Every 20 seconds all stop, and what the group holds is compared with what was reported as written. Exits with 1 and says
what was lost, or which command ended with a status that none of this explains. --read-only lets the Unix group only read,
and the owner alone writes; --full-disk fills the disk now and then; --stall stops some writers for longer than others wait
for their lock. Needs root: each user is another Unix user."""

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

OWNER, USER, UNIX_GROUP = 2000, 3000, 1234
KILLED, SHARED = -9, ["group", "share", "team", "--unix-group", str(UNIX_GROUP)]


class Ledger:
    """What each item may hold: the value reported as written, and those of commands that were killed or could not tell."""

    def __init__(self):
        self.lock = threading.Lock()
        self.written, self.possible, self.refused = {}, collections.defaultdict(set), {}
        self.counts, self.findings = collections.Counter(), []

    def find(self, *finding):
        with self.lock:
            self.findings.append(finding)
        print("storm:", *finding, file=sys.stderr, flush=True)

    def begin(self, item, value):
        with self.lock:
            self.possible[item].add(value)

    def end(self, item, value, status, message):
        with self.lock:
            if status == 0:
                self.written[item], self.possible[item] = value, set()
            elif status != KILLED and b"may have been made" not in message:
                self.possible[item].discard(value)
                self.refused[item, value] = status

    def compare(self, item, value, before, what):
        """Whether `value` can be what the item holds, if `before` was written when the command began."""
        number = lambda text: int(text.split()[0]) if text else 0
        with self.lock:
            refused = self.refused.get((item, value))
        if refused is not None:
            self.find(what, item, "holds a value whose command ended with", refused)
        elif number(value) < number(before):
            self.find(what, item, "holds", number(value), "although", number(before), "was written")


class Storm:
    def __init__(self, options, folder):
        self.options, self.folder, self.home = options, folder, f"{folder}/disk/home"
        self.ledger, self.random = Ledger(), random.Random(options.seed)
        self.stop, self.pause = threading.Event(), threading.Event()
        self.running, self.credentials = set(), {}
        # Whether the group may be closed to others, and how often it became so.
        self.is_closed, self.closings = False, 0
        os.mkdir(f"{folder}/disk")
        if options.full_disk:
            size = f"size=48m,mode=755,uid={OWNER},gid={OWNER}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", f"{folder}/disk"], check=True)
        for path in [folder, f"{folder}/disk"]:
            os.chown(path, OWNER, OWNER)
            os.chmod(path, 0o755)
        shutil.copy(options.vault, f"{folder}/vault")
        os.chmod(f"{folder}/vault", 0o755)
        self.must("init", "--key-file", f"{folder}/key")
        self.must("group", "create", "team")
        self.share = SHARED + (["--read-only"] if options.read_only else [])
        self.must(*self.share)
        for name, rights in [("alice", "write"), ("bob", "write"), ("carol", "read"), ("dora", "read")]:
            os.mkdir(f"{folder}/{name}", 0o700)
            os.chown(f"{folder}/{name}", USER, USER)
            self.issue(name, "--group", f"team:{rights}")

    # Running commands.

    def start(self, who, *arguments):
        user = OWNER if who == "owner" else USER
        environment = {"PATH": os.environ["PATH"], "VAULT_HOME": self.home, "VAULT_STATE": f"{self.folder}/{who}/state"}
        if who == "owner":
            environment |= {"VAULT_STATE": f"{self.folder}/state", "VAULT_KEY_FILE": f"{self.folder}/key"}
        else:
            environment["VAULT_CREDENTIAL"] = self.credentials[who]
        prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={UNIX_GROUP}"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*prefix, f"{self.folder}/vault", *arguments], env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
        self.running.add(process)
        return process

    def run(self, who, *arguments, text=b"", killed=0.0, within=0.06):
        """Runs a command, and kills some of them within a number of seconds."""
        is_killed = random.random() < killed
        if who == "owner" and (is_killed and arguments[0] != "set" or "--private" in arguments):
            self.is_closed, self.closings = True, self.closings + 1
        process = self.start(who, *arguments)
        timer = threading.Timer(random.random() * within, process.kill) if is_killed else None
        if not is_killed and self.options.stall and arguments[0] == "set" and random.random() < 0.004:
            timer = threading.Timer(random.random() * within, self.stall, [process])
        if timer:
            timer.start()
        try:
            output, message = process.communicate(text, timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.ledger.find(arguments, "hangs")
            return "hangs", b"", b""
        finally:
            self.running.discard(process)
            if timer:
                timer.cancel()
        return process.returncode, output, message

    def stall(self, process):
        process.send_signal(signal.SIGSTOP)
        time.sleep(random.choice([2, 11, 14]))
        process.send_signal(signal.SIGCONT)

    def must(self, *arguments):
        status, _, message = self.run("owner", *arguments)
        if status != 0:
            sys.exit(f"storm: {arguments}: {status} {message.decode(errors='replace')}")

    def open_since(self):
        """How often the group became closed so far, unless it is now: with that, `note` tells whether it was open all the time."""
        return None if self.is_closed else self.closings

    def note(self, what, status, message, also=(), who="owner", closings=None):
        """Counts a command, and reports one that ended with a status that the storm does not explain."""
        self.ledger.counts[what, status] += 1
        # Others wait for a lock or a replacement for ten seconds at most. They are denied a closed group, and so is whoever
        # is no member.
        is_denied = who == "carol" or who != "owner" and (closings is None or self.closings != closings)
        expected = {0, KILLED, 15, *also} | ({12} if is_denied else set()) | ({23} if self.options.full_disk else set())
        # The files of a writer may be replaced while it is stopped. It may not know whether its change is in the new ones.
        if self.options.stall and (b"may have been made" in message or b"replaced meanwhile" in message):
            expected.add(23)
        if status not in expected:
            self.ledger.find(what, "ended with", status, message.decode(errors="replace").strip())

    def issue(self, name, *options, killed=0.0):
        path = f"{self.folder}/{name}-{len(os.listdir(self.folder))}.credential"
        status, _, message = self.run("owner", "app", "issue", name, "--output", path, *options, killed=killed, within=0.25)
        if os.path.exists(path):
            os.chown(path, USER, USER)
            self.credentials[name] = path
        self.note("issue", status, message)

    # What goes on at the same time.

    def rounds(self, body):
        while not self.stop.is_set():
            if self.pause.is_set():
                time.sleep(0.05)
            else:
                body()

    def write(self, who):
        chosen, numbers = random.Random(f"{self.options.seed} {who}"), collections.Counter()

        def body():
            item = f"{who}/{chosen.randrange(8)}"
            numbers[item] += 1
            value = f"{numbers[item]} {who} " + "x" * (chosen.randrange(20_000) if chosen.random() < 0.2 else 0)
            closings = self.open_since()
            self.ledger.begin(item, value)
            status, _, message = self.run(who, "set", "-g", "team", item, text=value.encode(), killed=0.1)
            self.ledger.end(item, value, status, message)
            self.note("set", status, message, who=who, closings=closings)

        self.rounds(body)

    def read(self, who):
        def body():
            item = f"{random.choice(self.writers)}/{random.randrange(8)}"
            before, closings = self.ledger.written.get(item), self.open_since()
            status, output, message = self.run(who, "get", "-g", "team", item, killed=0.05)
            if status == 0:
                self.ledger.compare(item, output.decode(), before, f"get by {who}:")
            self.note("get", status, message, also=[] if before else [10], who=who, closings=closings)
            time.sleep(0.02)

        self.rounds(body)

    def watch(self, who):
        def body():
            closings = self.open_since()
            process = self.start(who, "watch", "team", "--", "true")
            while process.poll() is None and not self.pause.is_set() and not self.stop.is_set():
                time.sleep(0.1)
            process.kill()
            _, message = process.communicate()
            self.running.discard(process)
            self.note("watch", process.returncode, message, who=who, closings=closings)

        self.rounds(body)

    def own(self):
        chosen, number = random.Random(self.options.seed), 0
        changes = {
            "rotate": ["group", "rotate", "team"], "close": ["group", "share", "team", "--private"],
            "compact": ["group", "compact", "team", "--yes"], "repair": ["repair", "team"], "verify": ["verify", "team"],
            "show": ["group", "show", "team"], "list": ["list", "-g", "team"], "status": ["status"], "backup": None,
            "revoke": ["app", "uninstall", "carol", "--revoke", "--yes"], "replace": None,
        }

        def body():
            nonlocal number
            number += 1
            what = chosen.choice([*changes, "rotate", "rotate"])
            if what == "replace":
                return self.issue("carol", "--replace", "--group", "team:read", killed=0.3)
            backup = f"{self.folder}/backup-{number}"
            arguments = ["backup", backup] if what == "backup" else changes[what]
            status, _, message = self.run("owner", *arguments, killed=0.35, within=0.25)
            # A credential that is being replaced, by a command that was killed or found no space, is reported.
            self.note(what, status, message, also=[14] if b"still admits" in message else [])
            shutil.rmtree(backup, ignore_errors=True)
            while self.is_closed and not self.stop.is_set():
                status, _, message = self.run("owner", *self.share)
                self.note("share", status, message)
                self.is_closed = status != 0
            if what == "revoke":
                self.issue("carol", "--replace", "--group", "team:read")
            time.sleep(chosen.random() * 0.2)

        self.rounds(body)

    def fill(self):
        path = f"{self.folder}/disk/filler"

        def body():
            time.sleep(1 + random.random() * 2)
            try:
                with open(path, "wb", buffering=0) as file:
                    while True:
                        file.write(bytes(65_536))
            except OSError:
                time.sleep(random.random())
            os.unlink(path)

        self.rounds(body)

    # Comparing.

    def settle(self):
        self.pause.set()
        while self.running:
            time.sleep(0.05)
        if self.options.full_disk:
            time.sleep(4)
        for item in sorted(self.ledger.possible):
            written, possible = self.ledger.written.get(item), self.ledger.possible[item]
            status, output, message = self.run("owner", "get", "-g", "team", item)
            if status == 10 and written is None:
                continue
            value = output.decode()
            if status != 0:
                self.ledger.find(item, "cannot be read:", message.decode(errors="replace").strip())
            elif value != written and value not in possible:
                self.ledger.find(item, "holds", value[:40], "and not", (written or "nothing")[:40])
            self.ledger.written[item], self.ledger.possible[item] = value, set()
        status, output, message = self.run("owner", "verify")
        self.note("verify all", status, output + message, also=[14] if b"still admits" in message else [])
        self.pause.clear()

    def go(self):
        self.writers = ["owner"] if self.options.read_only else ["owner", "alice", "bob"]
        bodies = [(self.write, who) for who in self.writers] + [(self.read, who) for who in ("owner", "carol", "dora")]
        bodies += [(self.own,), (self.watch, "dora")] + ([(self.fill,)] if self.options.full_disk else [])
        threads = [threading.Thread(target=body, args=arguments, daemon=True) for body, *arguments in bodies]
        for thread in threads:
            thread.start()
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            time.sleep(min(20, max(1, end - time.monotonic())))
            self.settle()
        self.stop.set()
        for thread in threads:
            thread.join(timeout=60)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--read-only", action="store_true")
    parser.add_argument("--full-disk", action="store_true")
    parser.add_argument("--stall", action="store_true")
    parser.add_argument("--vault", default=f"{root}/.build/debug/vault")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("storm: needs root, because each user is another Unix user")
    random.seed(options.seed)
    folder = tempfile.mkdtemp(prefix="vault-storm-")
    try:
        storm = Storm(options, folder)
        storm.go()
    finally:
        if options.full_disk:
            subprocess.run(["umount", "--lazy", f"{folder}/disk"], check=False)
        shutil.rmtree(folder, ignore_errors=True)
    counts = storm.ledger.counts
    for what in sorted({what for what, _ in counts}):
        print(f"{what}:", ", ".join(f"{status} {counts[what, status]}" for name, status in sorted(counts, key=str) if name == what))
    sys.exit(f"storm: {len(storm.ledger.findings)} findings" if storm.ledger.findings else 0)


main()
