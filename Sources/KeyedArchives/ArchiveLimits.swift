/// How much an archive may demand before it is refused.
///
/// The defaults are well above the largest of several thousand archives that Apple's systems wrote: 1.5 MB of input,
/// 6,110 objects, references 32 deep, 924 elements in one container, 85 kB in one string. Each limit can be set, and
/// each is reported by its own ``ArchiveError/Limit``. Whatever the limits, memory stays in proportion to the input:
/// property lists whose parts overlap are refused, and shared parts are never copied. Two more bounds always apply: a
/// property list expands to at most four values for each byte, and text is no longer than ``output`` allows.
public struct ArchiveLimits: Sendable, Equatable {
  /// Bytes of the archive; 16 MiB.
  public var inputBytes = 16 << 20
  /// Values in the property list, counting each use of a shared one; 4,194,304. Whatever the setting, never more than
  /// four for each byte of input.
  public var values = 4 << 20
  /// How deep property-list containers may be nested within one object; 64. More than 512 counts as 512.
  public var nesting = 64
  /// Entries of the archive's table of objects; 262,144.
  public var objects = 1 << 18
  /// How deep objects may refer to each other; 128. More than ``deepest`` counts as ``deepest``.
  public var depth = 128
  /// The number of objects when every use of a shared object counts; 8,388,608. Decoding builds a shared object once,
  /// but comparing or printing the result visits it at each use.
  public var references = 8 << 20
  /// Elements of one container, and counts of a counted set; 1,048,576.
  public var elements = 1 << 20
  /// Bytes of one string, in the archive; 16 MiB.
  public var stringBytes = 16 << 20
  /// Bytes of one data value; 16 MiB.
  public var dataBytes = 16 << 20
  /// Bytes of strings and data that decoding may create, for each byte of input; 8 (and 1 MiB on top).
  public var expansion = 8
  /// Steps that hashing, comparing and compiling may take while objects are built, and that one comparison of any
  /// container with another may take; 4,194,304. A step is a few tenths of a microsecond.
  public var comparisons = 4 << 20

  /// Bytes of the name of a class; 2,048.
  public var classNameBytes = 2_048
  /// Bytes that inspection may write, as text or in another format, for each byte of the archive; 32 (and 1 MiB on top).
  public var output = 32

  /// The largest effective ``depth``: each level needs stack, and a user class needs some of its own.
  public static let deepest = 1024

  /// The default limits.
  public static let standard = ArchiveLimits()

  /// Creates the standard limits. Change them one by one.
  public init() {}

  /// The allowed nesting, capped at what the stack can hold; at least 0.
  var effectiveNesting: Int { max(0, min(nesting, 512)) }
  /// The allowed depth, capped at what the stack can hold; at least 0.
  package var effectiveDepth: Int { max(0, min(depth, Self.deepest)) }
}

/// A limit on the bytes that may be written about an archive.
struct OutputLimit {
  /// No limit, for values that were created in this process.
  static let none = OutputLimit(byteCount: .max, factor: .max)

  private let byteCount: Int
  private let factor: Int

  private init(byteCount: Int, factor: Int) {
    self.byteCount = byteCount
    self.factor = factor
  }

  /// The limit for an archive of `inputBytes` bytes.
  init(_ limits: ArchiveLimits, inputBytes: Int) {
    factor = max(0, limits.output)
    byteCount = inputBytes.saturatingProduct(factor).saturatingSum(1 << 20)
  }

  /// Throws if `count` bytes exceed the limit.
  func check(_ count: Int) throws(ArchiveError) {
    guard count <= byteCount else { throw .overLimit(.output, allowed: factor, at: ArchivePath()) }
  }
}

/// Sums and products of numbers from hostile bytes: on overflow they give the largest number.
extension Int {
  package func saturatingSum(_ other: Int) -> Int {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }

  package func saturatingProduct(_ other: Int) -> Int {
    let (product, overflows) = multipliedReportingOverflow(by: other)
    return overflows ? .max : product
  }
}

/// The two formats of an archive. They are the formats of property lists.
public enum ArchiveFormat: String, Sendable, CaseIterable {
  /// The binary format, `bplist00`.
  case binary
  /// The XML format. It cannot represent control characters in strings.
  case xml
}
