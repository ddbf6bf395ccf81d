import Foundation
import KeyedArchives

/// Writes the fields of an archived Foundation object, under keys in their archived spelling.
struct FieldsWriter {
  let archiver: SecureArchiver
  let className: String

  func refused(_ reason: ArchiveError.NotArchivable) -> ArchiveError {
    .notArchivable(type: className, reason: reason, at: archiver.here)
  }

  func integer(_ key: String, _ value: Int) { archiver.set(key) { archiver.builder.add(integer: Int64(value)) } }
  func real(_ key: String, _ value: Double) { archiver.set(key) { archiver.builder.add(real: value) } }
  func flag(_ key: String, _ value: Bool) { archiver.set(key) { archiver.builder.add(bool: value) } }
  /// Writes an inline string.
  func text(_ key: String, _ value: String) { archiver.set(key) { archiver.builder.add(text: value) } }
  func data(_ key: String, _ value: Data) {
    archiver.set(key) { () throws(ArchiveError) in
      archiver.dataBytes = archiver.dataBytes.saturatingSum(value.count)
      guard archiver.dataBytes <= archiver.limits.inputBytes else {
        throw .overLimit(.inputBytes, allowed: archiver.limits.inputBytes, at: archiver.here)
      }
      return archiver.builder.add(data: value)
    }
  }

  /// Writes a reference to an object; nil becomes a reference to `$null`.
  func object(_ key: String, _ value: Any?) {
    archiver.set(key) { () throws(ArchiveError) in try archiver.reference(to: value) }
  }

  /// Writes an array of references.
  func objects(_ key: String, _ values: [Any]) {
    archiver.set(key) { () throws(ArchiveError) in
      var references: [UInt32] = []
      references.reserveCapacity(values.count)
      for (index, value) in values.enumerated() {
        archiver.path.append(.index(index))
        references.append(try archiver.reference(to: value))
        archiver.path.removeLast()
      }
      return archiver.builder.add(array: references)
    }
  }
}
