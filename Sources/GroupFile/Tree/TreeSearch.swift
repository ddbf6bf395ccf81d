import Sealing

/// Finds one row's digest below a proved digest: one node per level.
enum TreeSearch {
  /// The digest of the row at `token`; `nil` is a proof of absence (a clear bit, or a leaf without the token).
  static func digest(
    of token: Token, below root: Digest, at start: TreePlace, load: TreeEditor.Load
  ) throws(GroupFileError) -> Digest? {
    var place = start
    var digest = root
    while true {
      switch try load(digest, place) {
      case .leaf(let entries):
        let (index, found) = entries.position(of: token)
        return found ? entries[index].digest : nil
      case .branch(let bitmap, let children):
        let nibble = token.nibble(at: place.depth)
        guard let child = TreeNode.child(nibble, bitmap: bitmap, children: children) else { return nil }
        digest = child
        place = place.child(nibble)
      }
    }
  }
}
