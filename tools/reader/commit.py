"""Commits of a published group: each is proved against the state before it, and then put into the file."""

from answers import COLUMNS, Answers, Row
from layout import Cursor, Refused, damaged, require, u32, u64
from primitives import digest
from proof import build, prove
from state import State

LEVEL = "commit"
BYTE_LIMIT = 67_108_864


class Commit:
    """The fields of a commit, of which nothing is proved yet."""

    def __init__(self, data):
        require(len(data) <= BYTE_LIMIT, LEVEL, "too long")
        cursor = Cursor(data, LEVEL)
        cursor.label("vault1.commit")
        self.group_id, self.epoch = cursor.take(32), cursor.counter()
        self.before, self.link = cursor.take(32), cursor.take(32)
        self.manifest = cursor.take(cursor.number(4))
        has_roster, self.roster = cursor.number(1), None
        require(has_roster < 2, LEVEL, "roster or none")
        if has_roster:
            header, self.roster = cursor.take(cursor.number(2)), cursor.take(cursor.number(4))
            count = State.bounded(cursor.number(4), LEVEL)
            self.header, self.wraps = header, [cursor.take(cursor.number(2)) for _ in range(count)]
        self.rows = [(cursor.take(cursor.number(4)), cursor.take(cursor.number(4))) for _ in range(cursor.number(4))]
        end = cursor.offset
        require(cursor.take(32) == digest("vault1.com.hash", data[:end]), LEVEL, "hash")
        cursor.end()


def row_of(encoding):
    cursor = Cursor(encoding, LEVEL)
    token, version, state, oldest = cursor.take(16), cursor.counter(), cursor.number(1), cursor.counter()
    previous, nonce, attributes = cursor.take(32), cursor.take(24), cursor.take(cursor.number(4))
    place, secret = cursor.number(1), cursor.take(cursor.number(4))
    cursor.end()
    return Row((token, version, state, oldest, previous, nonce, attributes, place, secret))


def mark_of(group_id, request):
    """The first bytes of the nonces of the rows that are written for a request."""
    return digest("vault1.request", group_id + request.encode())[:8]


def apply(data, state, owner_key, own_key):
    """Takes a commit into the file of `state`, which was proved; False if the file has its state already.

    `own_key` is the public key of the member who reads.
    """
    commit = Commit(data)
    if commit.group_id != state.roster["header"][0]:
        raise Refused("another-group")
    if commit.epoch < state.epoch or (commit.epoch, commit.link) == (state.epoch, state.link):
        return False
    if commit.epoch == state.epoch:
        raise Refused("rolled-back")
    if commit.before != state.link:
        raise Refused("does-not-follow")
    try:
        roster = followed_roster(commit, state, owner_key)
        if own_key not in roster["members"]:
            raise Refused("not-a-member")
        manifest = state.open_manifest(commit.manifest, roster)
        stated = (commit.epoch, commit.before, commit.link)
        require((manifest["epoch"], manifest["before"], manifest["link"]) == stated, LEVEL, "its manifest")
        take_rows(commit, state.container)
        take_state(commit, state.container, roster, manifest)
    except Refused as refusal:
        raise damaged(LEVEL, str(refusal)) if refusal.outcome == "damaged" else refusal
    return True


def followed_roster(commit, state, owner_key):
    old = state.roster
    if commit.roster is None:
        return old
    new = state.open_roster(commit.roster, owner_key)
    group_id, generation, flags, device = new["header"]
    require((group_id, generation) == old["header"][:2] and new["revision"] > old["revision"], LEVEL, "its roster")
    require(new["before"] == old["digest"] and new["first_epoch"] == commit.epoch, LEVEL, "its roster's place")
    require(commit.header == group_id + u64(generation) + u32(flags) + device, LEVEL, "its header")
    members = list(new["members"].values())
    require(len(members) == len(commit.wraps), LEVEL, "number of wraps")
    for member, wrap in zip(members, commit.wraps):
        require(digest("vault1.wrap.hash", member["slot"] + wrap) == member["wrap"], LEVEL, "a wrap")
    return new


def take_rows(commit, container):
    own = {}
    for encoding, blob in commit.rows:
        row = row_of(encoding)
        current = [Row(columns) for columns in container.rows(f"SELECT {COLUMNS} FROM item WHERE token=?", row.token)]
        old = current[0] if current else None
        kept = container.rows("SELECT nonce FROM version WHERE token=?", row.token)
        known = {nonce[:8] for (nonce,) in kept} | {one.nonce[:8] for one in current}
        require(row.nonce[:8] not in known - own.setdefault(row.token, set()), LEVEL, "a request that was answered before")
        own[row.token].add(row.nonce[:8])
        require(row.version == (old.version if old else 0) + 1, LEVEL, "version")
        require(row.oldest >= (old.oldest if old else 1), LEVEL, "oldest version")
        ends_history = row.oldest == row.version and not any(row.previous)
        require(row.previous == (old.digest if old else bytes(32)) or ends_history, LEVEL, "the row before")
        require(bool(blob) == (row.place == 2), LEVEL, "a blob too many or too few")
        require(not blob or digest("vault1.blob", blob) == row.secret, LEVEL, "a blob")
        require(not blob or 513 <= len(blob) <= 1_081_360, LEVEL, "length of a blob")
        columns = (row.token, row.version, row.state, row.oldest, row.previous, row.nonce, row.attributes, row.place, row.secret)
        if old:
            container.rows(f"INSERT INTO version SELECT {COLUMNS} FROM item WHERE token=?", row.token)
        container.rows(f"REPLACE INTO item({COLUMNS}) VALUES(?,?,?,?,?,?,?,?,?)", *columns)
        if blob:
            container.rows("INSERT INTO blob VALUES(?,?,?)", row.token, row.version, blob)
        for table in ("version", "blob"):
            container.rows(f"DELETE FROM {table} WHERE token=? AND version<?", row.token, row.oldest)


def take_state(commit, container, roster, manifest):
    rows = [Row(columns) for columns in container.rows(f"SELECT {COLUMNS} FROM item ORDER BY token")]
    nodes = {}
    root = build([(row.token, row.digest) for row in rows], 0, bytes(16), nodes)
    counts = len(rows), container.rows("SELECT count(*) FROM version")[0][0]
    require((root, *counts) == (manifest["root"], manifest["items"], manifest["versions"]), LEVEL, "its rows make another state")
    container.rows("DELETE FROM node")
    for key, body in nodes.items():
        container.rows("INSERT INTO node VALUES(?,?)", key, body)
    parts = {3: commit.manifest}
    if commit.roster is not None:
        parts |= {1: commit.header, 2: commit.roster}
        container.rows("DELETE FROM wrap")
        for member, wrap in zip(roster["members"].values(), commit.wraps):
            container.rows("INSERT INTO wrap VALUES(?,?)", member["slot"], wrap)
    for part, stored in parts.items():
        container.rows("UPDATE state SET bytes=? WHERE part=?", stored, part)
    container.rows("INSERT INTO chain VALUES(?,?)", commit.epoch, manifest["rest"])
    container.write_user_version(manifest["versions_signed"])


def prove_commits(commits, open_state, owner_key, own_key):
    """The state after the last of some commits, and whether that one was new.

    `open_state` reads the file as it is then, and every state is proved completely.
    """
    state, is_new = open_state(), None
    prove(Answers(state))
    for data in commits:
        is_new = apply(data, state, owner_key, own_key)
        state = open_state()
        prove(Answers(state))
    return state, is_new
