import CPlatform
import Glibc
import Platform
import Session

/// What a take does where the file system lacks something that its promises rest on.
extension PartialFolder {
  /// What is missing here, found by trying it on a file of our own; a trial that fails otherwise says nothing.
  ///
  /// Blocks as long as a sync takes: not for a thread that anything waits for.
  public func missingPromises() -> [FileSystemGap] {
    var missing: [FileSystemGap] = isLocked ? [] : [.locks]
    let (before, after) = (TakeName.Inside.probe, TakeName.Inside.probed)
    for name in [before, after] { try? Disk.remove(name, in: inside) }
    var syncs = true
    if let file = try? Disk.create(before, in: inside) {
      if !Disk.move(before, in: inside, to: after, in: inside, HOLDFAST_RENAME_NOREPLACE),
        Errno.current.isNotProvided
      {
        missing.append(.noReplace)
      }
      syncs = (try? Disk.syncData(file, path: before)) ?? true
    }
    for name in [after, before] { try? Disk.remove(name, in: inside) }
    syncs = ((try? Disk.syncFolder(inside, path: partialPath)) ?? true) && syncs
    return syncs ? missing : missing + [.sync]
  }

  /// What people call the file system, where they have a name for it; it decides nothing.
  public var fileSystemName: String? {
    var info = statfs()
    guard unsafe fstatfs(inside.raw, &info) == 0 else { return nil }
    return switch UInt32(truncatingIfNeeded: info.f_type) {
    case 0x4D44: "vfat"
    case 0x2011_BAB0: "exfat"
    case 0x6969: "nfs"
    case 0x6573_5546: "fuse"
    case 0x0102_1997: "9p"
    case 0xFF53_4D42, 0xFE53_4D42: "cifs"
    default: nil
    }
  }

  /// Without a lock the recorder's life shows in the lock file's time: it is set twice a second, also while paused.
  func showLife() {
    futimens(lock.raw, nil)
  }
  /// Whether nobody writes here; where there are no locks, that takes 2 s of watching. By changes alone: clocks of two
  /// machines may differ by anything.
  func isQuiet() -> Bool {
    let watched =
      [TakeName.Inside.lock, TakeName.Inside.audio, TakeName.Inside.ledger] + TakeName.Inside.tails
    let before = watched.map { Disk.identity($0, in: inside) }
    let end = MonotonicTime.now.advanced(by: 2_000_000_000)
    while MonotonicTime.now < end {
      usleep(100_000)
      if watched.map({ Disk.identity($0, in: inside) }) != before { return false }
    }
    return true
  }
}

extension Disk {
  /// Renames, never over an existing name, where the file system has no call for that: a file by a link, which never
  /// replaces; a folder by its own rule, that one with anything in it isn't replaced. Where there are no links either, a
  /// file that appears in between is.
  static func renameByOtherMeans(
    _ from: Path, in source: borrowing Descriptor, to target: Path, in folder: borrowing Descriptor
  ) throws(DiskError) {
    let (a, b) = (source.raw, folder.raw)
    if identity(from, in: source)?.kind == .file {
      let linked = unsafe from.withCString { f in
        unsafe target.withCString { t in unsafe linkat(a, f, b, t, 0) }
      }
      // A kill between the link and the removal leaves one file with two names; a power cut never none, since the new
      // one is on the disk before the old one goes.
      if linked == 0 || (Errno.current.code == EEXIST && isOneFile(from, in: source, and: target, in: folder))
      {
        try syncFolder(folder, path: target)
        return try remove(from, in: source)
      }
    }
    guard identity(target, in: folder) == nil else {
      throw DiskError(call: "renameat", path: target, errno: Errno(EEXIST))
    }
    guard move(from, in: source, to: target, in: folder) else {
      let failure = Errno.current
      throw DiskError(
        call: "renameat", path: target, errno: failure.code == ENOTEMPTY ? Errno(EEXIST) : failure)
    }
  }

  /// Whether two names are one file's. By its bytes too: some file systems make inode numbers up.
  private static func isOneFile(
    _ a: Path, in source: borrowing Descriptor, and b: Path, in folder: borrowing Descriptor
  ) -> Bool {
    guard let one = try? openToRead(a, in: source), let two = try? openToRead(b, in: folder),
      let same = identity(one), identity(two) == same, linkCount(one) > 1, linkCount(two) > 1
    else { return false }
    var at: Int64 = 0
    while at < same.size {
      guard let x = try? read(one, at: at, count: 1 << 16, path: a), !x.isEmpty,
        let y = try? read(two, at: at, count: 1 << 16, path: b), x == y
      else { return false }
      at += Int64(x.count)
    }
    return true
  }
  private static func linkCount(_ file: borrowing Descriptor) -> Int {
    var info = stat()
    return unsafe fstat(file.raw, &info) == 0 ? Int(info.st_nlink) : 0
  }
}
