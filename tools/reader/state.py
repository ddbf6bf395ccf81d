"""Wrap, roster, manifest, witness: from the member's seed to a signed root."""

from container import blob, integer
from layout import COUNTER_LIMIT, Cursor, Refused, pad16, require, u32, u64
from primitives import digest, is_signed, mac, open_box, public_key

CHAIN_LENGTH = 4_096


def format_versions(flags):
    """Read and write version, as the owner signed them in the roster's flags."""
    return (flags >> 8 & 0xFF) + 1, (flags >> 16 & 0xFF) + 1


def are_known(flags):
    """Whether each flag is one of this format; a later one may have any."""
    return format_versions(flags)[0] > 1 or flags & ~0x00FFFF00 < 4


class Keys:
    def __init__(self, group_key, place):
        self.place = place
        self.token, self.attributes, self.secret, self.meta, self.commitment = (
            mac(group_key, f"vault1.{name}", place)
            for name in ("key.token", "key.attr", "key.sec", "key.meta", "keycommit"))

    def token_of(self, name):
        return mac(self.token, "vault1.token", name.encode())[:16]


class State:
    """The verified state of a group, as one member sees it."""

    def __init__(self, container, seed, kind, owner_key, group_name, device_key=None):
        self.container = container
        header = Cursor(self.part(1), "container")
        group_id, generation, flags, device = header.take(32), header.counter(), header.number(4), header.take(16)
        header.end()
        require(are_known(flags) and bool(flags & 2) == any(device), "container", "header")
        place = group_id + u64(generation)
        wrap, slot_id = self.unwrap(seed, place, kind)
        wrap_key = mac(seed, "vault1.mem.wrap", place)
        context = pad16("vault1.wrap") + place + slot_id + b"\1"
        group_key = open_box(wrap_key, wrap[1:25], context, wrap[25:], "wrap")
        has_device = device_key is not None and mac(device_key, "vault1.device.id")[:16] == device
        if flags & 2 and has_device:
            group_key = mac(device_key, "vault1.device", group_key + group_id)
        self.keys = Keys(group_key, place)
        try:
            self.roster = self.open_roster(self.part(2), owner_key)
        except Refused:
            if flags & 2 and not has_device:
                raise Refused("locked") from None
            raise
        roster = self.roster
        require((group_id, generation, flags, device) == roster["header"], "roster", "the header differs")
        require(roster["name"] == group_name, "roster", "another group")
        require(roster["commitment"] == self.keys.commitment, "roster", "another key")
        own = roster["members"].get(public_key(mac(seed, "vault1.mem.sign")))
        require(own is not None, "roster", "no entry of one's own")
        require((own["kind"], own["slot"]) == (kind, slot_id), "roster", "own entry")
        require(own["wrap"] == digest("vault1.wrap.hash", slot_id + wrap), "roster", "wrap's digest")
        self.rights = own["rights"]
        self.read_manifest()

    def part(self, number):
        rows = self.container.rows("SELECT bytes FROM state WHERE part=?", number)
        require(len(rows) == 1, "container", "a part of the state is missing")
        return blob(rows[0][0], range(1, 1_049_601))

    def unwrap(self, seed, place, kind):
        slot_id = mac(seed, "vault1.mem.slot", place)[:16]
        rows = self.container.rows("SELECT sealed FROM wrap WHERE slot=?", slot_id)
        if not rows and kind == 1:
            raise Refused("not-a-member")
        require(rows, "wrap", "no wrap")
        wrap = blob(rows[0][0], range(1, 1_025))
        require(len(wrap) == 73 and wrap[0] == 1, "wrap", "length or kind")
        return wrap, slot_id

    def open_roster(self, stored, owner_key):
        level = "roster"
        plain = open_box(self.keys.meta, stored[:24], pad16("vault1.meta.ros") + self.keys.place, stored[24:], level)
        require(len(plain) % 256 == 0 and len(plain) > 0, level, "padding")
        count = int.from_bytes(plain[:4], "big")
        require(64 < count <= 1_048_576 and (4 + count + 255) // 256 * 256 == len(plain), level, "count")
        require(not any(plain[4 + count :]), level, "padding")
        body, signature = plain[4 : 4 + count - 64], plain[4 + count - 64 : 4 + count]
        require(is_signed(body, signature, owner_key), level, "signature")
        cursor = Cursor(body, level)
        cursor.label("vault1.roster")
        group_id, owner, revision, generation = cursor.take(32), cursor.take(32), cursor.counter(), cursor.counter()
        commitment, before, first_epoch = cursor.take(32), cursor.take(32), cursor.counter()
        flags = cursor.number(4)
        read, write = format_versions(flags)
        if read > 1 or self.container.writes and write > 1:
            raise Refused("newer-format")
        device, keep, name = cursor.take(16), cursor.number(2), cursor.text16()
        members = [self.member(cursor) for _ in range(self.bounded(cursor.number(4), level))]
        removed = [(cursor.number(4), cursor.text16(), cursor.counter(), cursor.counter())
                   for _ in range(self.bounded(cursor.number(4), level))]
        cursor.end()
        require(revision and generation and first_epoch and 1 <= keep <= 1_000, level, "numbers")
        require(are_known(flags) and write >= read, level, "flags")
        require(any(before) == (revision > 1) and any(device) == bool(flags & 2), level, "digest before, or device")
        keys = [member["key"] for member in members]
        require(keys == sorted(set(keys)), level, "order of members")
        owners = [member for member in members if member["kind"] == 0]
        require(len(owners) == 1 and owners[0]["rights"] == 2, level, "the owner's entry")
        for member in members:
            require(member["kind"] in (0, 1) and member["rights"] in (1, 2), level, "a member")
            require(bool(member["issue"]) == bool(member["kind"]) == bool(member["application"]), level, "a member")
        order = [(application.encode(), issue, epoch) for issue, application, _, epoch in removed]
        require(order == sorted(set(order)), level, "order of removed members")
        require(owner == owner_key, level, "another owner")
        return dict(
            header=(group_id, generation, flags, device), before=before, revision=revision, commitment=commitment, keep=keep, name=name,
            first_epoch=first_epoch, members={member["key"]: member for member in members},
            digest=digest("vault1.ros.hash", body + signature))

    @staticmethod
    def bounded(count, level):
        require(count <= 4_096, level, "too many members")
        return count

    @staticmethod
    def member(cursor):
        return dict(
            kind=cursor.number(1), rights=cursor.number(1), issue=cursor.number(4), application=cursor.text16(),
            key=cursor.take(32), slot=cursor.take(16), wrap=cursor.take(32))

    def read_manifest(self):
        found = self.open_manifest(self.part(3), self.roster)
        read, write = found["versions_signed"]
        require((read << 16 | write) == self.container.user_version, "container", "user_version")
        self.epoch, self.items, self.versions, self.root = (found[name] for name in ("epoch", "items", "versions", "root"))
        self.rest, self.link = found["rest"], found["link"]

    def open_manifest(self, stored, roster):
        level = "manifest"
        plain = open_box(self.keys.meta, stored[:24], pad16("vault1.meta.man") + self.keys.place, stored[24:], level)
        require(len(plain) > 64, level, "too short")
        body, signature = plain[:-64], plain[-64:]
        cursor = Cursor(body, level)
        cursor.label("vault1.manifest")
        stated = cursor.number(2), cursor.number(2)
        require(cursor.number(4) == 0, level, "flags")
        group_id, roster_digest = cursor.take(32), cursor.take(32)
        revision, generation, epoch, items, versions = (cursor.counter() for _ in range(5))
        root, before, writer, _ = cursor.take(32), cursor.take(32), cursor.take(32), cursor.counter()
        require(epoch > 0 and any(before) == (epoch > 1), level, "epoch or previous link")
        cursor.end()
        require((group_id, generation) == roster["header"][:2], level, "group or generation")
        require((revision, roster_digest) == (roster["revision"], roster["digest"]), level, "roster")
        require(epoch >= roster["first_epoch"], level, "epoch before the roster's")
        member = roster["members"].get(writer)
        require(member is not None and member["rights"] == 2, level, "writer")
        require(epoch != roster["first_epoch"] or member["kind"] == 0, level, "writer of the roster's first state")
        within = epoch - roster["first_epoch"] <= 2**40
        require(within, level, "epoch too far above the roster's")
        require(is_signed(body, signature, writer), level, "signature")
        signed = format_versions(roster["header"][2])
        require(stated == signed, level, "versions")
        rest = digest("vault1.man.rest", body[:160] + body[192:])
        return dict(
            epoch=epoch, items=items, versions=versions, root=root, before=before, rest=rest,
            link=digest("vault1.man.link", before + rest), versions_signed=signed)

    def chain(self, after=0):
        """The rows above an epoch; their order is part of what they prove."""
        rows = [(integer(epoch, range(1, COUNTER_LIMIT)), blob(rest, (32,))) for epoch, rest in self.container.rows(
            "SELECT epoch,rest FROM chain WHERE epoch>? ORDER BY epoch", after)]
        require(len(rows) <= CHAIN_LENGTH, "chain", "too long")
        return rows

    def compare(self, record, owner_key, strict, floor=None):
        """Compares the state with the witness that this machine has kept, and with a credential's floor where that counts.

        `record` of None is no witness.
        """
        if record is not None:
            witness = parse_witness(record)
            if witness is None:
                require(not strict, "witness", "no valid record")
                return
            require(witness[0] == owner_key, "witness", "another owner")
            self.require_descent(*witness[1:])
        if floor_counts(floor, record):
            numbers = floor["rosterRevision"], floor["generation"], floor["epoch"]
            self.require_descent(floor["groupID"], *numbers, floor["link"], bytes(32), 0)

    def require_descent(self, group_id, revision, generation, epoch, link, roster_digest, flags):
        """Refuses a state that is older than another one, or does not descend from it; a floor has zeros for the digest."""
        if (epoch, link, roster_digest) == (self.epoch, self.link, self.roster["digest"]) and not flags & 1:
            return
        require(group_id == self.roster["header"][0], "witness", "another group")
        mine = self.roster["revision"], self.roster["header"][1], self.epoch
        older = any(own < known for own, known in zip(mine, (revision, generation, epoch)))
        forked = revision == mine[0] and roster_digest not in (bytes(32), self.roster["digest"]) or (
            epoch == self.epoch and link != self.link)
        if flags & 1 or older or forked:
            raise Refused("rolled-back")
        if epoch < self.epoch:
            for _, rest in self.chain(after=epoch):
                link = digest("vault1.man.link", link + rest)
            if link != self.link and self.epoch - epoch <= CHAIN_LENGTH:
                raise Refused("rolled-back")


def floor_counts(floor, record):
    """Whether a credential's floor counts beside a witness's record; bytes that are no valid record stand for a bad one."""
    if floor is None or record is None:
        return floor is not None
    witness = parse_witness(record)
    return witness is not None and witness[2] < floor["rosterRevision"]


def parse_witness(record):
    """What a record says, the owner first; None where it is no valid one."""
    try:
        require(len(record) == 256 and digest("vault1.wit.hash", record[:224]) == record[224:], "witness", "hash")
        cursor = Cursor(record[:224], "witness")
        cursor.label("vault1.witness")
        cursor.counter()
        group_id, owner = cursor.take(32), cursor.take(32)
        numbers = cursor.counter(), cursor.counter(), cursor.counter()
        link, roster_digest, flags = cursor.take(32), cursor.take(32), cursor.number(8)
        cursor.take(32)  # The mark, which only the member who wrote it can check.
        require(flags < 8 and not any(cursor.take(8)), "witness", "flags or zeros")
        return owner, group_id, *numbers, link, roster_digest, flags
    except Refused:
        return None


def newest_record(data, owner_key):
    """The record of a witness file that counts; bytes that are no valid record where neither does."""
    records = [data[:256], data[256:]] if len(data) == 512 else []
    valid = [record for record in records if (parse_witness(record) or [None])[0] == owner_key]
    return max(valid, key=lambda record: record[16:24], default=b"")
