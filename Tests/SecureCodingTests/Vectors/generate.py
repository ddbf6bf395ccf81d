#!/usr/bin/env python3
"""Writes archives.json next to this file: a vector for each way to fail and for each value that is easy to get wrong.

A vector has a name, the archive (in the lossless form: {"$uid": n}, {"$data": base64}, {"$real": text}, {"$int": text};
or the name of a generator and its count; or the bytes in base64), the classes on the list, the requested classes, and
the expected result: the name of an error, with its path if that is guaranteed, or a value in words.
"""
import base64
import json
import os
import struct

vectors = []
uid = lambda n: {"$uid": n}
data = lambda b: {"$data": base64.b64encode(bytes(b)).decode()}
real = lambda t: {"$real": str(t)}
big = lambda n: {"$int": str(n)}


def cls(name, *chain, **more):
    return {"$classname": name, "$classes": [name, *chain, "NSObject"], **more}


def obj(class_uid, **fields):
    return {**{k.replace("__", "."): v for k, v in fields.items()}, "$class": uid(class_uid)}


def archive(*objects, top=None, **envelope):
    whole = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": top or {"root": uid(1)},
             "$objects": ["$null", *objects]}
    whole.update(envelope)
    return {k: v for k, v in whole.items() if v is not None}


def vector(group, name, plist, ask, error=None, path=None, value=None, allow=None, call=None, **more):
    v = {"group": group, "name": name, "ask": ask.split(), "allow": (allow or ask).split(), **more}
    if isinstance(plist, (bytes, bytearray)):
        v["bytes"] = base64.b64encode(plist).decode()
    elif plist is not None:
        v["archive"] = plist
    for key, given in (("error", error), ("path", path), ("value", value), ("call", call)):
        if given is not None:
            v[key] = given
    vectors.append(v)


def one(name, ask, class_name, error=None, path=None, value=None, group="value", fields=None, more=(), **kw):
    """An archive of one object with `fields`, whose class is object 2. Further objects follow."""
    fields = {**(fields or {}), "$class": uid(2)}
    vector(group, name, archive(fields, cls(class_name), *more), ask, error, path, value, **kw)


def bplist(objects, top=0, ref=1, count=None, offset_size=1, table=None, offsets=None):
    out, positions = bytearray(b"bplist00"), []
    for o in objects:
        positions.append(len(out))
        out += o
    start = len(out) if table is None else table
    for p in positions if offsets is None else offsets:
        out += p.to_bytes(offset_size, "big")
    return bytes(out + bytes(6) + struct.pack(">BBQQQ", offset_size, ref, len(objects) if count is None else count, top, start))


# Bytes that are not an archive.
broken = [("nothing", b"", "notAPropertyList"), ("only the magic number", b"bplist00", "brokenPropertyList.truncated"),
          ("noise", bytes(range(7, 90)), "notAPropertyList"),
          ("a later version", b"bplist15" + bytes(64), "notAPropertyList"),
          ("a plain list", bplist([b"\x51a"]), "brokenArchive.topIsNotADictionary")]
for name, content, error in broken:
    vector("bytes", name, content, "NSString", error)
whole = bplist([b"\xA1\x01", b"\xA1\x00"])
vector("bytes", "a container that contains itself", whole, "NSString", "brokenPropertyList.containsItself")
vector("bytes", "a trailer with more objects than bytes", bplist([b"\x08"], count=2**63), "NSString", "brokenPropertyList.trailer")
vector("bytes", "a trailer whose top is outside", bplist([b"\x08"], top=1), "NSString", "brokenPropertyList.trailer")
vector("bytes", "an offset table at the end of the address space", bplist([b"\x08"], table=2**64 - 1), "NSString", "brokenPropertyList.trailer")
vector("bytes", "an offset into the trailer", bplist([b"\x08"], offsets=[9]), "NSString", "brokenPropertyList.offset")
for power, size in ((31, 4), (63, 8)):
    head = {4: b"\x12", 8: b"\x13"}[size] + (2**power - (size == 8)).to_bytes(size, "big")
    for kind, marker in (("array", b"\xAF"), ("dictionary", b"\xDF"), ("data", b"\x4F"), ("string", b"\x5F"), ("wide string", b"\x6F")):
        vector("bytes", f"{kind} with a count of 2^{power}", bplist([marker + head]), "NSString", "brokenPropertyList.size")
vector("bytes", "a count of 16 bytes", bplist([b"\xAF\x14" + b"\xFF" * 16]), "NSString", "brokenPropertyList.size")
vector("bytes", "a null marker", bplist([b"\x00"]), "NSString", "brokenPropertyList.marker")
vector("bytes", "a set", bplist([b"\xC0"]), "NSString", "brokenPropertyList.marker")
vector("bytes", "an integer of 32 bytes", bplist([b"\x15" + bytes(32)]), "NSString", "brokenPropertyList.marker")
vector("bytes", "a reference of 2^32", bplist([b"\x84\x01\0\0\0\0"]), "NSString", "brokenPropertyList.reference")
vector("bytes", "an element outside the table", bplist([b"\xA1\x07"]), "NSString", "brokenPropertyList.reference")
vector("bytes", "a high byte in an ASCII string", bplist([b"\x51\xE9"]), "NSString", "brokenPropertyList.text")
vector("bytes", "a key that is a number", bplist([b"\xD1\x01\x01", b"\x10\x01"]), "NSString", "brokenPropertyList.keyNotAString")
vector("bytes", "the same key twice in a dictionary", bplist([b"\xD2\x01\x02\x01\x01", b"\x51a", b"\x61\x00a"]), "NSString", "brokenPropertyList.keyTwice")
vector("bytes", "objects that overlap", bplist([b"\xA1\x01", b"\x5F\x10\x20" + b"a" * 32] + [b""] * 30,
       offsets=[8] + [10] * 31), "NSString", "brokenPropertyList.overlap")

# XML.
head = b'<?xml version="1.0" encoding="UTF-8"?>\n'
for name, text, error in [
    ("an entity of its own", b'<!DOCTYPE plist [<!ENTITY a "aaaa">]><plist><string>&a;</string></plist>', "entity"),
    ("an unknown entity", b"<plist><string>&a;</string></plist>", "entity"),
    ("a tag that does not match", b"<plist><array></dict></plist>", "mismatch"),
    ("an unknown element", b"<plist><object/></plist>", "element"),
    ("no end", b"<plist><array>", "truncated"),
    ("a key without a value", b"<plist><dict><key>a</key></dict></plist>", "markup"),
    ("a value without a key", b"<plist><dict><true/></dict></plist>", "markup"),
    ("an integer with an exponent", b"<plist><integer>1e3</integer></plist>", "number"),
    ("an integer of 129 bits", b"<plist><integer>340282366920938463463374607431768211456</integer></plist>", "number"),
    ("a real in hexadecimal", b"<plist><real>0x1p3</real></plist>", "number"),
    ("invalid base64", b"<plist><data>AAA</data></plist>", "base64"),
    ("a date in month 13", b"<plist><date>2001-13-01T00:00:00Z</date></plist>", "date"),
    ("bytes that are not UTF-8", b"<plist><string>\xFF</string></plist>", "text"),
    ("something after the end", b"<plist><true/></plist><plist/>", "trailing"),
    ("a negative reference", b"<plist><dict><key>CF$UID</key><integer>-1</integer></dict></plist>", "reference"),
    ("the same key twice in a dictionary in XML", b"<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>", "keyTwice"),
]:
    vector("xml", name, head + text, "NSString", "brokenPropertyList." + error)
vector("xml", "another encoding", b'<?xml version="1.0" encoding="UTF-16"?><plist><true/></plist>', "NSString", "brokenPropertyList.encoding")

# The envelope.
for name, error, change in [
    ("no archiver", "noArchiver", {"$archiver": None}), ("an archiver that is a number", "noArchiver", {"$archiver": 1}),
    ("no version", "noVersion", {"$version": None}), ("another version", "otherVersion", {"$version": 100001}),
    ("no top", "noTop", {"$top": None}), ("a top that is an array", "noTop", {"$top": []}),
    ("no objects", "noObjects", {"$objects": None}), ("objects in a dictionary", "noObjects", {"$objects": {}}),
    ("no objects at all", "noNull", {"$objects": []}), ("no null", "noNull", {"$objects": ["x", "y"]}),
]:
    vector("envelope", name, archive("x", **change), "NSString", "brokenArchive." + error)
# Each subclass of NSKeyedArchiver writes its own name.
vector("envelope", "another archiver", archive("x", **{"$archiver": "Someone"}), "NSString", value='"x"')
vector("envelope", "a root that is nil", archive(top={"root": uid(0)}), "NSString", value="nil")
vector("envelope", "no root", archive("x", top={"other": uid(1)}), "NSString", "missingValue", "root")
vector("envelope", "a root that is not a reference", archive("x", top={"root": []}), "NSString", "wrongType", "root")
vector("envelope", "an object outside the table", archive("x", top={"root": uid(9)}), "NSString", "brokenArchive.referenceOutOfRange")
vector("envelope", "an array in the table", archive([]), "NSString", "brokenArchive.containerInTable")

# Classes.
one("a class that is not allowed", "NSArray", "NSThread", "classRefused", "root", group="class")
one("the class of everything", "NSArray", "NSObject", "classRefused", "root", group="class")
one("a class without a name", "NSArray", "", "classRefused", "root", group="class")
vector("class", "a class with a long name", None, "NSArray", "classRefused", "root", generator="longName", count=2_048)
one("a class with a mangled name", "NSArray", "_TtC4Evil4Evil", "classRefused", "root", group="class")
one("a predicate", "NSArray", "NSPredicate", "classRefused", "root", group="class")
one("a private subclass of data", "NSData NSString", "_NSDataFileBackedFuture", "classRefused", "root", group="class")
vector("class", "a nested class that is not allowed",
       archive(obj(2, NS__objects=[uid(3)]), cls("NSArray"), obj(4), cls("NSProgress")), "NSArray", "classRefused", "root → NS.objects[0]")
vector("class", "a false claim of an allowed superclass", archive(obj(2), cls("Evil", "NSArray")), "NSArray", "classRefused", "root")
vector("class", "a false hint of an allowed class", archive(obj(2), cls("Evil", **{"$classhints": ["NSArray"]})), "NSArray", "classRefused", "root")
vector("class", "a class outside the table", archive(obj(7)), "NSArray", "brokenArchive.referenceOutOfRange")
vector("class", "a class that is a string", archive(obj(2), "NSArray"), "NSArray", "brokenArchive.classIsNotAClass")
vector("class", "no class", archive({"a": 1}), "NSArray", "brokenArchive.noClass")
vector("class", "an inline class name", archive({"$class": "NSArray"}), "NSArray", "brokenArchive.classIsNotAReference")
vector("class", "a name that is a number", archive(obj(2), {"$classname": 1}), "NSArray", "brokenArchive.classNameNotAString")
vector("class", "hints that are no strings", archive(obj(2), cls("NSArray", **{"$classhints": [1]})), "NSArray", "brokenArchive.hintsNotStrings")
vector("class", "a reference to a class", archive(cls("NSArray")), "NSArray", "brokenArchive.referenceToClass")
vector("class", "a string where an array was asked", archive("x"), "NSArray", "classRefused", "root")
vector("class", "a string in an array of numbers", archive(obj(2, NS__objects=[uid(3)]), cls("NSArray"), "x"),
       "NSArray NSNumber", "classRefused", "root → NS.objects[0]")
vector("class", "a number inline where a string was asked", archive(top={"root": 5}), "NSString", "classRefused", "root")
vector("class", "an immutable array where a mutable one was asked", archive(obj(2, NS__objects=[]), cls("NSArray")), "NSMutableArray", "classRefused", "root")
vector("class", "a mutable array where an immutable one was asked",
       archive(obj(2, NS__objects=[]), cls("NSMutableArray", "NSArray")), "NSArray", value="[]")
box = lambda a, b, *more: archive(obj(2, a=a, b=b), cls("SecureCodingTests.Box"), *more)
vector("class", "a second field whose class only the first allows", box(uid(3), uid(4), obj(5), obj(5), cls("SecureCodingTests.Evil")),
       "Box", "classRefused", "root → b", allow="Box Evil")
vector("class", "one object through two fields, of which only the first allows it", box(uid(3), uid(3), obj(4), cls("SecureCodingTests.Evil")),
       "Box", "classRefused", "root → b", allow="Box Evil")
vector("class", "an array in an array of objects", archive(obj(2, list=uid(3)), cls("SecureCodingTests.ListBox"),
       obj(4, NS__objects=[uid(5)]), cls("NSArray"), obj(4, NS__objects=[])), "ListBox", "classRefused", "root → list → NS.objects[0]")
vector("class", "the class of everything on the list", archive("x"), "NSString", "unusableClass.everyClass", allow="NSObject NSString")
vector("class", "the class of everything at a call", archive(obj(2, any=uid(3)), cls("SecureCodingTests.AnyBox"), "x"), "AnyBox", "unusableClass.everyClass")
vector("class", "a class that is not secure on the list", archive("x"), "NSString", "unusableClass.notSecure", allow="Insecure")
vector("class", "a class that says it is not secure on the list", archive("x"), "NSString", "unusableClass.notSecure", allow="Declined")
vector("class", "a subclass of a container on the list", archive("x"), "NSString", "unusableClass.foundationSubclass", allow="Subset")
vector("class", "a class without coding on the list", archive("x"), "NSString", "unusableClass.notCoding", allow="Plain")
vector("class", "a URL through its forgotten key", archive(obj(2, NS__minimalBookmarkData=data(b"book")), cls("NSURL")), "NSURL", "missingValue", "root → NS.relative")
vector("class", "an object that its class refuses", archive(obj(2), cls("SecureCodingTests.Address")), "Address", "refusedByClass", "root")

# Objects that refer back to themselves.
for name, fields in [("NSArray", {"NS.objects": [uid(1)]}), ("NSMutableArray", {"NS.objects": [uid(1)]}),
                     ("NSDictionary", {"NS.keys": [uid(3)], "NS.objects": [uid(1)]}), ("NSSet", {"NS.objects": [uid(1)]}),
                     ("NSURL", {"NS.base": uid(1), "NS.relative": uid(3)}),
                     ("NSError", {"NSDomain": uid(3), "NSCode": 1, "NSUserInfo": uid(4)})]:
    more = ["k", obj(5, NS__keys=[uid(3)], NS__objects=[uid(1)]), cls("NSDictionary")] if name == "NSError" else ["k"]
    one(f"{name} that contains itself", f"{name} NSString", name, "cycle", group="cycle", fields=fields, more=more)
vector("cycle", "a user object that refers back to itself", archive(obj(2, next=uid(3)), cls("SecureCodingTests.Chain"), obj(2, next=uid(1))),
       "Chain", "cycle", "root → next → next")

# Limits.
limit = lambda name, generator, count, error, ask="NSArray NSSet NSString", **kw: vector(
    "limit", name, None, ask, "overLimit." + error, generator=generator, count=count, **kw)
for count in (200, 10_000, 100_000):
    limit(f"{count} nested arrays", "nestedArrays", count, "depth")
limit("600 nested containers of a binary list", "nestedContainers", 600, "nesting")
limit("600 nested containers of an XML list", "nestedXML", 600, "nesting")
limit("a list that unfolds to billions", "unfoldingContainers", 30, "values")
limit("references that unfold to billions", "unfoldingReferences", 40, "references")
limit("sets in sets", "setsOfSets", 25, "comparisons", limits={"references": 2**60})
limit("data with one hash", "equalData", 900, "comparisons", ask="NSSet NSData")
for name in ("NSSet", "NSMutableSet"):
    limit(f"{name} nested 16 deep", "nestedSets:" + name, 16, "comparisons", ask=name + " NSString")
vector("limit", "sets in sets eight deep", None, "NSSet NSString", value="something else", generator="nestedSets:NSSet", count=8)
limit("dictionaries of dictionaries that share", "sharedDictionaries", 22, "comparisons", ask="NSDictionary NSString")
limit("arrays that share arrays", "sharedArrays", 18, "comparisons")
limit("URLs relative to each other", "relativeURLs", 100, "expansion", ask="NSURL")
limit("sets of emoji in an expression", "emojiPattern", 100, "comparisons", ask="NSRegularExpression")
limit("properties in an expression, case ignored", "propertyPattern", 5000, "comparisons", ask="NSArray NSRegularExpression")
limit("repetitions in an expression", "repeatingPattern", 40, "comparisons", ask="NSArray NSRegularExpression")
limit("inverted sets of characters", "invertedSets", 80, "comparisons", ask="NSArray NSCharacterSet")
limit("sets of characters in every plane", "planeSets", 400, "expansion", ask="NSArray NSCharacterSet")
limit("a set that counts 10^9", "countedSet", 10**9, "elements", ask="NSCountedSet NSString")
limit("a set that counts 10^6", "countedSet", 10**6, "comparisons", ask="NSCountedSet NSString")
limit("mutable strings that share one text", "sharedText", 2000, "expansion", ask="NSArray NSString")
limit("mutable data that share one mutable data", "sharedData", 40, "expansion", ask="NSArray NSData")
limit("index paths that share one mutable data", "sharedIndexData", 10, "expansion", ask="NSArray NSIndexPath")
limit("mutable strings that share one text, after empty sets of characters", "emptySets", 200, "expansion", ask="NSArray NSCharacterSet NSString")
limit("600 runs with 1000 attributes", "attributeRuns", 600, "comparisons", ask="NSAttributedString NSArray NSDictionary NSString")
limit("more bytes than allowed", "text", 4000, "inputBytes", limits={"inputBytes": 4000})
limit("a string longer than allowed", "text", 4000, "stringBytes", limits={"stringBytes": 3999})
limit("data longer than allowed", "bytes", 4000, "dataBytes", ask="NSData", limits={"dataBytes": 3999})
limit("more elements than allowed", "flatArray", 300, "elements", limits={"elements": 299})
limit("a class's name longer than allowed", "longName", 2_049, "classNameBytes")
limit("more objects than allowed", "distinctArray", 300, "objects", limits={"objects": 300})
limit("more values than allowed", "flatArray", 300, "values", limits={"values": 299})
vector("limit", "an array at the deepest", None, "NSArray", value="[" * 127 + "[]" + "]" * 127, generator="nestedArrays", count=128)

# Foundation values that are wrong, missing, or easy to get wrong.
one("a string without text", "NSString", "NSString", "missingValue", "root → NS.string")
one("a string whose text is a number", "NSString", "NSString", "wrongType", "root → NS.string", fields={"NS.string": 5})
one("a mutable string in bytes", "NSString", "NSMutableString", value='"é"', fields={"NS.bytes": data("é".encode())})
one("a mutable string in bytes that are not UTF-8", "NSString", "NSMutableString", "invalidValue", fields={"NS.bytes": data(b"\xFF")})
one("mutable data by reference", "NSData", "NSMutableData", value="<0102>", fields={"NS.data": uid(3)}, more=[data(b"\1\2")])
one("an error without a domain", "NSError", "NSError", "missingValue", "root → NSDomain", fields={"NSCode": 1})
one("an error whose domain is a number", "NSError", "NSError", "wrongType", "root → NSDomain", fields={"NSDomain": uid(3), "NSCode": 1}, more=[5])
one("an error", "NSError", "NSError", value="error d 7", fields={"NSDomain": uid(3), "NSCode": 7, "NSUserInfo": uid(0)}, more=["d"])
decimal = lambda **kw: {**{"NS.exponent": -2, "NS.length": 2, "NS.negative": True, "NS.compact": True, "NS.mantissa.bo": 1,
                           "NS.mantissa": data(b"\x39\x30\x01\x00" + b"\xEE" * 12)}, **{k.replace("__", "."): v for k, v in kw.items()}}
one("a decimal number", "NSDecimalNumber", "NSDecimalNumber", value="-778.81", fields=decimal())
one("a decimal number of a big-endian machine", "NSDecimalNumber", "NSDecimalNumberPlaceholder", value="-778.81",
    fields=decimal(**{"NS__mantissa__bo": 2, "NS__mantissa": data(b"\x30\x39\x00\x01" + bytes(12))}))
one("a decimal NaN", "NSDecimalNumber", "NSDecimalNumber", value="NaN", fields=decimal(NS__length=0))
one("a decimal number of negative length", "NSDecimalNumber", "NSDecimalNumber", "invalidValue", fields=decimal(NS__length=-1))
one("a decimal number with a short mantissa", "NSDecimalNumber", "NSDecimalNumber", "invalidValue", fields=decimal(NS__mantissa=data(b"12")))
one("a decimal number whose mantissa is text", "NSDecimalNumber", "NSDecimalNumber", "wrongType", fields=decimal(NS__mantissa=uid(3)), more=["123"])
one("an index set of 2^62 ranges", "NSIndexSet", "NSIndexSet", "invalidValue", fields={"NSRangeCount": big(2**62), "NSRangeData": data(b"\1\1")})
one("an index set with a number of ten bytes", "NSIndexSet", "NSIndexSet", "invalidValue", fields={"NSRangeCount": 2, "NSRangeData": data(b"\xFF" * 9 + b"\x7F\1\5\1")})
one("an index set that ends in a number", "NSIndexSet", "NSIndexSet", "invalidValue", fields={"NSRangeCount": 2, "NSRangeData": data(b"\1\1\5\x81")})
one("an index set whose ranges overlap", "NSIndexSet", "NSIndexSet", "invalidValue", fields={"NSRangeCount": 2, "NSRangeData": data(b"\1\4\2\1")})
one("an index set", "NSIndexSet", "NSMutableIndexSet", value="{1 2 300}", fields={"NSRangeCount": 2, "NSRangeData": uid(3)}, more=[obj(4, NS__data=data(b"\1\2\xAC\2\1")), cls("NSMutableData")])
one("an index path", "NSIndexPath", "NSIndexPath", value="path 5 300", fields={"NSIndexPathLength": 2, "NSIndexPathData": data(b"\5\xAC\2")})
one("an expression with unknown options", "NSRegularExpression", "NSRegularExpression", "invalidValue", fields={"NSPattern": uid(3), "NSOptions": -1}, more=["a"])
one("an expression that does not compile", "NSRegularExpression", "NSRegularExpression", "invalidValue", fields={"NSPattern": uid(3), "NSOptions": 0}, more=["("])
one("a character set with a negative range", "NSCharacterSet", "NSCharacterSet", "invalidValue", fields={"NSRange": -1})
one("a character set with half a bitmap", "NSCharacterSet", "NSCharacterSet", "invalidValue", fields={"NSBitmap": data(bytes(100))})
# Values that Foundation on Linux accepts but that later end the process.
url = lambda text, base=0: {"NS.base": uid(base), "NS.relative": text}
for text in ("", "http!://x", "http://[::1", "1:", "http://h:x"):
    one(f"a URL of '{text}'", "NSURL", "NSURL", "invalidValue", "root", fields=url(text))
    one(f"a URL relative to '{text}'", "NSURL", "NSURL", "invalidValue", "root → NS.base", fields=url("a", 3), more=[{**url(text), "$class": uid(2)}])
one("a dictionary whose key is a URL that resolves to two things", "NSDictionary NSURL", "NSDictionary", "invalidValue", "root", fields={"NS.keys": [uid(3)], "NS.objects": [uid(3)]},
    more=[{**url("//h", 4), "$class": uid(5)}, {**url("file://h/a"), "$class": uid(5)}, cls("NSURL")])
holders = {"NSError": ({"NSDomain": "d", "NSCode": 1, "NSUserInfo": uid(3)}, "root → NSUserInfo → NS.objects[0]"),
           "NSNotification": ({"NS.name": "n", "NS.userinfo": uid(3)}, "root → NS.userinfo → NS.objects[0]"),
           "NSAttributedString": ({"NSString": "ab", "NSAttributes": uid(3)}, "root → NSAttributes → NS.objects[0]")}
for name, (fields, path) in holders.items():
    one(f"an invalid URL in {name}", name + " NSDictionary NSString NSURL", name, "invalidValue", path, fields=fields,
        more=[obj(4, NS__keys=["k"], NS__objects=[uid(5)]), cls("NSDictionary"), {**url("1:"), "$class": uid(6)}, cls("NSURL")])
for text in ("nan", "inf", "-inf", "1e19", "-1e300"):
    measurement = [obj(4, NS__value=real(text), NS__unit=uid(5)), cls("NSMeasurement"), obj(6, NS__symbol="m"), cls("NSUnit")]
    one(f"a set of a measurement of {text}", "NSSet NSMeasurement", "NSSet", "invalidValue", "root", fields={"NS.objects": [uid(3)]}, more=measurement)
    one(f"a dictionary whose key is a measurement of {text}", "NSDictionary NSMeasurement", "NSDictionary", "invalidValue", "root",
        fields={"NS.keys": [uid(3)], "NS.objects": [uid(3)]}, more=measurement)
one("an error of POSIX with a code of 33 bits", "NSError", "NSError", "invalidValue", "root", fields={"NSDomain": "NSPOSIXErrorDomain", "NSCode": 2**32 + 5})
one("a date whose time is NaN", "NSDate", "NSDate", "invalidValue", "root", fields={"NS.time": real("nan")})
one("an ordered set with NaN", "NSOrderedSet NSNumber", "NSOrderedSet", value="something else", fields={"NS.object.0": uid(3)}, more=[real("nan")])
one("a set of one measurement in two units", "NSSet NSMeasurement NSUnitLength", "NSSet", "invalidValue", "root", fields={"NS.objects": [uid(3), uid(4)]},
    allow="NSSet NSMeasurement", more=[obj(5, NS__value=real("1"), NS__unit=uid(6)), obj(5, NS__value=real("1000"), NS__unit=uid(7)), cls("NSMeasurement"),
    obj(8, NS__symbol="km", NS__converter=uid(9)), obj(8, NS__symbol="m", NS__converter=uid(10)), cls("NSUnitLength"),
    obj(11, NS__coefficient=real("1000"), NS__constant=real("0")), obj(11, NS__coefficient=real("1"), NS__constant=real("0")), cls("NSUnitConverterLinear")])
one("a set of two equal attributed strings", "NSSet NSAttributedString", "NSSet", "invalidValue", "root", fields={"NS.objects": [uid(3), uid(4)]},
    more=[obj(5, NSString="a"), obj(5, NSString="a"), cls("NSAttributedString")])
for name, ask in (("NSSet", "NS.objects"), ("NSDictionary", "NS.keys")):
    one(f"two spellings of one text in {name}", name + " NSString", name, "invalidValue", "root", fields={"NS.objects": [uid(3), uid(4)], ask: [uid(3), uid(4)]},
        more=["\u00e9", "e\u0301"])
one("a set of two nulls", "NSSet NSNull", "NSSet", "invalidValue", "root", fields={"NS.objects": [uid(3), uid(4)]}, more=[obj(5), obj(5), cls("NSNull")])
one("a set of a counted set", "NSSet NSCountedSet", "NSSet", "invalidValue", "root", fields={"NS.objects": [uid(3)]}, more=[{"NS.count": 0, "$class": uid(4)}, cls("NSCountedSet")])
one("an ordered set of a dictionary", "NSOrderedSet NSDictionary", "NSOrderedSet", value="something else", fields={"NS.object.0": uid(3)},
    more=[obj(4, NS__keys=[], NS__objects=[]), cls("NSDictionary")])
one("a mutable ordered set of a dictionary", "NSMutableOrderedSet NSDictionary", "NSMutableOrderedSet", "invalidValue", "root", fields={"NS.object.0": uid(3)},
    more=[obj(4, NS__keys=[], NS__objects=[]), cls("NSDictionary")])
date_fields = [obj(7, NS__time=real("10")), cls("NSDate")]
attributes = {"NSValue": [{"NS.special": 4, "NS.rangeval.location": 1, "NS.rangeval.length": 2}], "NSDateComponents": [{"NS.year": 2024}],
              "NSError": [{"NSDomain": "d", "NSCode": 1}], "NSNull": [{}], "NSPersonNameComponents": [{}], "NSUUID": [{"NS.uuidbytes": data(bytes(16))}],
              "NSLocale": [{"NS.identifier": "de_CH"}], "NSTimeZone": [{"NS.name": "UTC"}], "NSCalendar": [{"NS.identifier": "gregorian"}],
              "NSUnitConverterLinear": [{"NS.coefficient": real("1"), "NS.constant": real("0")}], "SecureCodingTests.Address": [{"city": uid(8)}]}
for name, (fields,) in attributes.items():
    ask = name.split(".")[-1]
    for runs in (1, 2):
        one(f"an attributed string with {ask} in {runs} runs", f"NSAttributedString NSArray NSDictionary NSString {ask}", "NSAttributedString", "invalidValue", "root",
            fields={"NSString": "ab", "NSAttributes": uid(3 if runs == 2 else 4), **({"NSAttributeInfo": data(b"\1\0\1\1")} if runs == 2 else {})},
            more=[obj(10, NS__objects=[uid(4), uid(5)]), obj(9, NS__keys=["k"], NS__objects=[uid(6)]), obj(9, NS__keys=["k"], NS__objects=[uid(11)]),
                  {**fields, "$class": uid(7)}, cls(name), "x", cls("NSDictionary"), cls("NSArray"), {**fields, "$class": uid(7)}])
for name, bitmap in (("dense", b"\xAA" * 8192), ("dense in two planes", b"\xAA" * 8192 + b"\x02" + b"\x55" * 8192), ("full but for one", b"\xFF" * 8191 + b"\x7F")):
    one(f"a character set whose bitmap is {name}", "NSCharacterSet", "NSCharacterSet", value="characters" + (" a b c" if name[0] == "f" else " a c"), fields={"NSBitmap": data(bitmap)})
one("an index set up to the last index", "NSIndexSet", "NSIndexSet", value="ranges 0 50 9223372036854775757 50", fields={"NSRangeCount": 2, "NSRangeData": data(b"\0\x32" + b"\xCD" + b"\xFF" * 7 + b"\x7F" + b"\x32")})
one("an index set of 2^62 indexes", "NSIndexSet", "NSIndexSet", value=f"ranges 5 {2**62}", fields={"NSRangeCount": 1, "NSLocation": 5, "NSLength": big(2**62)})
one("a range of 2^62", "NSValue", "NSValue", value=f"range 1 {2**62}", fields={"NS.special": 4, "NS.rangeval.location": 1, "NS.rangeval.length": big(2**62)})
one("a character set", "NSCharacterSet", "NSCharacterSet", value="characters a b", fields={"NSString": "ab"})
one("a mutable character set", "NSCharacterSet", "NSMutableCharacterSet", value="characters a b", fields={"NSString": "ab"})
one("a checking result without anything", "NSTextCheckingResult", "NSTextCheckingResult", "missingValue", "root → NSRegularExpression")
one("an ordered set with nil", "NSOrderedSet NSString", "NSOrderedSet", "missingValue", "root → NS.object.0", fields={"NS.object.0": uid(0)})
one("an ordered set with an object outside the table", "NSOrderedSet NSString", "NSOrderedSet", "brokenArchive.referenceOutOfRange", fields={"NS.object.0": uid(99)})
for encoding in ("@", "[99999999999i]", "{s}", "^v", "", "[-4i]", "[0i]", "[i]", "[4@]", "i4", "*", "#", ":", "?"):
    one(f"a value of type '{encoding}'", "NSValue", "NSValue", "invalidValue", "root", fields={"$0": uid(3), "$1": 1}, more=[encoding])
one("a value without its number", "NSValue", "NSValue", "missingValue", fields={"$0": uid(3)}, more=["s"])
one("a value whose number does not fit", "NSValue", "NSValue", "numberDoesNotFit", fields={"$0": uid(3), "$1": 70000}, more=["s"])
one("an array of C by itself", "NSValue", "_NSKeyedCoderOldStyleArray", "invalidValue", fields={"NS.count": -1})
for count in (-1, 2**62, 4):
    one(f"an array of C of {count} numbers", "NSValue", "NSValue", "invalidValue", fields={"$0": uid(3), "$1": uid(4)},
        more=["[3i]", {"$class": uid(5), "NS.count": big(count), "NS.size": 4, "NS.type": 300, "$0": 1, "$1": 2, "$2": 3}, cls("_NSKeyedCoderOldStyleArray")])
one("a range with a negative length", "NSValue", "NSValue", "invalidValue", fields={"NS.special": 4, "NS.rangeval.location": 1, "NS.rangeval.length": -1})
one("a rectangle of words", "NSValue", "NSValue", "invalidValue", fields={"NS.special": 3, "NS.rectval": "{{a, b}, {c, d}}"})
one("a point", "NSValue", "NSValue", value="point 1.5 -2.0", fields={"NS.special": 1, "NS.pointval": uid(3)}, more=["{1.5, -2}"])
pair = lambda keys, values: {"NS.keys": [uid(k) for k in keys], "NS.objects": [uid(v) for v in values]}
one("a dictionary with more keys than values", "NSDictionary NSString", "NSDictionary", "invalidValue", fields=pair([3, 4, 5], [3]), more=["a", "b", "c"])
one("a dictionary with a value that is nil", "NSDictionary NSString", "NSDictionary", "missingValue", "root → NS.objects[0]", fields=pair([3, 4], [0, 3]), more=["a", "b"])
one("a dictionary with equal keys", "NSDictionary NSString", "NSDictionary", "invalidValue", fields=pair([3, 4], [3, 4]), more=["a", "a"])
one("a set of errors, which have no hash", "NSSet NSError", "NSSet", "invalidValue", "root", fields={"NS.objects": [uid(3)]}, more=[{"NSDomain": uid(4), "NSCode": 1, "$class": uid(5)}, "d", cls("NSError")])
one("a dictionary of decimal numbers, which have no hash", "NSDictionary NSDecimalNumber", "NSDictionary", "invalidValue", "root", fields=pair([3], [3]), more=[{**decimal(), "$class": uid(4)}, cls("NSDecimalNumber")])
for name, class_name, fields in (("a dictionary", "NSDictionary", {"NS.keys": [], "NS.objects": []}), ("an array", "NSArray", {"NS.objects": []}), ("a counted set", "NSCountedSet", {"NS.count": 0})):
    one(f"a dictionary whose key is {name}", "NSDictionary " + class_name, "NSDictionary", "invalidValue", "root", fields=pair([3], [3]), more=[{**fields, "$class": uid(4)}, cls(class_name)])
one("a dictionary whose key is a date interval", "NSDictionary NSDateInterval NSDate", "NSDictionary", "invalidValue", "root", fields=pair([3], [3]),
    more=[obj(4, NS__startDate=uid(5), NS__endDate=uid(5)), cls("NSDateInterval"), obj(6, NS__time=real("10")), cls("NSDate")])
one("a set of an array", "NSSet NSArray", "NSSet", "invalidValue", "root", fields={"NS.objects": [uid(3)]}, more=[obj(4, NS__objects=[]), cls("NSArray")])
one("an array with nil", "NSArray NSString", "NSArray", "missingValue", "root → NS.objects[0]", fields={"NS.objects": [uid(0)]})
one("an array with a value inline", "NSArray NSString", "NSArray", value='["x"]', fields={"NS.objects": ["x"]})
one("an array with an array inline", "NSArray NSString", "NSArray", "wrongType", "root → NS.objects[0]", fields={"NS.objects": [[]]})
one("an array whose elements are a string", "NSArray NSString", "NSArray", "wrongType", "root → NS.objects", fields={"NS.objects": "x"})
one("a date without a time", "NSDate", "NSDate", "missingValue", "root → NS.time")
one("a date whose time is a string", "NSDate", "NSDate", "wrongType", "root → NS.time", fields={"NS.time": "0"})
one("a date interval", "NSDateInterval NSDate", "NSDateInterval", value="interval 10.0 5.0", fields={"NS.startDate": uid(3), "NS.endDate": uid(4)},
    more=[obj(5, NS__time=real("10")), obj(5, NS__time=real("15")), cls("NSDate")])
one("a date interval that ends first", "NSDateInterval NSDate", "NSDateInterval", "invalidValue", fields={"NS.startDate": uid(3), "NS.endDate": uid(4)},
    more=[obj(5, NS__time=real("10")), obj(5, NS__time=real("5")), cls("NSDate")])
one("an attributed string without attributes", "NSAttributedString", "NSAttributedString", value="text hello", fields={"NSString": uid(3)}, more=["hello"])
one("an attributed string with a run beyond its end", "NSAttributedString", "NSAttributedString", "invalidValue",
    fields={"NSString": uid(3), "NSAttributes": uid(4), "NSAttributeInfo": data(b"\x63\0")}, more=["hello", obj(5, NS__objects=[uid(6)]), cls("NSArray"), obj(7, NS__keys=[], NS__objects=[]), cls("NSDictionary")])
one("date components without a time zone", "NSDateComponents", "NSDateComponents", value="components 2024", fields={"NS.year": 2024})
one("a UUID of 15 bytes", "NSUUID", "NSUUID", "invalidValue", fields={"NS.uuidbytes": data(bytes(15))})
one("an unknown time zone", "NSTimeZone", "NSTimeZone", "invalidValue", fields={"NS.name": uid(3)}, more=["Nowhere/Land"])
one("an unknown calendar", "NSCalendar", "NSCalendar", "invalidValue", fields={"NS.identifier": uid(3)}, more=["lunar"])
vector("value", "half of a surrogate pair", archive(top={"root": uid(1)}, **{"$objects": ["$null", {"$utf16": [97, 0xD83D]}]}), "NSString", "invalidValue", "root")

# Numbers: the stored value, the requested type, and the result.
fits, type_, bad = "numberDoesNotFit", "wrongType", None
for stored, asked, result in [
    (2**31 - 1, "int32", "2147483647"), (2**31, "int32", fits), (2**32, "int32", fits), (2**32 + 5, "int32", fits), (-2**31 - 1, "int32", fits),
    (2**63 - 1, "int64", str(2**63 - 1)), (-2**63, "int64", str(-2**63)), (2**63, "int64", fits), (2**64 - 1, "int64", fits), (2**64 - 1, "integer", fits),
    (2**100, "int64", fits), (2**100, "double", str(float(2**100))), (2**53 + 1, "double", fits), (2**53, "double", "9007199254740992.0"), (2**24 + 1, "float", fits),
    (real("1.9"), "int32", fits), (real("2.0"), "int32", "2"), (real("1e300"), "int64", fits), (real("nan"), "int64", fits), (real("inf"), "int32", fits),
    (real("9223372036854775808"), "int64", fits), (real("nan"), "double", "nan"), (real("0.1"), "float", "0.1"), (real("1e300"), "float", fits),
    ("12", "int32", type_), ([1], "int64", type_), (uid(0), "int32", type_), (True, "int32", "1"), (True, "double", type_), (True, "bool", "true"),
    (1, "bool", "true"), (0, "bool", "false"), (2, "bool", fits), (2**31 - 1, "bool", fits), (real("1"), "bool", type_), (None, "int32", "0"), (None, "bool", "false"), (None, "double", "0.0"),
]:
    top = {"root": uid(0)}
    if stored is not None:
        top["n"] = big(stored) if type(stored) is int and abs(stored) >= 2**53 else stored
    ok = result not in (fits, type_)
    vector("number", f"{json.dumps(stored)} as {asked}", archive(top=top), "NSNumber", None if ok else result, None if ok else "n",
           result if ok else None, call=asked)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "archives.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(v, ensure_ascii=False) for v in vectors) + "\n]\n")
print(len(vectors), "vectors")
