extension ArchiveTable {
  /// The shortest path from `$top` to the object with `number`, for an error.
  package func path(toObject number: Int) -> ArchivePath {
    var from = [Int](repeating: -1, count: records.count)
    var queue: [Int] = []
    for root in graph.roots where from[Int(root)] == -1 {
      from[Int(root)] = -2
      queue.append(Int(root))
    }
    var next = 0
    while next < queue.count, from[number] == -1 {
      for reference in graph.references(of: queue[next]) where from[Int(reference)] == -1 {
        from[Int(reference)] = queue[next]
        queue.append(Int(reference))
      }
      next += 1
    }
    guard from[number] != -1 else { return ArchivePath([.object(number)]) }
    var parts: [[ArchivePath.Step]] = []
    var object = number
    while true {
      let parent = from[object]
      let dictionary = parent == -2 ? top : node(ofObject: parent)
      parts.append(steps(toObject: object, inDictionary: dictionary))
      if parent == -2 { return ArchivePath(parts.reversed().flatMap { $0 }) }
      object = parent
    }
  }

  /// The key under which a dictionary refers to an object, and the position if the key holds an array.
  private func steps(toObject number: Int, inDictionary dictionary: Int) -> [ArchivePath.Step] {
    let node = list.nodes[dictionary]
    for (key, value) in zip(list.keys(node), list.values(node)) {
      let found = list.nodes[Int(value)]
      let step = ArchivePath.Step.key(fieldName(key))
      if found.kind == .uid, found.payload == UInt64(number) { return [step] }
      guard found.kind == .array else { continue }
      let position = list.elements(found).enumerated().first {
        list.nodes[Int($0.element)].kind == .uid && list.nodes[Int($0.element)].payload == UInt64(number)
      }
      if let position { return [step, .index(position.offset)] }
    }
    return [.object(number)]
  }

  /// A key as the program named it: archives put an extra `$` before keys that begin with one.
  package func fieldName(_ key: UInt32) -> String { Self.programsName(keys.name(key)) ?? keys.name(key) }

  /// The keys that a program gave in a dictionary, as the program named them, without the archive's own such as `$0`.
  package func programsKeys(ofDictionary position: Int) -> [String] {
    list.keys(list.nodes[position]).compactMap { Self.programsName(keys.name($0)) }
  }

  /// The program's name for a key; nil for one of the archive's own keys. (Bytes are compared, because `$` followed by
  /// a combining mark is one character and not equal to `$`.)
  private static func programsName(_ key: String) -> String? {
    guard key.utf8.first == UInt8(ascii: "$") else { return key }
    return key.utf8.starts(with: "$$".utf8) ? String(decoding: key.utf8.dropFirst(), as: UTF8.self) : nil
  }
}
