import Ground

/// Writes JSON to stdout, with each element of the outermost array on its own line. Strings pass only through the wiped
/// buffer of `Output`, because they may be values.
typealias JSONWriter = Ground.JSONWriter<Output>

extension Output: JSONSink {}

extension JSONWriter {
  init(_ output: Output) { self.init(output, hasLines: true) }

  mutating func object(
    _ key: StaticString? = nil, _ members: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    try begin(key)
    try open("{")
    try members(&self)
    try close("}")
  }

  mutating func array(
    _ key: StaticString? = nil, _ elements: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    try begin(key)
    try open("[")
    try elements(&self)
    try close("]")
  }

  mutating func string(_ key: StaticString, _ value: String) throws(Failure) {
    try self.key(key)
    try string(value)
  }

  /// A string under a key that the caller does not control.
  mutating func member(_ key: String, _ value: String) throws(Failure) {
    try self.key(key)
    try string(value)
  }

  /// A string, or null.
  mutating func string(_ key: StaticString, orNull value: String?) throws(Failure) {
    guard let value else { return try null(key) }
    try string(key, value)
  }

  /// A string from bytes that are known to be UTF-8.
  mutating func text(_ key: StaticString, _ bytes: UnsafeRawBufferPointer) throws(Failure) {
    try self.key(key)
    try unsafe string(bytes)
  }

  mutating func verbatim(_ key: StaticString, _ json: UnsafeRawBufferPointer) throws(Failure) {
    try self.key(key)
    try unsafe verbatim(json)
  }

  mutating func base64(_ key: StaticString, _ bytes: UnsafeRawBufferPointer) throws(Failure) {
    try self.key(key)
    try unsafe base64(bytes)
  }

  mutating func number(_ key: StaticString, _ value: some BinaryInteger) throws(Failure) {
    try self.key(key)
    try word(String(value))
  }

  mutating func number(_ key: StaticString, orNull value: UInt64?) throws(Failure) {
    guard let value else { return try null(key) }
    try number(key, value)
  }

  mutating func flag(_ key: StaticString, _ value: Bool) throws(Failure) {
    try self.key(key)
    try word(value ? "true" : "false")
  }

  mutating func null(_ key: StaticString) throws(Failure) {
    try self.key(key)
    try word("null")
  }

  private mutating func begin(_ key: StaticString?) throws(Failure) {
    if let key { try self.key(key) }
  }
}
