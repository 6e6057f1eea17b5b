import Glibc
import Platform

/// Where discarded and replaced takes go: a folder beside the takes, one entry a discard.
///
/// An entry is a folder named by its time, which holds the files under their own names, and a note of the time on the
/// clock of the boot.
public struct Trash: Sendable {
  public static let name = Path(".holdfast-trash")
  static let note = Path("when")
  public let folder: Path

  public init(folder: Path) { self.folder = folder }

  /// Makes the trash where it isn't there yet.
  ///
  /// - Throws: also where something else has its name: better before a take is recorded than when it is sealed.
  func prepare(in parent: borrowing Descriptor) throws(DiskError) {
    if Disk.identity(Self.name, in: parent) == nil {
      do throws(DiskError) { try Disk.makeFolder(Self.name, in: parent) } catch {
        guard error.errno.code == EEXIST else { throw error }
      }
    }
    do throws(DiskError) { _ = try Disk.openFolder(Self.name, in: parent) } catch {
      throw error.at(folder.appending(Self.name))
    }
  }

  /// Moves `names` (those that exist) out of `source` into a new entry.
  ///
  /// - Parameter parent: the folder of the takes, where that isn't `source`.
  /// - Returns: the entry.
  @discardableResult
  public func take(_ names: [Path], from source: borrowing Descriptor) throws(DiskError) -> Path {
    try take(names, from: source, trashIn: source)
  }
  @discardableResult
  func take(
    _ names: [Path], from source: borrowing Descriptor, trashIn parent: borrowing Descriptor
  ) throws(DiskError) -> Path {
    try prepare(in: parent)
    let trash = try Disk.openFolder(Self.name, in: parent)
    let entry = Path(Stamp.compact(Stamp.wallMilliseconds) + "-" + Disk.randomHex(bytes: 3))
    try Disk.makeFolder(entry, in: trash)
    let inside = try Disk.openFolder(entry, in: trash)
    writeNote(in: inside)
    // The way to them is on the disk before they are: a power cut leaves them here or there.
    try Disk.syncFolder(trash, path: Self.name)
    try Disk.syncFolder(parent, path: folder)
    for name in names where Disk.identity(name, in: source) != nil {
      try Disk.rename(name, in: source, to: name, in: inside)
    }
    try Disk.syncFolder(inside, path: entry)
    return folder.appending(Self.name).appending(entry)
  }
  /// A help, not a duty: a disk that is full takes a rename where it takes no byte.
  private func writeNote(in inside: borrowing Descriptor) {
    guard let boot = TrashStamp.Boot.now, let file = try? Disk.create(Self.note, in: inside) else { return }
    try? Disk.write(boot.note.span, to: file, at: 0, path: Self.note)
  }
}
