"""The identity file: which slots there are, and the root seed that a key file opens."""

from layout import Cursor, Refused, damaged, pad16, require
from primitives import digest, mac, open_box, public_key


def open_identity(data, key):
    """The owner key and the root seed that the 32 bytes of a key file open."""
    require(len(data) >= 48 and data[:16] == pad16("vault1.identity"), "identity", "label")
    require(digest("vault1.id.hash", data[:-32]) == data[-32:], "identity", "hash")
    cursor = Cursor(data[:-32], "identity")
    cursor.label("vault1.identity")
    owner = cursor.take(32)
    slots = [cursor.take(116) for _ in range(cursor.number(2))]
    cursor.end()
    numbers = [slot[2:4] for slot in slots]
    require(1 <= len(slots) <= 64 and numbers == sorted(set(numbers)), "identity", "slots")
    for slot in slots:
        if (slot[0], slot[1]) not in ((1, 1), (2, 2), (2, 3), (2, 4)):
            raise Refused("newer-format")
        require(slot[0] == 1 or not any(slot[4:12]), "identity", "costs of a key")
    require(sum(slot[0] == 1 for slot in slots) <= 1, "identity", "two passphrases")
    for slot in slots:
        header = pad16("vault1.slot") + owner + slot[:28]
        slot_key = mac(key, "vault1.slot.key", slot[12:28])
        if slot[0] == 2 and mac(slot_key, "vault1.slot.chk", header)[:16] == slot[28:44]:
            root = open_box(slot_key, slot[44:68], header, slot[68:], "slot")
            if public_key(mac(root, "vault1.owner.sig")) != owner:
                raise damaged("slot", "another owner's seed")
            return owner, root
    raise Refused("wrong-key")
