package import Glibc

/// The owners that we trust for a file, and the mode bits that it must not have.
package struct FileTrust: Equatable {
  package var owners: [uid_t]
  package var forbiddenMode: mode_t
  /// The mode bits that a file of root's must not have.
  package var forbiddenModeOfRoots: mode_t

  package init(owners: [uid_t], forbiddenMode: mode_t, forbiddenModeOfRoots: mode_t? = nil) {
    self.owners = owners
    self.forbiddenMode = forbiddenMode
    self.forbiddenModeOfRoots = forbiddenModeOfRoots ?? forbiddenMode
  }

  /// For secrets: owned by us or root, and inaccessible to everyone else.
  package static func secret(user: uid_t = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o077)
  }

  /// For a credential that the system provides: ours and inaccessible to everyone else, or root's and readable by one
  /// Unix group.
  ///
  /// Kubernetes makes a Secret readable by the pod's group. systemd adds the service's user to the access list of
  /// root's file, and the group bits of the mode then show the list's maximum. Either way, root alone decided who may
  /// read it.
  package static func handedOver(user: uid_t = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o077, forbiddenModeOfRoots: 0o037)
  }

  /// For files that others may read but not change.
  package static func visible(user: uid_t = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o022)
  }

  /// For the state folder and its contents: owned by us, and writable by nobody else.
  package static func state(user: uid_t = geteuid()) -> FileTrust { FileTrust(owners: [user], forbiddenMode: 0o022) }

  package func check(_ status: stat) throws(FileFault) {
    guard owners.contains(status.st_uid) else { throw .foreignOwner }
    let mode = status.st_mode & 0o7777
    guard mode & (status.st_uid == 0 ? forbiddenModeOfRoots : forbiddenMode) == 0 else {
      throw .openToOthers(mode: mode)
    }
  }
}
