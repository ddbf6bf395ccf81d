package import Exchange

/// Opens a database of KeePass: KDBX 3.1 and 4, as written by KeePass, KeePassXC and similar programs.
///
/// https://keepass.info/help/kb/kdbx.html. The file's lengths and costs are checked before memory is allocated.
package struct KeePassFile {
  /// The XML document, for ``KeePassDocument``.
  let document: [UInt8]
  /// The contents of attachments by number. KDBX 3.1 has them in the document.
  let binaries: [[UInt8]]
  /// The stream cipher that hides protected texts in the document.
  let innerStream: InnerStream

  /// The stream that hides single texts in the document.
  enum InnerStream {
    case none
    case salsa20(key: [UInt8])
    case chacha20(key: [UInt8])

    init(number: UInt32, key: [UInt8]) throws(ImportFault) {
      switch number {
      case 0: self = .none
      case 2: self = .salsa20(key: key)
      case 3: self = .chacha20(key: key)
      default: throw ImportFault("its inner encryption is not known here", .unsupported)
      }
    }

    func cipher() throws(ImportFault) -> Cipher? {
      switch self {
      case .none: return nil
      case .salsa20(let key):
        let vector: [UInt8] = [0xE8, 0x30, 0x09, 0x4B, 0x97, 0x20, 0x5D, 0x2A]
        return try Cipher(.salsa20, key: Gcrypt.sha256(key), vector: vector)
      case .chacha20(let key):
        let hash = try Gcrypt.sha512(key)
        return try Cipher(.chacha20, key: Array(hash[..<32]), vector: Array(hash[32..<44]))
      }
    }
  }

  /// The maximum size of the unpacked content in bytes.
  static let limit = 128 << 20

  static let signature = ForeignFormat.keePassMark + [0x67, 0xFB, 0x4B, 0xB5]

  /// Reads the entries.
  ///
  /// - Throws: `wrongKey` if the passphrase and key file do not open it; `damaged`, `overLimit`, `unsupported`.
  package static func read(
    _ file: [UInt8], _ key: KeePassKey, _ found: (EntryLine) throws(ImportFault) -> Void
  ) throws(ImportFault) {
    let opened = try KeePassFile(file, key)
    var document = try KeePassDocument(opened.document, opened.binaries, stream: opened.innerStream.cipher())
    try document.read(found)
  }

  init(_ file: [UInt8], _ key: KeePassKey) throws(ImportFault) {
    guard file.starts(with: Self.signature) else {
      if file.starts(with: ForeignFormat.keePassMark + [0x65, 0xFB, 0x4B, 0xB5]) {
        throw ImportFault("it is a database of KeePass 1; KeePass 2 or KeePassXC can convert it", .unsupported)
      }
      throw ImportFault("it is not a database of KeePass", .damaged)
    }
    var cursor = ByteCursor(file, at: 8)
    let version = try cursor.number(UInt32.self)
    switch version >> 16 {
    case 3: self = try KeePassFile(version3: file, cursor, key)
    case 4: self = try KeePassFile(version4: file, cursor, key)
    default: throw ImportFault("its version is \(version >> 16), and 3.1 and 4 are read", .unsupported)
    }
  }

  private init(document: [UInt8], binaries: [[UInt8]], innerStream: InnerStream) {
    self.document = document
    self.binaries = binaries
    self.innerStream = innerStream
  }

  // MARK: Version 4

  private init(version4 file: [UInt8], _ start: ByteCursor, _ key: KeePassKey) throws(ImportFault) {
    var cursor = start
    let header = try KeePassHeader(&cursor) { (cursor) throws(ImportFault) in try cursor.field() }
    let headerBytes = Array(file[..<cursor.position])
    guard try cursor.take(32) == Gcrypt.sha256(headerBytes) else {
      throw ImportFault("its header is damaged", .damaged)
    }
    let transformed = try header.transformation(version: 4).applied(to: key.composite())
    let blockKey = try Gcrypt.sha512(header.seed, transformed, [1])
    let headerCode = try Gcrypt.hmac(key: Self.key(ofBlock: .max, blockKey), headerBytes)
    guard try Gcrypt.areEqual(cursor.take(32), headerCode) else { throw KeePassKey.isWrong }

    var sealed: [UInt8] = []
    var index: UInt64 = 0
    while true {
      let code = try cursor.take(32)
      let count = try cursor.number(UInt32.self)
      let block = try cursor.take(Int(count))
      let bytes = index.littleEndianBytes + count.littleEndianBytes + block
      guard try Gcrypt.areEqual(code, Gcrypt.hmac(key: Self.key(ofBlock: index, blockKey), bytes)) else {
        throw ImportFault("block \(index) is damaged", .damaged)
      }
      if count == 0 { break }
      sealed += block
      index += 1
    }
    guard let packed = try header.opened(sealed, key: Gcrypt.sha256(header.seed, transformed)) else {
      throw ImportFault("its content is damaged", .damaged)
    }
    self = try KeePassFile(content: header.isCompressed ? Inflate.bytes(packed, limit: Self.limit) : packed)
  }

  /// The content that version 4 encrypts: the inner header and the document.
  private init(content: [UInt8]) throws(ImportFault) {
    var cursor = ByteCursor(content)
    var stream: UInt32 = 0
    var streamKey: [UInt8] = []
    var binaries: [[UInt8]] = []
    while true {
      let kind = try cursor.number(UInt8.self)
      let field = try cursor.field()
      switch kind {
      case 0:
        self.init(
          document: try cursor.take(cursor.rest), binaries: binaries,
          innerStream: try InnerStream(number: stream, key: streamKey))
        return
      case 1: stream = field.littleEndian() ?? .max
      case 2: streamKey = field
      // The first byte says whether the content should be protected in memory.
      case 3: binaries.append(Array(field.dropFirst()))
      default: break
      }
    }
  }

  /// The key that authenticates a block. The header counts as the block with the highest number.
  static func key(ofBlock index: UInt64, _ key: [UInt8]) throws(ImportFault) -> [UInt8] {
    try Gcrypt.sha512(index.littleEndianBytes, key)
  }

  // MARK: Version 3

  private init(version3 file: [UInt8], _ start: ByteCursor, _ key: KeePassKey) throws(ImportFault) {
    var cursor = start
    let header = try KeePassHeader(&cursor) { (cursor) throws(ImportFault) in
      try cursor.take(Int(cursor.number(UInt16.self)))
    }
    let headerBytes = Array(file[..<cursor.position])
    let transformed = try header.transformation(version: 3).applied(to: key.composite())
    // This is the only check of the key: the content begins with bytes that the header contains.
    let sealed = try cursor.take(cursor.rest)
    guard header.startBytes.count == 32,
      let opened = try header.opened(sealed, key: Gcrypt.sha256(header.seed, transformed)),
      Gcrypt.areEqual(Array(opened.prefix(32)), header.startBytes)
    else { throw KeePassKey.isWrong }
    let packed = try Self.joined(opened)
    self.init(
      document: header.isCompressed ? try Inflate.bytes(packed, limit: Self.limit) : packed, binaries: [],
      innerStream: try InnerStream(number: header.streamNumber, key: header.streamKey))
    // This is the only check of the header in KDBX 3.1; 3.0 has none.
    if let stated = KeePassDocument.headerHash(of: document), try stated != Gcrypt.sha256(headerBytes) {
      throw ImportFault("its header is damaged", .damaged)
    }
  }

  /// The joined blocks of version 3. A hash precedes each block.
  private static func joined(_ opened: [UInt8]) throws(ImportFault) -> [UInt8] {
    var cursor = ByteCursor(opened, at: 32)
    var joined: [UInt8] = []
    var index: UInt32 = 0
    while true {
      guard try cursor.number(UInt32.self) == index else { throw ImportFault("block \(index) is missing", .damaged) }
      let hash = try cursor.take(32)
      let block = try cursor.field()
      if block.isEmpty { return joined }
      guard try Gcrypt.sha256(block) == hash else { throw ImportFault("block \(index) is damaged", .damaged) }
      joined += block
      index += 1
    }
  }
}
