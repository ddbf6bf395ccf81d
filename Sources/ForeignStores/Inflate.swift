internal import CZlib
internal import Exchange

/// Reads zlib's formats within a limit.
enum Inflate {
  enum Form: Int32 {
    /// With the header and checksum of gzip (RFC 1952) or of zlib.
    case gzip = 47
    /// Without either, as in zip files (RFC 1951).
    case raw = -15
  }

  /// The bytes that were compressed.
  ///
  /// - Throws: `damaged`, or `overLimit` as soon as there are more than `limit` bytes.
  static func bytes(_ compressed: [UInt8], _ form: Form = .gzip, limit: Int) throws(ImportFault) -> [UInt8] {
    var stream = unsafe z_stream()
    guard unsafe inflateInit2_(&stream, form.rawValue, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw ImportFault("zlib cannot be used", .unsupported)
    }
    defer { unsafe inflateEnd(&stream) }
    var compressed = compressed
    var bytes: [UInt8] = []
    let code = unsafe compressed.withUnsafeMutableBufferPointer { input in
      unsafe stream.next_in = input.baseAddress
      unsafe stream.avail_in = UInt32(input.count)
      var part = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let (code, count) = unsafe part.withUnsafeMutableBufferPointer { part in
          unsafe stream.next_out = part.baseAddress
          unsafe stream.avail_out = UInt32(part.count)
          let code = unsafe inflate(&stream, Z_NO_FLUSH)
          return (code, unsafe part.count - Int(stream.avail_out))
        }
        bytes += part[..<count]
        if code != Z_OK || bytes.count > limit || count == 0 { return code }
      }
    }
    guard bytes.count <= limit else {
      throw ImportFault("it holds more than \(limit >> 20) MiB when it is unpacked", .overLimit)
    }
    guard code == Z_STREAM_END else { throw ImportFault("its compressed content is damaged", .damaged) }
    return bytes
  }

  /// The bytes compressed as gzip.
  static func gzipped(_ bytes: [UInt8]) throws(ImportFault) -> [UInt8] {
    var stream = unsafe z_stream()
    guard
      unsafe deflateInit2_(
        &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { throw ImportFault("zlib cannot be used", .unsupported) }
    defer { unsafe deflateEnd(&stream) }
    var bytes = bytes
    var compressed = unsafe [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let code = unsafe bytes.withUnsafeMutableBufferPointer { input in
      unsafe compressed.withUnsafeMutableBufferPointer { output in
        unsafe stream.next_in = input.baseAddress
        unsafe stream.avail_in = UInt32(input.count)
        unsafe stream.next_out = output.baseAddress
        unsafe stream.avail_out = UInt32(output.count)
        return unsafe deflate(&stream, Z_FINISH)
      }
    }
    guard code == Z_STREAM_END else { throw ImportFault("zlib cannot be used", .unsupported) }
    unsafe compressed.removeLast(Int(stream.avail_out))
    return compressed
  }
}
