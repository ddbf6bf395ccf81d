extension AccessGroupFile {
  /// Whom the group's folder lets in.
  ///
  /// - Throws: `missing`; `exposed` for a mode that Vault does not make.
  package func containerShape() throws(GroupFileError) -> ContainerShape { try resolvedPlace().containerShape() }

  /// Changes whom the group's folder and files let in, while nobody writes. What is in the group is not looked at.
  ///
  /// Processes that have the files open keep them; an interrupted change is finished by the next.
  ///
  /// - Throws: `deniedAt`, `busy`, `missing`, `altered`, `storage`.
  package func take(_ shape: ContainerShape) throws(GroupFileError) {
    let place = try resolvedPlace()
    let lock = try WriterLock(at: place)
    try place.take(shape)
    _ = consume lock
  }
}
