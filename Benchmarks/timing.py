"""Runs whole processes and says what they took."""

import os
import random
import statistics
import subprocess
import sys
import time

# The kernel counts the memory of the process that starts another one as the other one's, until that has more itself.
SMALL_PARENT = """
import os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
print(os.wait4(pid, 0)[2].ru_maxrss)
"""


class Command:
    """A process to measure: what it runs, and what it reads."""

    def __init__(self, name, argv, env=None, stdin=None, before=None):
        self.name, self.argv, self.stdin, self.before = name, argv, stdin, before
        self.env = dict(os.environ, **(env or {}))
        self.walls, self.cpus, self.peak = [], [], 0

    def run(self):
        if self.before:
            self.before()
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, self.stdin or "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
        ]
        start = time.perf_counter()
        pid = os.posix_spawnp(self.argv[0], self.argv, self.env, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        self.walls.append(time.perf_counter() - start)
        self.cpus.append(usage.ru_utime + usage.ru_stime)
        self.peak = max(self.peak, usage.ru_maxrss)
        if status:
            raise SystemExit(f"bench: {self.name} ended with status {os.waitstatus_to_exitcode(status)}")

    def memory(self):
        """The peak of its memory in KiB, in one more run, which a small process starts."""
        argv = [sys.executable, "-S", "-c", SMALL_PARENT, *self.argv]
        return int(subprocess.run(argv, env=self.env, check=True, stdout=subprocess.PIPE).stdout)

    @property
    def wall(self):
        return statistics.median(self.walls)

    @property
    def cpu(self):
        return statistics.median(self.cpus)


def interleave(commands, rounds):
    """Runs each command `rounds` times, in an order drawn anew each round: noise falls on all alike."""
    for command in commands:
        command.run()
        command.walls.clear()
        command.cpus.clear()
    for _ in range(rounds):
        for command in random.sample(commands, len(commands)):
            command.run()
