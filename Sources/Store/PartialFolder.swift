import Glibc
import Platform
import Session

/// `NAME.opus.partial/` with its lock held: what recording, recovery and continuing share. Any thread.
public final class PartialFolder: Sendable {
  /// The folder the take will stand in.
  public let folder: Path
  public let name: TakeName
  /// The file that the seal may move to the trash.
  let replaces: FileIdentity?
  let parent: Descriptor
  let inside: Descriptor
  let lock: Descriptor
  /// The lock is held; false where the file system has none.
  let isLocked: Bool
  /// The audio as it was found, locked like `lock`, which somebody may have removed; nil for a new take, or without any.
  public let audio: OpenAudio?
  /// Its name while it was made.
  private let temporary: Path

  static let newPrefix = ".holdfast-new-"

  // MARK: making one

  /// Makes a folder under a name that nobody sees, its lock held. `publish` gives it its own, `abandon` removes it.
  ///
  /// - Parameters:
  ///   - force: what stands under the take's name will be replaced.
  ///   - neededBytes: refused where the disk has less.
  init(making name: TakeName, in folder: Path, force: Bool, neededBytes: Int64) throws(OutputError) {
    self.folder = folder
    self.name = name
    do throws(DiskError) { parent = try Disk.openFolder(folder) } catch { throw .noFolder(error) }
    replaces = try Self.check(name, in: parent, force: force)
    Self.sweep(parent, path: folder)
    if let free = Disk.freeBytes(parent), free < neededBytes {
      throw .tooLittleSpace(free: free, needed: neededBytes)
    }
    if replaces != nil {
      do throws(DiskError) { try Trash(folder: folder).prepare(in: parent) } catch { throw .trash(error) }
    }
    var attempts = 0
    while true {
      let temporary = Path(Self.newPrefix + Disk.randomHex(bytes: 8))
      do throws(DiskError) {
        try Disk.makeFolder(temporary, in: parent)
        let made = try Disk.openFolder(temporary, in: parent)
        let file = try Disk.create(TakeName.Inside.lock, in: made)
        let locking = try Disk.tryLock(file, path: TakeName.Inside.lock)
        guard locking != .busy, let ours = Disk.identity(file),
          Disk.identity(TakeName.Inside.lock, in: made)?.isSameFile(as: ours) == true
        else { throw DiskError(call: "flock", path: TakeName.Inside.lock, errno: Errno(EBUSY)) }
        inside = made
        lock = file
        isLocked = locking == .held
        audio = nil
        self.temporary = temporary
        return
      } catch {
        Self.removeNew(temporary, in: parent)
        // Somebody's `sweep` took it for a dead one before the lock was held.
        let swept =
          [temporary, TakeName.Inside.lock].contains(error.path)
          && [ENOENT, EBUSY].contains(error.errno.code)
        attempts += 1
        guard swept, attempts < 20 else { throw .disk(error.at(folder.appending(name.partial))) }
      }
    }
  }

  /// Gives a folder that was made its name, in one step.
  func publish() throws(OutputError) {
    do throws(DiskError) { try Disk.rename(temporary, in: parent, to: name.partial, in: parent) } catch {
      abandon()
      // Somebody else's partial take has come under this name meanwhile.
      if error.errno.code == EEXIST { throw Self.isRecording(name, in: parent) ? .recording : .unfinished }
      throw .disk(error.at(partialPath))
    }
  }
  /// Removes a folder that was made and never got its name.
  func abandon() { Self.removeNew(temporary, in: parent) }

  /// Checks that a take may be made; changes nothing.
  ///
  /// - Returns: the file a take made with `force` will replace.
  private static func check(
    _ name: TakeName, in parent: borrowing Descriptor, force: Bool
  ) throws(OutputError) -> FileIdentity? {
    try name.check()
    if let there = Disk.identity(name.partial, in: parent) {
      guard there.kind == .folder else { throw .blocked(there.kind) }
      throw isRecording(name, in: parent) ? .recording : .unfinished
    }
    guard let existing = Disk.identity(name.audio, in: parent) else { return nil }
    guard existing.kind == .file else { throw .wrongKind(existing.kind) }
    guard force else { throw .exists }
    return existing
  }

  /// Removes a partial take that never got its name: it holds no audio. By paths, since descriptors may have run out.
  private static func removeNew(_ temporary: Path, in parent: borrowing Descriptor) {
    for file in TakeName.Inside.all { try? Disk.remove(temporary.appending(file), in: parent) }
    try? Disk.removeFolder(temporary, in: parent)
  }

  /// Removes what recorders that were killed while they made a partial take have left: nameless folders of ours whose
  /// lock nobody holds. No audio ever gets into one. Where there are no locks, nothing is removed.
  public static func sweep(_ parent: borrowing Descriptor, path: Path) {
    for name in (try? Disk.names(parent, path: path)) ?? []
    where name.bytes.starts(with: Array(newPrefix.utf8)) && Disk.identity(name, in: parent)?.kind == .folder {
      guard let inside = try? Disk.openFolder(name, in: parent) else { continue }
      if Disk.identity(TakeName.Inside.lock, in: inside) != nil {
        guard let lock = try? Disk.openToRead(TakeName.Inside.lock, in: inside),
          (try? Disk.tryLock(lock, path: TakeName.Inside.lock)) == .held
        else { continue }
        removeNew(name, in: parent)  // while the lock is held: its maker meets that, and begins again
      } else {
        // The lock is made first: where other files are and it isn't, a power cut has taken it. Else its maker may just be
        // making it, and only an empty folder goes.
        let others = TakeName.Inside.all.contains {
          $0 != TakeName.Inside.lock && Disk.identity($0, in: inside) != nil
        }
        if others, Disk.identity(TakeName.Inside.lock, in: inside) == nil {
          removeNew(name, in: parent)
        } else {
          try? Disk.removeFolder(name, in: parent)
        }
      }
    }
  }

  // MARK: opening one

  /// Opens a partial take that nobody records.
  ///
  /// - Throws: `.recording` where somebody does; `.disk` where it can't be opened.
  public init(opening name: TakeName, in folder: Path) throws(OutputError) {
    self.folder = folder
    self.name = name
    replaces = nil
    temporary = name.partial
    do throws(DiskError) {
      parent = try Disk.openFolder(folder)
      inside = try Disk.openFolder(name.partial, in: parent)
      lock = try Disk.openOrCreate(TakeName.Inside.lock, in: inside)
      audio = try Self.openAudio(in: inside)
    } catch { throw .disk(error.at(folder.appending(name.partial).appending(error.path))) }
    do throws(DiskError) {
      let locking = try Disk.tryLock(lock, path: TakeName.Inside.lock)
      isLocked = locking == .held
      var free = locking != .busy
      if free, let audio { free = try Disk.lock(audio.descriptor, path: TakeName.Inside.audio) }
      if free, !isLocked { free = isQuiet() }
      guard free else {
        throw DiskError(call: "flock", path: TakeName.Inside.lock, errno: Errno(EWOULDBLOCK))
      }
    } catch {
      throw error.errno.code == EWOULDBLOCK ? .recording : .disk(error)
    }
    // The one who held it may have sealed the take, and removed this folder, just before.
    guard isInPlace else {
      throw .disk(DiskError(call: "openat", path: name.partial, errno: Errno(ENOENT)))
    }
  }

  /// Whether there is a partial take of that name.
  public static func exists(_ name: TakeName, in folder: Path) -> Bool {
    guard let parent = try? Disk.openFolder(folder) else { return false }
    return Disk.identity(name.partial, in: parent)?.kind == .folder
  }
  /// Whether a recorder holds the partial take's lock now.
  public static func isRecording(_ name: TakeName, in parent: borrowing Descriptor) -> Bool {
    guard let inside = try? Disk.openFolder(name.partial, in: parent) else { return false }
    return [TakeName.Inside.lock, TakeName.Inside.audio].contains { file in
      guard let held = try? Disk.openToRead(file, in: inside) else { return false }
      return (try? Disk.lock(held, path: file)) == false
    }
  }

  // MARK: where it is

  public var partialPath: Path { folder.appending(name.partial) }
  public var audioPath: Path { folder.appending(name.audio) }
  /// Where the folder of the take is now: one that was renamed meanwhile is followed.
  public var folderNow: Path {
    guard let there = try? Disk.openFolder(folder), let here = Disk.identity(parent),
      Disk.identity(there)?.isSameFile(as: here) == true
    else { return Disk.path(of: parent) ?? folder }
    return folder
  }
  /// Nothing can be sealed here: a folder was deleted, or the rights taken away. One that was only renamed is followed.
  public var isGone: Bool {
    Disk.isDeleted(parent) || Disk.isDeleted(inside) || Disk.isDenied(parent) || Disk.isDenied(inside)
  }
  /// Bytes that this user may still write here; nil where the file system doesn't say.
  public var freeBytes: Int64? { Disk.freeBytes(parent) }
  /// Where the partial folder is now, if somebody has renamed or moved it.
  private var partialNow: Path { isInPlace ? partialPath : Disk.path(of: inside) ?? partialPath }
  /// Removes the partial folder, which must be empty.
  func removeItself() throws(DiskError) {
    let now = partialNow
    guard now != partialPath else { return try Disk.removeFolder(now.name, in: parent) }
    try Disk.removeFolder(now.name, in: Disk.openFolder(now.parent))
  }

  /// Whether the partial take's folder still stands where the take is to be.
  public var isInPlace: Bool {
    guard let there = Disk.identity(name.partial, in: parent), let ours = Disk.identity(inside) else {
      return false
    }
    return there.isSameFile(as: ours)
  }

  // MARK: space

  /// Gives the reserve's space back to the disk, so that sealing can write its last few bytes.
  ///
  /// - Returns: false where it was given back before.
  @discardableResult
  public func releaseReserve() -> Bool {
    guard Disk.identity(TakeName.Inside.reserve, in: inside) != nil else { return false }
    return (try? Disk.remove(TakeName.Inside.reserve, in: inside)) != nil
  }

  /// Runs a step that writes; on a full disk once more, out of the reserve.
  public func withReserve(_ step: () throws(DiskError) -> Void) throws(DiskError) {
    do throws(DiskError) { try step() } catch {
      guard error.errno.isDiskFull, releaseReserve() else { throw error }
      try step()
    }
  }

  /// Moves the partial take to the trash.
  ///
  /// - Returns: where it is now.
  public func discard() throws(DiskError) -> Path {
    let now = partialNow
    guard now != partialPath else { return try Trash(folder: folder).take([name.partial], from: parent) }
    return try Trash(folder: folder).take([now.name], from: Disk.openFolder(now.parent), trashIn: parent)
  }

  /// Moves the partial take out of the way as `NAME.opus.unreadable`, whole, with the reason in it.
  ///
  /// - Returns: where it is now.
  public func setAside(reason: String) throws(DiskError) -> Path {
    try Disk.remove(TakeName.Inside.reason, in: inside)
    let note = try Disk.create(TakeName.Inside.reason, in: inside)
    try Disk.write(Array((reason + "\n").utf8).span, to: note, at: 0, path: TakeName.Inside.reason)
    try Disk.syncData(note, path: TakeName.Inside.reason)
    var number = 1
    while true {
      let target = name.unreadable(number)
      do throws(DiskError) {
        try Disk.rename(name.partial, in: parent, to: target, in: parent)
        try Disk.syncFolder(parent, path: folder)
        return folder.appending(target)
      } catch {
        guard error.errno.code == EEXIST, number < 10_000 else { throw error }
        number += 1
      }
    }
  }
}
