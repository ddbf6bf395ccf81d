"""Vault side by side with its peers, in one run: every figure is a median, every judgement a ratio."""

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import cluster
import daemon
import peers
import plot
from timing import Command, interleave

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IN_PROCESS = f"{ROOT}/Benchmarks/.build/release/InProcess"
ARCHIVES = f"{ROOT}/Benchmarks/.build/release/Archives"


class Bench:
    def __init__(self, folder, quick):
        self.folder, self.quick, self.rows, self.daemons = folder, quick, [], []
        # An installed copy: what the linker just wrote starts slower.
        self.vault = shutil.copy(f"{ROOT}/.build/release/vault", f"{folder}/vault")
        self.rounds = 15 if quick else 60
        self.fills = {}
        self.python4 = peers.sqlcipher4(f"{folder}/sqlcipher4")

    def row(self, job, figure, unit, wanted, ratio=None, peer=None):
        """Notes one line. `wanted` is (comparison, limit) on the ratio if there is one, else on the figure."""
        value = figure if ratio is None else ratio
        met = None if wanted is None else value <= wanted[1] if wanted[0] == "<=" else value >= wanted[1]
        self.rows.append(
            dict(job=job, figure=figure, unit=unit, ratio=ratio, peer=peer, wanted=wanted and " ".join(map(str, wanted)), met=met))
        print(f"  {job}: {figure:.4g} {unit}" + (f", {ratio:.2f} x {peer}" if peer else ""), file=sys.stderr, flush=True)

    # Stores and commands

    def store(self, count, size=32):
        """The environment of a store with `count` items, made on first use; and how fast it was filled."""
        folder = f"{self.folder}/store-{count}-{size}"
        if folder not in self.fills:
            self.fills[folder] = self.json([IN_PROCESS, "fill", folder, str(count), str(size)])
        env = {"VAULT_HOME": f"{folder}/home", "VAULT_STATE": f"{folder}/state", "VAULT_KEY_FILE": f"{folder}/key"}
        return folder, env, self.fills[folder]

    def json(self, argv):
        return json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)

    def command(self, name, count, *arguments, size=32, stdin=None):
        return Command(name, [self.vault, *arguments], self.store(count, size)[1], stdin)

    # Jobs

    def archives(self):
        """Both readers in one process, in turn; persons with an address each."""
        for count in (1_000, 6_200):
            figures = self.json([ARCHIVES, str(count)])
            job = f"decoding {count:,} persons, an archive of {figures['bytes'] / 1e6:.2f} MB"
            self.row(job, figures["securecoding_ms"], "ms", ("<=", 1.0), figures["ratio"], "Foundation")
            job = f"encoding {count:,} persons"
            self.row(job, figures["encoding_ms"], "ms", ("<=", 1.0), figures["encoding_ratio"], "Foundation")

    def cold_gets(self):
        item = peers.name(0)
        gets = [self.command(f"vault {n}", n, "get", item) for n in (1_000, 100_000)]
        others = {}
        if shutil.which("age"):
            others["age -d"] = Command("age", peers.age(f"{self.folder}/age", 1)[0])
        if shutil.which("secret-tool") and shutil.which("gnome-keyring-daemon"):
            env, pid, get, _ = peers.secret_tool(f"{self.folder}/keyring", 1_000)
            self.daemons.append(pid)
            others["secret-tool"] = Command("secret-tool", get, env)
        if shutil.which("pass"):
            env, get, _ = peers.password_store(f"{self.folder}/pass", 100)
            others["pass"] = Command("pass", get, env)
        unlocked = self.unlocked_get(item)
        floor = Command("/bin/true", ["/bin/true"])
        help_text = self.command("vault --help", 1_000, "--help")
        interleave(gets + list(others.values()) + [floor, help_text] + unlocked, self.rounds)
        for get in unlocked:
            self.row("cold get, unlocked", get.wall * 1e3, "ms", ("<=", 1.05), get.wall / gets[0].wall, "with a key file")
        limits = {"age -d": 0.6, "secret-tool": 0.4, "pass": 0.25}
        for get, count in zip(gets, ("1,000", "100,000")):
            for peer, command in others.items():
                self.row(f"cold get, {count} items", get.wall * 1e3, "ms", ("<=", limits[peer]), get.wall / command.wall, peer)
            self.row(f"cold get, {count} items, CPU", get.cpu * 1e3, "ms", None)
        self.row("memory of a cold get", gets[1].memory() / 1024, "MiB", ("<=", 20))
        self.row("vault --help over /bin/true", (help_text.wall - floor.wall) * 1e3, "ms", ("<=", 2))

    def unlocked_get(self, item):
        """A get that finds its key in the kernel's keyring; none where there is no keyring."""
        env = dict(self.store(1_000)[1])
        unlock = [self.vault, "unlock", "--for", "1h"]
        if subprocess.run(unlock, env=env, stderr=subprocess.DEVNULL).returncode != 0:
            return []
        del env["VAULT_KEY_FILE"]
        return [Command("vault unlocked", [self.vault, "get", item], env)]

    def cold_sets(self):
        value = f"{self.folder}/value"
        open(value, "w").write("another value of about thirty b")
        own = self.command("vault set", 1_000, "set", peers.name(0), stdin=value)
        commands = [own]
        if shutil.which("sqlcipher"):
            argv, _, script = peers.sqlcipher3(f"{self.folder}/sqlcipher3", 1_000)
            commands.append(Command("sqlcipher 3", argv, stdin=script))
        interleave(commands, self.rounds)
        for other in commands[1:]:
            self.row("cold durable set", own.wall * 1e3, "ms", ("<=", 0.8), own.wall / other.wall, "sqlcipher 3, raw key")
        if shutil.which("strace"):
            self.row("sync calls of a cold set", self.syncs(own), "calls", ("<=", 3))
            for other in commands[1:]:
                self.row("sync calls of the same by sqlcipher 3", self.syncs(other), "calls", None)

    def syncs(self, command):
        trace = f"{self.folder}/trace"
        with open(command.stdin) as stdin:
            subprocess.run(
                ["strace", "-f", "-o", trace, "-e", "trace=fsync,fdatasync,sync_file_range", *command.argv],
                env=command.env, stdin=stdin, stdout=subprocess.DEVNULL, check=True)
        return sum("sync(" in line for line in open(trace))

    def lists(self):
        sizes = [(10_000, 32), (100_000, 32), (10_000, 1_024), (1_000, 32), (1_000, 102_400)]
        lists = {s: self.command(f"list {s}", s[0], "list", size=s[1]) for s in sizes}
        interleave(list(lists.values()), max(5, self.rounds // 4))
        for (count, size), command in lists.items():
            job = f"list of {count:,} names, values of {size:,} bytes"
            if self.python4 and size == 32 and count > 1_000:
                file = f"{self.folder}/four-{count}.db"
                self.sqlcipher4(file, "fill", count)
                other = self.sqlcipher4(file, "list", count)["milliseconds"]
                self.row(job, command.wall * 1e3, "ms", ("<=", 2), command.wall * 1e3 / other, "sqlcipher 4's select")
            else:
                self.row(job, command.wall * 1e3, "ms", None)
        self.row("growth of a list from 10,000 to 100,000", lists[100_000, 32].wall / lists[10_000, 32].wall, "times", ("<=", 11))

    def sqlcipher4(self, file, job, count):
        return self.json([self.python4, f"{ROOT}/Benchmarks/sqlcipher4.py", file, job, str(count)])

    def in_process(self):
        plain = f"{self.folder}/plain"
        subprocess.run(["cc", "-O2", "-o", plain, f"{ROOT}/Benchmarks/Peers/sqlite.c", "-lsqlite3"], check=True)
        wanted = {10_000: 142_900, 100_000: 111_100, 1_000_000: 71_400}
        for count in [10_000, 100_000] + ([] if self.quick else [1_000_000]):
            folder, _, filled = self.store(count)
            if count == 1_000_000:
                self.bulk(folder, filled)
            if count == 100_000:
                self.row("size at 100,000 items of 32 bytes", filled["bytesEach"], "bytes each", ("<=", 330))
            own = self.json([IN_PROCESS, "get", folder, str(count)])["perSecond"]
            self.json([plain, f"{plain}-{count}.db", "fill", str(count)])
            other = self.json([plain, f"{plain}-{count}.db", "get", str(count)])["perSecond"]
            self.row(f"one process: gets, {count:,} items", own, "per s", (">=", wanted[count]))
            self.row(f"one process: time of a get, {count:,} items", 1e6 / own, "us", ("<=", 2), other / own, "SQLite's point read")
            if count == 1_000_000:
                again = self.json([IN_PROCESS, "again", folder, str(count)])["perSecond"]
                self.row("the same once each item was read", 1e6 / again, "us", None, other / again, "SQLite's point read")

    def bulk(self, folder, filled):
        shutil.rmtree(folder)
        load = Command("bulk load", [IN_PROCESS, "fill", folder, "1000000", "32"])
        load.run()
        self.row("bulk load of 1,000,000", filled["perSecond"], "per s", (">=", 170_000))
        self.row("memory of the bulk load", load.peak / 1024, "MiB", ("<=", 300))

    def in_process_sets(self):
        folder, _, filled = self.store(100_000)
        # Before the sets, which leave older versions: the items are those that were imported.
        rotated = self.json([IN_PROCESS, "rotate", folder, "100000"])["perSecond"]
        self.row("a new key for 100,000 items", 1e5 / rotated, "s", ("<=", 1), filled["perSecond"] / rotated, "their import")
        argv = [IN_PROCESS, "set", folder, "100000"]
        if self.python4:
            file = f"{self.folder}/four-sets.db"
            self.sqlcipher4(file, "fill", 100_000)
            # In turn, because the time of a sync depends on what else the disk does at that moment.
            pairs = [(self.json(argv)["microseconds"], self.sqlcipher4(file, "set", 100_000)["microseconds"]) for _ in range(5)]
            ratio = statistics.median(own / other for own, other in pairs)
            self.row("one process: durable set", statistics.median(own for own, _ in pairs), "us", ("<=", 1.2), ratio, "sqlcipher 4")
        else:
            self.row("one process: durable set", self.json(argv)["microseconds"], "us", None)
        one = self.json([IN_PROCESS, "writers", folder, "100000", "1"])
        eight = self.json([IN_PROCESS, "writers", folder, "100000", "8"])
        self.row("8 writers", eight["perSecond"], "per s", (">=", 1.0), eight["perSecond"] / one["perSecond"], "one writer")
        self.row("longest wait of 8 writers", eight["longestMilliseconds"], "ms", ("<=", 150))
        transaction = self.json([IN_PROCESS, "transaction", self.store(10_000)[0], "10000"])["perSecond"]
        self.row("transaction of 10,000 sets", transaction, "per s", (">=", 50_000))

    # In the order in which they run.
    JOBS = ["cold_gets", "cold_sets", "lists", "in_process", "in_process_sets", "archives", "daemon", "cluster"]

    def run(self, jobs):
        others = {"daemon": daemon, "cluster": cluster}
        try:
            for job in jobs:
                if job not in others:
                    getattr(self, job)()
                elif others[job].available():
                    others[job].run(self)
        finally:
            for pid in self.daemons:
                os.kill(pid, signal.SIGTERM)

    def table(self):
        lines = ["| job | figure | against | wanted | met |", "| --- | --: | --- | --- | --- |"]
        for row in self.rows:
            against = f"{row['ratio']:.2f} × {row['peer']}" if row["peer"] else ""
            met = {True: "yes", False: "**no**", None: ""}[row["met"]]
            lines.append(f"| {row['job']} | {row['figure']:,.4g} {row['unit']} | {against} | {row['wanted'] or ''} | {met} |")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="tools/bench")
    parser.add_argument("--install-peers", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--job", action="append", choices=Bench.JOBS)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--svg", metavar="FILE")
    parser.add_argument("--check", action="store_true", help="only check these options")
    options = parser.parse_args()
    if options.check:
        return
    if options.install_peers:
        peers.install()
    absent = peers.missing()
    if absent:
        print(f"bench: not here, so not measured: {', '.join(absent)} (tools/bench --install-peers)", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="vault-bench-") as folder:
        bench = Bench(folder, options.quick)
        bench.run(options.job or Bench.JOBS)
    print(bench.table())
    record = dict(
        date=datetime.date.today().isoformat(), machine=f"{platform.machine()}, {os.cpu_count()} cores", absent=absent, rows=bench.rows)
    if options.svg:
        with open(options.svg, "w") as file:
            file.write(plot.draw(record))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)
            file.write("\n")


main()
