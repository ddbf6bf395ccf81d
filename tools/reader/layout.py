"""Bytes taken apart as the format's article lays them out, and the ways in which a reader refuses them."""

import re

COUNTER_LIMIT = 2**53


class Refused(Exception):
    """Ends a reading: an outcome of the article's table and, for damage, the level at which it was found."""

    def __init__(self, outcome, level=None, detail=""):
        super().__init__(f"{outcome} {level or ''} {detail}".strip())
        self.outcome, self.level = outcome, level


def damaged(level, detail=""):
    return Refused("damaged", level, detail)


def require(condition, level, detail=""):
    if not condition:
        raise damaged(level, detail)


class Cursor:
    """Reads a layout from the front; everything that does not fit is damage of one level."""

    def __init__(self, data, level):
        self.data, self.level, self.offset = data, level, 0

    def take(self, count):
        require(self.offset + count <= len(self.data), self.level, "the bytes end too early")
        self.offset += count
        return self.data[self.offset - count : self.offset]

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def counter(self):
        value = self.number(8)
        require(value < COUNTER_LIMIT, self.level, "a number is no counter")
        return value

    def text16(self):
        return utf8(self.take(self.number(2)), self.level)

    def label(self, name):
        require(self.take(16) == pad16(name), self.level, "another label")

    def end(self):
        require(self.offset == len(self.data), self.level, "bytes are left over")


def utf8(data, level):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise damaged(level, "a text is not UTF-8") from None


def refuse_later_formats(data, name):
    """A file of format 2 or later begins with the same label under a higher number."""
    if re.fullmatch(rb"vault([2-9]|[1-9][0-9]+)\." + re.escape(name.encode()) + rb"\0*", data[:16]):
        raise Refused("newer-format")


def pad16(name):
    return name.encode().ljust(16, b"\0")


def u16(value):
    return value.to_bytes(2, "big")


def u32(value):
    return value.to_bytes(4, "big")


def u64(value):
    return value.to_bytes(8, "big")


def unpad(padded, level):
    """Takes a text out of its padding, whose size must be the one that this text gets."""
    require(len(padded) >= 4, level, "padding")
    count = int.from_bytes(padded[:4], "big")
    require(padded_size(count) == len(padded) and not any(padded[4 + count :]), level, "padding")
    return padded[4 : 4 + count]


def padded_size(count):
    size = 4 + count
    if size <= 32:
        return 32
    if size <= 64:
        return round_up(size, 16)
    if size <= 512:
        return round_up(size, 32)
    exponent = size.bit_length() - 1
    return round_up(size, 2 ** (exponent - exponent.bit_length()))


def round_up(size, unit):
    return (size + unit - 1) // unit * unit


def fields(data, level, highest, limit, later="newer-format"):
    """The tagged fields of attributes and registry items, as a dictionary of bytes by tag.

    A tag above the highest is `later`: None for damage, where a format with more tags has a higher read version.
    """
    found, last, cursor = {}, 0, Cursor(data, level)
    while cursor.offset < len(data):
        tag = cursor.number(1)
        require(tag > last, level, "tags do not rise")
        last = tag
        count = cursor.number(1)
        if count == 255:
            count = cursor.number(4)
            require(255 <= count <= limit, level, "a length is not in its shortest form")
        field = cursor.take(count)
        if tag > highest:
            require(later, level, "an unknown tag")
            raise Refused(later)
        found[tag] = field
    return found


def short_counter(field, level):
    require(len(field) < 8 and field[:1] != b"\0", level, "a counter is not in its shortest form")
    value = int.from_bytes(field, "big")
    require(value < COUNTER_LIMIT, level, "a number is no counter")
    return value
