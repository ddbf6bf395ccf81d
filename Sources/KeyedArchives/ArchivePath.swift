internal import Ground

/// A position in an archive: `root → NS.objects[3] → age`.
///
/// A path contains keys, which programs choose, and positions. It never contains a value. The keys of an archived
/// dictionary are values, so a path shows their position, or `a key` in a Swift value.
public struct ArchivePath: Sendable, Equatable, CustomStringConvertible {
  /// One step down.
  public enum Step: Sendable, Equatable {
    /// To the value under a key.
    case key(String)
    /// To the element at a position, counted from 0, of the array that the previous step led to.
    case index(Int)
    /// To an entry of the table of objects, when the way to it is not known.
    case object(Int)
  }

  /// The steps, from the top.
  public var steps: [Step]

  /// A path of `steps`; no steps mean the archive as a whole.
  public init(_ steps: [Step] = []) { self.steps = steps }

  /// The steps, joined by arrows; "the archive" if there are none. Keys are cut at 80 characters and control characters
  /// in them are escaped, because they may come from hostile bytes. The middle of a long path is left out.
  public var description: String {
    guard !steps.isEmpty else { return "the archive" }
    guard steps.count > 24 else { return Self.words(steps[...]) }
    return "\(Self.words(steps.prefix(8))) → … → \(Self.words(steps.suffix(8))) (\(steps.count) steps)"
  }

  private static func words(_ steps: ArraySlice<Step>) -> String {
    var text = ""
    for step in steps {
      switch step {
      case .key(let key):
        if !text.isEmpty { text += " → " }
        text += Printable.name(key)
      case .index(let index): text += "[\(index)]"
      case .object(let number):
        if !text.isEmpty { text += " → " }
        text += "object \(number)"
      }
    }
    return text
  }

  package func appending(_ step: Step) -> ArchivePath { ArchivePath(steps + [step]) }
}
