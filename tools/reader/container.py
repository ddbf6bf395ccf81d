"""A group's SQLite file: a private copy is opened, and nothing in it is believed before its tables were compared."""

import os
import shutil
import sqlite3
import stat

from layout import Refused, damaged, require

LEVEL = "container"
COLUMNS = (
    "token BLOB NOT NULL{},version INTEGER NOT NULL,state INTEGER NOT NULL,oldest INTEGER NOT NULL,previous BLOB NOT NULL,"
    "nonce BLOB NOT NULL,attributes BLOB NOT NULL,place INTEGER NOT NULL,secret BLOB NOT NULL{}"
)
TABLES = [
    ("item", "CREATE TABLE item(" + COLUMNS.format(" PRIMARY KEY", "") + ")STRICT,WITHOUT ROWID"),
    ("version", "CREATE TABLE version(" + COLUMNS.format("", ",PRIMARY KEY(token,version)") + ")STRICT,WITHOUT ROWID"),
    ("blob", "CREATE TABLE blob(token BLOB NOT NULL,version INTEGER NOT NULL,bytes BLOB NOT NULL,PRIMARY KEY(token,version))STRICT"),
    ("node", "CREATE TABLE node(prefix BLOB NOT NULL PRIMARY KEY,body BLOB NOT NULL)STRICT"),
    ("state", "CREATE TABLE state(part INTEGER NOT NULL PRIMARY KEY,bytes BLOB NOT NULL)STRICT"),
    ("wrap", "CREATE TABLE wrap(slot BLOB NOT NULL PRIMARY KEY,sealed BLOB NOT NULL)STRICT,WITHOUT ROWID"),
    ("chain", "CREATE TABLE chain(epoch INTEGER NOT NULL PRIMARY KEY,rest BLOB NOT NULL)STRICT"),
]


def schema():
    for name, sql in TABLES:
        yield ("table", name, name, sql)
        if name in ("blob", "node"):
            yield ("index", f"sqlite_autoindex_{name}_1", name, None)


class Container:
    """The file in `folder`, copied into `scratch` and opened; `writes` asks as a writer would."""

    def __init__(self, folder, scratch, writes=False):
        main = f"{folder}/group.vault"
        require(is_regular(main), LEVEL, "no regular file")
        require(not os.path.lexists(main + "-journal"), LEVEL, "a journal")
        for ending in ("-wal", "-shm"):
            require(not os.path.lexists(main + ending) or is_regular(main + ending), LEVEL, ending)
        copy = f"{scratch}/group.vault"
        for ending in ("", "-wal"):
            if os.path.exists(main + ending):
                shutil.copyfile(main + ending, copy + ending)
        with open(copy, "rb") as file:
            self.check_header(file.read(100))
        self.writes = writes
        self.steps = 0
        try:
            self.database = sqlite3.connect(copy, isolation_level=None)
            self.database.text_factory = bytes
            self.database.set_progress_handler(self.count, 1_000)
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY"):
                self.database.execute(f"PRAGMA {pragma}")
            self.database.execute("BEGIN")
        except sqlite3.Error as error:
            raise damaged(LEVEL, str(error)) from None
        # It is in the clear: which versions count, the owner has signed.
        self.user_version = self.pragma("user_version")
        require(self.pragma("application_id") == 0x564C5431, LEVEL, "application_id")
        require(self.pragma("page_size") == 4096, LEVEL, "page_size")
        rows = self.rows("SELECT type,name,tbl_name,sql,rootpage FROM sqlite_schema ORDER BY rowid")
        found = [tuple(None if value is None else text(value) for value in row[:4]) for row in rows]
        if self.user_version >> 16 & 0xFFFF > 1:
            known = [entry for entry in schema() if entry[1] in ("state", "wrap")]
            require(all(entry in found for entry in known), LEVEL, "tables")
        else:
            require(found == list(schema()), LEVEL, "tables")
        require(len({row[4] for row in rows} - {0, 1}) == len(rows), LEVEL, "root pages")
        require(self.pragma("encoding") == b"UTF-8" and self.pragma("auto_vacuum") == 0, LEVEL, "encoding or vacuum")

    @staticmethod
    def check_header(header):
        require(len(header) == 100 and header[:16] == b"SQLite format 3\0", LEVEL, "no SQLite file")
        require(header[68:72] == bytes.fromhex("564c5431"), LEVEL, "application_id")
        require(header[16:18] == b"\x10\x00" and header[20] == 0, LEVEL, "page size")
        require(header[18:20] == b"\x02\x02", LEVEL, "journal mode")
        require(header[44:48] == b"\0\0\0\4" and header[56:60] == b"\0\0\0\1", LEVEL, "schema format or encoding")
        require(not any(header[52:56]) and not any(header[64:68]), LEVEL, "auto-vacuum")

    def count(self):
        self.steps += 1
        return self.steps > 2_000

    def rows(self, sql, *parameters):
        """All rows of a statement; a file that repeats its pages runs out of steps."""
        self.steps = 0
        try:
            return self.database.execute(sql, parameters).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise damaged(LEVEL, str(error)) from None

    def pragma(self, name):
        rows = self.rows(f"PRAGMA {name}")
        require(len(rows) == 1, LEVEL, name)
        return rows[0][0]

    def write_user_version(self, versions):
        self.user_version = versions[0] << 16 | versions[1]
        self.rows(f"PRAGMA user_version={self.user_version}")

    def close(self):
        self.database.close()


def is_regular(path):
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def blob(value, lengths):
    """A value of a column that holds bytes."""
    require(isinstance(value, bytes) and len(value) in lengths, LEVEL, "type or length of a value")
    return value


def integer(value, values):
    require(isinstance(value, int) and value in values, LEVEL, "type or range of a value")
    return value
