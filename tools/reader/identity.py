"""The identity file: which slots there are, and the root seed that one of them opens."""

import nacl.bindings as sodium

from layout import Cursor, Refused, damaged, pad16, refuse_later_formats, require
from primitives import digest, mac, open_box, public_key

PASSPHRASE, KEY_FILE = 1, 2
KINDS_OF_USES = {1: 1, 2: 2, 3: 2, 4: 2}


class Slot:
    def __init__(self, cursor, owner):
        start = cursor.offset
        self.kind, self.use, self.number = cursor.number(1), cursor.number(1), cursor.number(2)
        self.passes, self.memory, self.salt = cursor.number(4), cursor.number(4), cursor.take(16)
        self.header = pad16("vault1.slot") + owner + cursor.data[start : cursor.offset]
        self.check, self.nonce, self.sealed = cursor.take(16), cursor.take(24), cursor.take(48)

    def key(self, secret):
        if self.kind == 2:
            return mac(secret, "vault1.slot.key", self.salt)
        if not (1 <= self.passes <= 16 and 8_192 <= self.memory <= 1_048_576 and self.passes * self.memory <= 4_194_304):
            raise Refused("over-limit")
        return sodium.crypto_pwhash_alg(
            32, secret, self.salt, self.passes, self.memory * 1_024, sodium.crypto_pwhash_ALG_ARGON2ID13)


def slots_of(data):
    """The owner key and the slots."""
    refuse_later_formats(data, "identity")
    require(len(data) >= 48 and data[:16] == pad16("vault1.identity"), "identity", "label")
    require(digest("vault1.id.hash", data[:-32]) == data[-32:], "identity", "hash")
    cursor = Cursor(data[:-32], "identity")
    cursor.label("vault1.identity")
    owner = cursor.take(32)
    slots = [Slot(cursor, owner) for _ in range(cursor.number(2))]
    cursor.end()
    for slot in slots:
        if KINDS_OF_USES.get(slot.use) != slot.kind:
            raise Refused("newer-format")
        require(slot.kind == 1 or slot.passes == slot.memory == 0, "identity", "costs of a key")
    numbers = [slot.number for slot in slots]
    require(1 <= len(slots) <= 64 and numbers == sorted(set(numbers)), "identity", "slots")
    require(sum(slot.kind == 1 for slot in slots) <= 1, "identity", "two passphrases")
    return owner, slots


def open_identity(data, secret, use=KEY_FILE):
    """The owner key and the root seed that a passphrase or the 32 bytes of a key open in a slot of that use."""
    owner, slots = slots_of(data)
    for slot in slots:
        if slot.use != use:
            continue
        key = slot.key(secret)
        if mac(key, "vault1.slot.chk", slot.header)[:16] == slot.check:
            root = open_box(key, slot.nonce, slot.header, slot.sealed, "slot")
            if public_key(mac(root, "vault1.owner.sig")) != owner:
                raise damaged("slot", "another owner's seed")
            return owner, root
    raise Refused("wrong-key")
