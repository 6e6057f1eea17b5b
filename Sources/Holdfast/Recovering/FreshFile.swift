import Platform
import Store

/// A file that comes to be whole or not at all: written under a hidden name, synced, then renamed to one that is free.
///
/// Given up unless it is committed. A process killed meanwhile leaves the hidden file, which the next one that writes
/// the same file removes. Keep it on one thread.
final class FreshFile {
  private static let chunk = 1 << 16

  private let place: Path
  private let folder: Descriptor
  private let hidden: Path
  /// Written by its owner, through `append` or by itself.
  let file: Descriptor
  private var buffer: [UInt8] = []
  private var written: Int64 = 0
  private var isCommitted = false

  /// - Parameters:
  ///   - folder: where it is to lie.
  ///   - hidden: its name until then.
  /// - Throws: EBUSY where another process is at work on it.
  init(in place: Path, hidden: Path) throws(DiskError) {
    let folder = try Disk.openFolder(place)
    do throws(DiskError) { file = try Disk.create(hidden, in: folder) } catch {
      guard error.errno.code == Errno.exists else { throw error }
      try Self.removeLeftover(hidden, in: folder)
      file = try Disk.create(hidden, in: folder)
    }
    self.place = place
    self.hidden = hidden
    self.folder = folder
    // What has no locks (some network disks) goes without. Between its making and the lock, another process may have
    // taken the file for a leftover.
    let isLocked = (try? Disk.lock(file, path: hidden)) ?? true
    if !isLocked || Disk.identity(file)?.inode != Disk.identity(hidden, in: self.folder)?.inode {
      isCommitted = true  // the name is no longer ours to remove
      throw DiskError(call: "flock", path: hidden, errno: Errno(Errno.busy))
    }
  }
  deinit {
    if !isCommitted { try? Disk.remove(hidden, in: folder) }
  }

  private static func removeLeftover(_ name: Path, in folder: borrowing Descriptor) throws(DiskError) {
    let old = try Disk.openToRead(name, in: folder)
    guard Disk.identity(old)?.kind == .file, try Disk.lock(old, path: name) else {
      throw DiskError(call: "openat", path: name, errno: Errno(Errno.busy))
    }
    try Disk.remove(name, in: folder)
  }

  func append(_ bytes: [UInt8]) throws(DiskError) {
    buffer += bytes
    if buffer.count >= Self.chunk { try flush() }
  }
  private func flush() throws(DiskError) {
    let bytes = buffer
    buffer = []
    try Disk.write(bytes.span, to: file, at: written, path: hidden)
    written += Int64(bytes.count)
  }

  /// Syncs it and gives it the first free of the names. Where a file with the same bytes has one of them, that one stays
  /// and this one goes.
  ///
  /// - Parameter names: the names to try, from number 1 on.
  /// - Returns: the name, and whether the file is new.
  func commit(names: (Int) -> Path) throws(DiskError) -> (name: Path, isNew: Bool) {
    try flush()
    try Disk.syncData(file, path: hidden)
    var number = 1
    while true {
      let name = names(number)
      if Disk.identity(name, in: folder) != nil {
        if try isSame(name) { return (name, false) }
        number += 1
        continue
      }
      do throws(DiskError) { try Disk.rename(hidden, in: folder, to: name, in: folder) } catch {
        if error.errno.code == Errno.exists { continue }  // it appeared just now
        throw error
      }
      isCommitted = true
      try syncName(name)
      return (name, true)
    }
  }

  /// Syncs it and gives it a name, never over another file.
  ///
  /// - Parameter replaced: what may stand there; these go to the trash first. None: nothing may.
  /// - Throws: EEXIST where something stands there.
  func commit(as name: Path, replacing replaced: [Path]) throws(DiskError) {
    try flush()
    try Disk.syncData(file, path: hidden)
    if replaced.contains(where: { Disk.identity($0, in: folder) != nil }) {
      try Trash(folder: place).take(replaced, from: folder)
    }
    try Disk.rename(hidden, in: folder, to: name, in: folder)
    isCommitted = true
    try syncName(name)
  }
  /// A name that the disk doesn't take isn't told to be there.
  private func syncName(_ name: Path) throws(DiskError) {
    do throws(DiskError) { try Disk.syncFolder(folder, path: place) } catch {
      try? Disk.remove(name, in: folder)
      throw error
    }
  }

  private func isSame(_ name: Path) throws(DiskError) -> Bool {
    guard let there = Disk.identity(name, in: folder), there.kind == .file, there.size == written,
      let other = try? Disk.openToRead(name, in: folder)
    else { return false }
    var at: Int64 = 0
    while at < written {
      let mine = try Disk.read(file, at: at, count: Self.chunk, path: hidden)
      guard !mine.isEmpty, let its = try? Disk.read(other, at: at, count: Self.chunk, path: name), its == mine
      else { return false }
      at += Int64(mine.count)
    }
    return true
  }
}
