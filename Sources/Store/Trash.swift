import Glibc
import Platform

/// Where discarded and replaced takes go: a folder beside the takes, one entry a discard.
///
/// An entry is a folder named by its time, which holds the files under their own names.
public struct Trash: Sendable {
  public static let name = Path(".holdfast-trash")
  public let folder: Path

  public init(folder: Path) { self.folder = folder }

  /// Moves `names` (those that exist) out of `parent` into a new entry.
  ///
  /// - Returns: the entry.
  @discardableResult
  func take(_ names: [Path], from parent: borrowing Descriptor) throws(DiskError) -> Path {
    if Disk.identity(Self.name, in: parent) == nil {
      do throws(DiskError) { try Disk.makeFolder(Self.name, in: parent) } catch {
        guard error.errno.code == EEXIST else { throw error }
      }
    }
    let trash = try Disk.openFolder(Self.name, in: parent)
    let entry = Path(Stamp.compact(Stamp.wallMilliseconds) + "-" + Disk.randomHex(bytes: 3))
    try Disk.makeFolder(entry, in: trash)
    let inside = try Disk.openFolder(entry, in: trash)
    for name in names where Disk.identity(name, in: parent) != nil {
      try Disk.rename(name, in: parent, to: name, in: inside)
    }
    try Disk.syncFolder(inside, path: entry)
    return folder.appending(Self.name).appending(entry)
  }
}
