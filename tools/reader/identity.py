"""The identity file: which slots there are, and the root seed that one of them opens."""

import nacl.bindings as sodium

from layout import Cursor, Refused, damaged, pad16, refuse_later_formats, require
from primitives import digest, mac, open_box, public_key

PASSPHRASE, KEY_FILE, RECOVERY_CODE = 1, 2, 3
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
        return stretched(secret, self.salt, self.passes, self.memory)


def stretched(passphrase, salt, passes, memory):
    """Argon2id, within the limits of costs."""
    if not (1 <= passes <= 16 and 8_192 <= memory <= 1_048_576 and passes * memory <= 4_194_304):
        raise Refused("over-limit")
    return sodium.crypto_pwhash_alg(32, passphrase, salt, passes, memory * 1_024, sodium.crypto_pwhash_ALG_ARGON2ID13)


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


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def recovery_checks(values):
    """The check value of each group of four."""
    checks = []
    for number in range(1, 9):
        check = number
        for value in values[4 * number - 4 : 4 * number]:
            check = (check ^ value) << 1
            check ^= 37 if check > 31 else 0
        checks.append(check)
    return checks


def recovery_values(code):
    """The 20 bytes as 32 values of five bits."""
    number = int.from_bytes(code, "big")
    return [number >> shift & 31 for shift in range(155, -1, -5)]


def recovery_text(code):
    values = recovery_values(code)
    groups = [values[4 * n : 4 * n + 4] + [check] for n, check in enumerate(recovery_checks(values))]
    return "-".join("".join(ALPHABET[value] for value in group) for group in groups)


def recovery_bytes(text):
    """The 20 bytes of a recovery code as it was typed."""
    parts = text.upper().translate(str.maketrans("OIL-\t", "011  ")).split()
    digits = [ALPHABET.find(character) for character in "".join(parts)]
    values = [digit for place, digit in enumerate(digits) if place % 5 < 4]
    if len(digits) != 40 or (len(parts) == 8 and any(len(part) != 5 for part in parts)) or -1 in digits:
        raise Refused("wrong-key", detail="no recovery code")
    wrong = [n + 1 for n, check in enumerate(recovery_checks(values)) if check != digits[5 * n + 4]]
    if wrong:
        raise Refused("wrong-key", detail=f"groups {wrong} of the recovery code are mistyped")
    return sum(value << shift for value, shift in zip(values, range(155, -1, -5))).to_bytes(20, "big")


def recovery_key(text):
    """What a recovery code's slot is opened with."""
    return digest("vault1.recovery", recovery_bytes(text))


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
