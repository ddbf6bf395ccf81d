/// The current position of a walk through a JSON text, and the positions it has marked. Marks share the steps that lead
/// to them, so memory grows with the number of steps and not with the length of whole paths.
struct PlaceStack {
  enum Step {
    case key(String)
    case index(Int)
  }

  private var open: [(step: Step, mark: Int?)] = []
  private var marks: [(parent: Int, step: Step)] = []

  var count: Int { open.count }

  mutating func push(_ step: Step) { open.append((step, nil)) }
  mutating func pop() { open.removeLast() }

  /// Remembers this position; -1 is the top.
  mutating func mark() -> Int {
    var first = open.count
    while first > 0, open[first - 1].mark == nil { first -= 1 }
    var parent = first == 0 ? -1 : open[first - 1].mark ?? -1
    for index in first..<open.count {
      marks.append((parent, open[index].step))
      parent = marks.count - 1
      open[index].mark = parent
    }
    return parent
  }

  /// The JSON pointer (RFC 6901) to a marked position, as a URI fragment.
  func pointer(to mark: Int) -> String {
    var steps: [Step] = []
    var mark = mark
    while mark >= 0 {
      steps.append(marks[mark].step)
      mark = marks[mark].parent
    }
    var text = Array("#".utf8)
    for step in steps.reversed() {
      text.append(UInt8(ascii: "/"))
      switch step {
      case .index(let index): text += String(index).utf8
      case .key(let key):
        for byte in key.utf8 {
          switch byte {
          case UInt8(ascii: "~"): text += "~0".utf8
          case UInt8(ascii: "/"): text += "~1".utf8
          default: text.append(byte)
          }
        }
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
