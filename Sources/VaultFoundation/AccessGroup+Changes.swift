import Foundation
public import Vault

extension AccessGroup {
  /// The group's changes from now on, whichever process makes them, until the task that iterates is cancelled.
  ///
  /// Each element names an item and its new version. Several changes of one item may arrive as one, and none is missed,
  /// however long the iteration is busy with earlier ones. A thread waits for them.
  ///
  /// - Throws: ``VaultError/storage(_:)`` if the system allows no more watches; whatever a read of the group throws. The
  ///   iteration throws a ``VaultError`` as well: ``VaultError/notFound(_:)`` if the group is removed.
  public func changes() async throws(VaultError) -> AsyncThrowingStream<ItemChange, any Error> {
    let watch = try await CallQueue().run { () throws(VaultError) -> GroupWatch in try self.watch() }
    return AsyncThrowingStream { continuation in
      continuation.onTermination = { _ in watch.cancel() }
      Thread.detachNewThread {
        do {
          while let changes = try watch.next() {
            for change in changes { continuation.yield(change) }
          }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
    }
  }
}
