/// Makes archives of Foundation's classes from a seed: nested containers, shared objects, hostile strings and numbers,
/// long chains, many equal objects, and fields that are missing, exchanged or of the wrong type.
struct ArchiveMaker {
  private var random: SeededGenerator
  private(set) var objects: [PlistValue] = []
  private var classes: [String: UInt64] = [:]
  private var made: [UInt64] = []
  private var left = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// The archive of this seed.
  mutating func archive() -> PlistValue {
    let root: UInt64
    switch random.below(40) {
    case 0: root = chain()
    case 1: root = layers()
    case 2: root = crowd()
    case 3, 4: root = member()
    default:
      left = 3 + random.below(14)
      root = object(depth: 0, named: random.below(3) == 0 ? nil : random.pick(Classes.containers + Classes.holders))
    }
    if random.below(2) == 0 { for _ in 0...random.below(3) { change() } }
    return .archive(objects, top: [("root", .uid(root))])
  }

  // MARK: Objects

  /// A new object, or an existing one.
  mutating func reference(depth: Int) -> PlistValue {
    if !made.isEmpty, random.below(6) == 0 { return .uid(random.pick(made)) }
    if left <= 0 || depth > 12 || random.below(3) == 0 { return random.below(8) == 0 ? scalar() : .uid(add(scalar())) }
    return .uid(object(depth: depth, named: nil))
  }

  /// Adds an object of a Foundation class with its fields.
  private mutating func object(depth: Int, named name: String?) -> UInt64 {
    left -= 1
    let name = name ?? random.pick(random.below(2) == 0 ? Classes.containers : Classes.all)
    let number = reserve()
    let fields = fields(of: name, depth: depth + 1)
    finish(number, fields, name)
    return number
  }

  private mutating func reserve() -> UInt64 {
    objects.append(.bool(false))
    return UInt64(objects.count)
  }

  private mutating func finish(_ number: UInt64, _ fields: [(String, PlistValue)], _ name: String) {
    objects[Int(number) - 1] = .dict(fields + [("$class", .uid(describe(name)))])
    made.append(number)
  }

  mutating func add(_ value: PlistValue) -> UInt64 {
    objects.append(value)
    made.append(UInt64(objects.count))
    return UInt64(objects.count)
  }

  private mutating func describe(_ name: String) -> UInt64 {
    if let number = classes[name] { return number }
    objects.append(.describe(name))
    classes[name] = UInt64(objects.count)
    return UInt64(objects.count)
  }

  mutating func make(_ name: String, _ fields: [(String, PlistValue)]) -> PlistValue {
    let number = reserve()
    finish(number, fields, name)
    return .uid(number)
  }

  private mutating func references(_ most: Int, depth: Int) -> [PlistValue] {
    (0..<random.below(most + 1)).map { _ in reference(depth: depth) }
  }

  // MARK: Scalars

  private mutating func scalar() -> PlistValue {
    switch random.below(6) {
    case 0: .bool(random.below(2) == 0)
    case 1: integer()
    case 2: real()
    case 3: .data(bytes())
    default: text()
    }
  }

  mutating func integer() -> PlistValue {
    .int(random.below(3) == 0 ? random.pick(Pool.integers) : Int128(random.below(20)))
  }
  mutating func real() -> PlistValue {
    .real(random.below(2) == 0 ? random.pick(Pool.reals) : Double(random.below(100)) / 4)
  }

  mutating func text() -> PlistValue {
    switch random.below(24) {
    case 0: .utf16([97, 0xD83D])
    case 1:
      .string(String(repeating: random.pick(["-", "é", "漢"]), count: 40 + random.below(200)) + random.pick(Pool.texts))
    case 2: .string(random.pick(Pool.addresses))
    default: .string(random.pick(Pool.texts))
    }
  }

  mutating func bytes() -> [UInt8] {
    let filler = random.below(6) == 0 ? Array(repeating: UInt8(7), count: 90 + random.below(100)) : []
    return filler
      + (0..<random.below(9)).map { _ in random.pick([0, 1, 2, 5, 0x7F, 0x80, 0xFF, UInt8(random.below(256))]) }
  }

  // MARK: Fields

  private mutating func fields(of name: String, depth: Int) -> [(String, PlistValue)] {
    switch name {
    case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet":
      return [("NS.objects", .array(references(4, depth: depth)))]
    case "NSDictionary", "NSMutableDictionary": return dictionary(depth: depth)
    case "NSOrderedSet", "NSMutableOrderedSet":
      return references(4, depth: depth).enumerated().map { ("NS.object.\($0.offset)", $0.element) }
    case "NSCountedSet":
      let members = references(3, depth: depth)
      return [("NS.count", .int(Int128(members.count)))]
        + members.enumerated().flatMap {
          [("NS.object\($0.offset)", $0.element), ("NS.count\($0.offset)", .int(Int128(1 + random.below(4))))]
        }
    case "NSAttributedString", "NSMutableAttributedString": return attributed(depth: depth)
    case "NSError":
      return [("NSDomain", text()), ("NSCode", integer()), ("NSUserInfo", information(depth: depth))]
    case "NSNotification":
      return [
        ("NS.name", text()), ("NS.object", reference(depth: depth)), ("NS.userinfo", information(depth: depth)),
      ]
    case "NSURL":
      let base = random.below(3) > 0 ? PlistValue.uid(0) : .uid(object(depth: depth, named: "NSURL"))
      return [("NS.base", base), ("NS.relative", .string(random.pick(Pool.addresses)))]
    default: return plainFields(of: name, depth: depth)
    }
  }

  private mutating func dictionary(depth: Int) -> [(String, PlistValue)] {
    let values = references(4, depth: depth)
    let keys = values.map { _ in random.below(3) == 0 ? reference(depth: depth) : PlistValue.uid(add(text())) }
    return [("NS.keys", .array(keys)), ("NS.objects", .array(values))]
  }

  private mutating func information(depth: Int) -> PlistValue {
    random.below(3) == 0 ? .uid(0) : .uid(object(depth: depth, named: "NSDictionary"))
  }

  private mutating func attributed(depth: Int) -> [(String, PlistValue)] {
    let runs = random.below(4)
    let text = (
      "NSString", PlistValue.string(String(repeating: random.pick(["x", "é", "😀"]), count: max(1, runs) * 2))
    )
    if runs == 0 { return [text] }
    if runs == 1 { return [text, ("NSAttributes", attributes(depth: depth))] }
    let dictionaries = (0..<runs).map { _ in attributes(depth: depth) }
    var pairs: [UInt8] = []
    for run in 0..<runs { pairs += [2, UInt8(random.below(4) == 0 ? random.below(runs) : run)] }
    return [
      text, ("NSAttributes", make("NSArray", [("NS.objects", .array(dictionaries))])),
      ("NSAttributeInfo", .data(pairs)),
    ]
  }

  private mutating func attributes(depth: Int) -> PlistValue {
    let keys = ["k", "l"].prefix(1 + random.below(2)).map { PlistValue.string($0) }
    let values = keys.map { _ in
      random.below(2) == 0 ? reference(depth: depth) : .uid(object(depth: depth, named: random.pick(Classes.leaves)))
    }
    return make("NSDictionary", [("NS.keys", .array(keys)), ("NS.objects", .array(values))])
  }

  // MARK: Costly shapes

  /// Nested containers, of random depth.
  private mutating func chain() -> UInt64 {
    let names = (0...random.below(2)).map { _ in
      random.pick(Classes.containers + ["NSURL", "NSError", "NSNotification"])
    }
    var below = reference(depth: 11)
    for level in 0..<(2 + random.below(130)) {
      below = make(names[level % names.count], around([below], names[level % names.count]))
    }
    guard case .uid(let number) = below else { return add(below) }
    return number
  }

  /// Layers of containers. Each container holds all or some of the layer below.
  private mutating func layers() -> UInt64 {
    let name = random.pick(Classes.containers)
    let other = random.pick(Classes.containers)
    let width = 2 + random.below(2)
    var below = (0..<width).map { PlistValue.uid(add(.string("\($0)"))) }
    for _ in 0..<(2 + random.below(24)) {
      below = (0..<width).map { skipped in
        let members = below.indices.filter { $0 != skipped || width == 2 }.map { below[$0] }
        let name = random.below(4) == 0 ? other : name
        return make(name, around(members, name))
      }
    }
    let root = random.pick(Classes.containers)
    guard case .uid(let number) = make(root, around(below, root)) else { return 0 }
    return number
  }

  /// A container, often one that hashes its elements, with one or two objects of any kind as elements or keys.
  private mutating func member() -> UInt64 {
    left = 6
    let name = random.pick(Classes.all)
    let members = (0...random.below(2)).map { _ in PlistValue.uid(object(depth: 4, named: name)) }
    let root = random.pick(Classes.containers)
    guard case .uid(let number) = make(root, around(members, root)) else { return 0 }
    return number
  }

  /// Many objects of the same kind in one container, often with equal hashes.
  private mutating func crowd() -> UInt64 {
    let name = random.pick(Classes.all)
    let filler = String(repeating: random.pick(["-", "é"]), count: 40)
    let kind = random.below(3)
    left = 600
    let members = (0..<(16 + random.below(400))).map { index in
      switch kind {
      case 0: return PlistValue.uid(add(.string(filler + "\(1000 + index)" + filler + filler)))
      case 1: return .uid(add(.data(Array(repeating: 1, count: 90) + [UInt8(index & 0xFF), UInt8(index >> 8)])))
      default: return .uid(object(depth: 12, named: name))
      }
    }
    let root = random.pick(Classes.containers)
    guard case .uid(let number) = make(root, around(members, root)) else { return 0 }
    return number
  }

  /// The fields of a container that holds `members`.
  private mutating func around(_ members: [PlistValue], _ name: String) -> [(String, PlistValue)] {
    switch name {
    case "NSDictionary", "NSMutableDictionary":
      let keys = random.below(2) == 0 ? members : members.indices.map { .uid(add(.string("\($0)"))) }
      return [("NS.keys", .array(keys)), ("NS.objects", .array(members))]
    case "NSOrderedSet", "NSMutableOrderedSet":
      return members.enumerated().map { ("NS.object.\($0.offset)", $0.element) }
    case "NSCountedSet":
      return [("NS.count", .int(Int128(members.count)))]
        + members.enumerated().flatMap {
          [("NS.object\($0.offset)", $0.element), ("NS.count\($0.offset)", .int(2))]
        }
    case "NSURL": return [("NS.base", members[0]), ("NS.relative", .string("a/b?c"))]
    case "NSError":
      let user = make("NSDictionary", [("NS.keys", .array([.string("k")])), ("NS.objects", .array(members))])
      return [("NSDomain", .string("d")), ("NSCode", .int(1)), ("NSUserInfo", user)]
    case "NSNotification": return [("NS.name", .string("n")), ("NS.object", members[0])]
    default: return [("NS.objects", .array(members))]
    }
  }

  // MARK: Changes

  /// Damages one object: a field is removed, gets another value or refers elsewhere, or the object gets another class.
  private mutating func change() {
    let index = random.below(objects.count)
    guard case .dict(var fields) = objects[index], !fields.isEmpty else {
      objects[index] = scalar()
      return
    }
    let field = random.below(fields.count)
    switch random.below(5) {
    case 0: fields.remove(at: field)
    case 1: fields[field].1 = .uid(UInt64(random.below(objects.count + 1)))
    case 2 where fields[field].0 == "$class": fields[field].1 = .uid(describe(random.pick(Classes.all)))
    case 3:
      guard case .array(var elements) = fields[field].1, !elements.isEmpty else { fallthrough }
      elements[random.below(elements.count)] = .uid(UInt64(random.below(objects.count + 1)))
      fields[field].1 = .array(elements)
    default: fields[field].1 = scalar()
    }
    objects[index] = .dict(fields)
  }

  mutating func pick<T>(_ choices: [T]) -> T { random.pick(choices) }
  mutating func below(_ bound: Int) -> Int { random.below(bound) }
}

extension SeededGenerator {
  mutating func below(_ bound: Int) -> Int { bound > 1 ? Int(next() % UInt64(bound)) : 0 }
  mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
