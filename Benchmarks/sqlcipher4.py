"""SQLCipher 4 in one process, with a raw key: the jobs of Benchmarks/Peers/sqlite.c, and a list of all names.

The interpreter's start is not measured, which favours SQLCipher: Vault's list is a whole process.
"""

import json
import random
import statistics
import sys
import time

from sqlcipher3 import dbapi2

file, job, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
size = int(sys.argv[4]) if len(sys.argv) > 4 else 32


def open_database():
    database = dbapi2.connect(file, isolation_level=None)
    database.execute("PRAGMA key = \"x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'\"")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def name():
    return (f"service/{random.randrange(count)}/password",)


def seconds(body):
    start = time.perf_counter()
    body()
    return time.perf_counter() - start


def fill():
    database = open_database()
    database.execute(
        "CREATE TABLE item(name TEXT PRIMARY KEY, label TEXT, changed INTEGER, version INTEGER, value BLOB) WITHOUT ROWID")
    database.execute("BEGIN")
    value = b"v" * size
    rows = ((f"service/{number}/password", "a label", 1700000000, 1, value) for number in range(count))
    database.executemany("INSERT INTO item VALUES(?, ?, ?, ?, ?)", rows)
    database.execute("COMMIT")
    return {}


def set_values():
    database = open_database()
    statement = "UPDATE item SET value = zeroblob(33), version = version + 1 WHERE name = ?"
    return {"microseconds": statistics.median(seconds(lambda: database.execute(statement, name())) * 1e6 for _ in range(2000))}


def list_names():
    def whole():
        open_database().execute("SELECT name, label, changed, version FROM item").fetchall()

    return {"milliseconds": statistics.median(seconds(whole) * 1e3 for _ in range(15))}


print(json.dumps({"fill": fill, "set": set_values, "list": list_names}[job]()))
