extension AccessGroupFile {
  /// Whom the group's folder lets in.
  ///
  /// - Throws: `missing`; `exposed` for a mode that Vault does not make.
  package func containerShape() throws(GroupFileError) -> ContainerShape { try resolvedPlace().containerShape() }

  /// Changes whom the group's folder and files let in, while nobody writes: a new folder with copies of the files takes the place
  /// of the old one. Who has the old files open, or a lock on them, has nothing of the new ones. What is in the group is not
  /// looked at, and nobody who may only read the files can keep this from being done.
  ///
  /// - Parameter places: `draft` is where the folder is made, `kept` where the old one goes.
  /// - Throws: `deniedAt`, `busy`, `missing`, `altered`, `storage`; the group is as it was then.
  package func take(_ shape: ContainerShape, at places: SalvagePlaces) throws(GroupFileError) {
    let place = try resolvedPlace()
    do throws(GroupFileError) {
      // Before the lock, which would call a link's own mode too wide.
      _ = try place.file()
      let lock = try WriterLock(at: place, toChangeModes: true)
      let draft = try GroupDraft(in: places.draft, for: folder, shape: shape)
      try SalvageCopy.duplicate(place, to: ContainerPlace(folder: places.draft), shape)
      _ = try draft.take(keeping: places.kept, holding: lock)
    } catch .denied {
      throw .deniedAt(DeniedPath.words(folder: folder, toWrite: false))
    }
  }
}
