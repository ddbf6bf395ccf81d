"""Items out of a verified state: each row is proved by the tree before anything in it is used."""

import unicodedata

from container import blob, integer
from layout import COUNTER_LIMIT, Cursor, Refused, fields, pad16, require, short_counter, u32, u64, unpad, utf8
from primitives import digest, open_box

COUNTERS = range(1, COUNTER_LIMIT)
COLUMNS = "token,version,state,oldest,previous,nonce,attributes,place,secret"


class Row:
    def __init__(self, columns):
        token, version, state, oldest, previous, nonce, attributes, place, secret = columns
        self.state, self.place = integer(state, (1, 2)), integer(place, (0, 1, 2))
        secrets = {0: range(1), 1: range(48, 513), 2: (32,)}[self.place]
        require((self.state == 2) == (self.place == 0), "row", "state and place")
        self.version, self.oldest = integer(version, COUNTERS), integer(oldest, COUNTERS)
        require(self.oldest <= self.version, "row", "oldest")
        self.token, self.previous, self.nonce = blob(token, (16,)), blob(previous, (32,)), blob(nonce, (24,))
        self.attributes, self.secret = blob(attributes, range(48, 67_601)), blob(secret, secrets)
        self.encoding = (
            self.token + u64(self.version) + bytes([self.state]) + u64(self.oldest) + self.previous + self.nonce
            + u32(len(self.attributes)) + self.attributes + bytes([self.place]) + u32(len(self.secret)) + self.secret)
        self.digest = digest("vault1.row.hash", self.encoding)


def is_branch(body):
    return len(body) % 16 == 2


def node_digest(key, body):
    if is_branch(body):
        return digest("vault1.node", key + body)
    return digest("vault1.leaf", key + bytes([len(body) // 48 & 255]) + body)


def parse_node(key, body):
    """The entries of a leaf, or the bitmap and digests of a branch."""
    depth, prefix = key[0], key[1:]
    if is_branch(body):
        bitmap = int.from_bytes(body[:2], "big")
        require(bitmap and depth < 32 and len(body) == 2 + 32 * bitmap.bit_count(), "tree", "branch")
        return bitmap, [body[2 + 32 * n : 34 + 32 * n] for n in range(bitmap.bit_count())]
    require(len(body) % 48 == 0 and len(body) // 48 <= 32 and (body or depth == 0), "tree", "leaf")
    entries = [(body[n : n + 16], body[n + 16 : n + 48]) for n in range(0, len(body), 48)]
    tokens = [token for token, _ in entries]
    require(tokens == sorted(set(tokens)), "tree", "order of a leaf")
    require(all(token.hex()[:depth] == prefix.hex()[:depth] for token in tokens), "tree", "a token elsewhere")
    return entries, None


class Answers:
    def __init__(self, state):
        self.state, self.container, self.keys = state, state.container, state.keys

    # The tree

    def node(self, wanted, depth, prefix):
        """A node's parts: the entries of a leaf, or the bitmap and digests of a branch."""
        key = bytes([depth]) + prefix
        rows = self.container.rows("SELECT body FROM node WHERE prefix=?", key)
        if not rows and depth == 0 and wanted == digest("vault1.leaf", key + b"\0"):
            return [], None
        require(rows, "tree", "a node is missing")
        body = blob(rows[0][0], range(34, 1_537))
        require(node_digest(key, body) == wanted, "tree", "a node has another digest")
        return parse_node(key, body)

    def entries(self, wanted=None, depth=0, prefix=bytes(16)):
        """Every (token, digest) below a node, in rising order."""
        first, digests = self.node(wanted or self.state.root, depth, prefix)
        if digests is None:
            yield from first
            return
        nibbles = [n for n in range(16) if first & 1 << n]
        for nibble, below in zip(nibbles, digests):
            yield from self.entries(below, depth + 1, child(prefix, depth, nibble))

    def proved_digest(self, token):
        wanted, depth, prefix = self.state.root, 0, bytes(16)
        while True:
            first, digests = self.node(wanted, depth, prefix)
            if digests is None:
                return dict(first).get(token)
            nibble = int(token.hex()[depth], 16)
            if not first & 1 << nibble:
                return None
            wanted = digests[(first & (1 << nibble) - 1).bit_count()]
            depth, prefix = depth + 1, child(prefix, depth, nibble)

    # Rows

    def rows(self, table, where="", *parameters):
        order = "token,version" if table == "version" else "token"
        return [Row(columns) for columns in self.container.rows(
            f"SELECT {COLUMNS} FROM {table} {where} ORDER BY {order}", *parameters)]

    def current(self, name):
        token = self.keys.token_of(name)
        wanted = self.proved_digest(token)
        if wanted is None:
            return None
        rows = self.rows("item", "WHERE token=?", token)
        require(len(rows) == 1 and rows[0].digest == wanted, "row", "a row differs from the tree")
        return rows[0]

    def half(self, row, number, key, box):
        context = row_context(self.keys.place, row, number)
        return unpad(open_box(key, row.nonce, context, box, "row"), "row")

    def attributes(self, row):
        found = parse_attributes(self.half(row, 1, self.keys.attributes, row.attributes))
        require(self.keys.token_of(found["name"]) == row.token, "row", "another name")
        return found | dict(version=row.version, state=row.state)

    def value(self, row):
        """The opened value; None for a removed item."""
        if row.place == 0:
            return None
        sealed = row.secret
        if row.place == 2:
            rows = self.container.rows("SELECT bytes FROM blob WHERE token=? AND version=?", row.token, row.version)
            require(rows, "row", "no blob")
            sealed = blob(rows[0][0], range(513, 1_081_361))
            require(digest("vault1.blob", sealed) == row.secret, "row", "another blob")
        value = self.half(row, 2, self.keys.secret, sealed)
        require(len(value) <= 1_048_576, "row", "value")
        return value

    # What is asked

    def get(self, name):
        row = self.current(name)
        return row and (self.attributes(row), self.value(row))

    def history(self, name):
        """Every kept version, the newest first, each proved by the one behind it."""
        row = self.current(name)
        if row is None:
            return []
        oldest, found = row.oldest, [row]
        while row.version > oldest:
            rows = self.rows("version", "WHERE token=? AND version=?", row.token, row.version - 1)
            require(len(rows) == 1 and rows[0].digest == row.previous, "row", "an older version")
            row = rows[0]
            found.append(row)
        return [(self.attributes(row), self.value(row)) for row in found]

    def list(self):
        """The attributes of every present item."""
        found, rows = [], iter(self.rows("item"))
        for token, wanted in self.entries():
            row = next(rows, None)
            require(row and (row.token, row.digest) == (token, wanted), "row", "tree and rows differ")
            require_followed(row)
            if row.state == 1:
                found.append(self.attributes(row))
                require_name(found[-1]["name"])
        require(next(rows, None) is None, "row", "a row too many")
        return found


def child(prefix, depth, nibble):
    digits = prefix.hex()
    return bytes.fromhex(digits[:depth] + f"{nibble:x}" + digits[depth + 1 :])


def row_context(place, row, number):
    """Associated data of a row's half."""
    return pad16("vault1.row") + place + row.token + u64(row.version) + u32(number) + u32(row.state)


def parse_attributes(plain):
    require(len(plain) <= 65_536, "row", "attributes")
    found = fields(plain, "row", highest=10, limit=65_536, later=None)
    require({1, 5, 7, 9} <= found.keys(), "row", "a field is missing")
    numbers = {tag: short_counter(found[tag], "row") for tag in (4, 5, 6, 9) if tag in found}
    require(numbers.get(4) != numbers[5] and len(found[7]) == 1, "row", "dates or kind")
    name = utf8(found[1], "row")
    require(len(found[1]) <= 1_024, "row", "name")
    attributes = dict(
        name=name, created=numbers.get(4, numbers[5]), changed=numbers[5], valueKind=found[7][0], valueEpoch=numbers[9],
        pairs=pairs(found.get(3)), writer=writer(found.get(10)))
    for tag, key in ((2, "label"), (8, "typeName")):
        if tag in found:
            attributes[key] = utf8(found[tag], "row")
    if 6 in numbers:
        attributes["expires"] = numbers[6]
    return attributes


def bounded(text):
    """Whether a long text has at most 255 combining characters in a row."""
    if len(text.encode()) <= 512:
        return True
    marks = "".join("m" if unicodedata.category(character)[0] == "M" else " " for character in text)
    return all(len(run) <= 255 for run in marks.split())


def pairs(field):
    if field is None:
        return {}
    require(field, "row", "no pairs")
    found, cursor = [], Cursor(field, "row")
    while cursor.offset < len(field):
        key = cursor.take(cursor.number(2))
        require(not found or found[-1][0] < key, "row", "order of pairs")
        found.append((key, cursor.text16()))
    texts = [utf8(key, "row") for key, _ in found]
    require(all(bounded(text) for text in [*texts, *(value for _, value in found)]), "row", "marks in a row")
    require(len(texts) <= 64 and len({unicodedata.normalize("NFC", text) for text in texts}) == len(texts), "row", "pairs")
    return dict(zip(texts, (value for _, value in found)))


def writer(field):
    if field is None:
        return "0 0 "
    cursor = Cursor(field, "row")
    kind, issue, application = cursor.number(1), cursor.number(4), cursor.text16()
    cursor.end()
    require(kind == 1 and bounded(application), "row", "writer")
    return f"{kind} {issue} {application}"


def require_followed(row):
    require(row.version < COUNTER_LIMIT - 1, "row", "a version that no other can follow")


def require_name(name):
    require(0 < len(name.encode()) <= 1_024 and unicodedata.normalize("NFC", name) == name, "row", "name")
    forbidden = any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" or unicodedata.category(c) == "Cn" for c in name)
    require(not forbidden, "row", "name")
