import Glibc
import Ground
import Testing

@Suite struct FileFaultTests {
  @Test(
    arguments: [
      (ENOENT, .missing), (EEXIST, .taken), (ELOOP, .link), (ENOTDIR, .wrongKind), (EISDIR, .wrongKind),
      (ENXIO, .wrongKind), (EACCES, .denied), (EPERM, .denied), (EWOULDBLOCK, .busy), (ENOSPC, .storage(.full)),
      (EDQUOT, .storage(.full)), (EROFS, .storage(.readOnly)), (ENOMEM, .storage(.memory)),
      (EMFILE, .storage(.tooManyFiles)), (ENAMETOOLONG, .storage(.pathTooLong)), (EIO, .storage(.inputOutput)),
      (EFBIG, .storage(.fileTooLarge)), (ENOLCK, .storage(.noLocks)),
    ] as [(CInt, FileFault)])
  func `each error number of the system has its meaning`(number: CInt, fault: FileFault) {
    #expect(FileFault(errno: number) == fault)
  }

  @Test func `a mode is written in octal digits`() {
    #expect(FileFault.openToOthers(mode: 0o644).reason == "is open to other users (mode 644)")
  }
}
