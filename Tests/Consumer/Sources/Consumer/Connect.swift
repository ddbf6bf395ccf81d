/// What the example calls: stands for any library that takes a password.
func connect(password: Span<UInt8>) {
  precondition(password.count == "s3cr3t".utf8.count)
}
