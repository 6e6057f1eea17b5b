import Glibc
import Platform
import Session
import Synchronization

/// A take that is being recorded: `NAME.opus.partial/` and the open files in it.
///
/// One thread, the store's, calls everything but `sync`, which has a thread of its own.
public final class PartialTake: Sendable {
  /// Bytes kept for sealing on a full disk: two pages of a second, and the manifest. 64 KiB but at high bitrates.
  public static func reserveSize(bitrate: Int) -> Int64 { max(65_536, Int64(bitrate) / 8 * 3 + 32_768) }

  /// The folder the take will stand in.
  public let folder: Path
  public let name: TakeName
  public let replaces: FileIdentity?
  let parent: Descriptor
  let inside: Descriptor
  private let lock: Descriptor
  private let audio: Descriptor
  private let ledger: Descriptor
  private let tails: Tails

  /// Bytes of whole pages in `audio.opus`.
  private let audioEnd = Atomic<Int64>(0)
  private let ledgerEnd = Atomic<Int64>(0)
  private let syncedAudioEnd = Atomic<Int64>(0)
  private let foldersSynced = Atomic<Bool>(false)

  /// Checks that a take may be made at `folder`/`name`; changes nothing.
  ///
  /// - Returns: the file a take made with `force` will replace.
  private static func check(
    _ name: TakeName, in parent: borrowing Descriptor, force: Bool
  ) throws(OutputError) -> FileIdentity? {
    guard name.audio.hasSuffix(".opus") else { throw .notOpus }
    guard name.audio.bytes.count <= TakeName.longest else { throw .nameTooLong(name.audio.bytes.count) }
    if Disk.identity(name.partial, in: parent) != nil {
      throw isRecording(name, in: parent) ? .recording : .unfinished
    }
    guard let existing = Disk.identity(name.audio, in: parent) else { return nil }
    guard existing.kind == .file else { throw .wrongKind(existing.kind) }
    guard force else { throw .exists }
    return existing
  }

  /// Whether a recorder holds the partial take's lock now.
  public static func isRecording(_ name: TakeName, in parent: borrowing Descriptor) -> Bool {
    guard let inside = try? Disk.openFolder(name.partial, in: parent),
      let lock = try? Disk.openToRead(TakeName.Inside.lock, in: inside)
    else { return false }
    return (try? Disk.lock(lock, path: TakeName.Inside.lock)) == false
  }

  /// Makes the partial take: all its files, its lock held, its head pages and first ledger record written. It appears
  /// under its name in one step, so that nobody sees half of it.
  ///
  /// - Parameters:
  ///   - neededBytes: refused where the disk has less.
  ///   - headers: the Ogg head and tags pages.
  public init(
    folder: Path, name: TakeName, force: Bool, neededBytes: Int64, reserve reserveSize: Int64 = 65_536,
    headers: [UInt8], begin: LedgerRecord
  ) throws(OutputError) {
    do throws(DiskError) { parent = try Disk.openFolder(folder) } catch { throw .noFolder(error) }
    replaces = try Self.check(name, in: parent, force: force)
    if let free = Disk.freeBytes(parent), free < neededBytes {
      throw .tooLittleSpace(free: free, needed: neededBytes)
    }
    let temporary = Path(".holdfast-new-" + Disk.randomHex(bytes: 8))
    do throws(DiskError) {
      try Disk.makeFolder(temporary, in: parent)
      do throws(DiskError) {
        inside = try Disk.openFolder(temporary, in: parent)
        lock = try Disk.create(TakeName.Inside.lock, in: inside)
        guard try Disk.lock(lock, path: TakeName.Inside.lock) else {
          throw DiskError(call: "flock", path: temporary, errno: Errno(EBUSY))
        }
        audio = try Disk.create(TakeName.Inside.audio, in: inside)
        ledger = try Disk.create(TakeName.Inside.ledger, in: inside)
        tails = try Tails(in: inside)
        let reserve = try Disk.create(TakeName.Inside.reserve, in: inside)
        try Disk.allocate(reserve, size: reserveSize, path: TakeName.Inside.reserve)
        try Disk.write(headers.span, to: audio, at: 0, path: TakeName.Inside.audio)
        let first = Ledger.header + Ledger.encode(begin)
        try Disk.write(first.span, to: ledger, at: 0, path: TakeName.Inside.ledger)
        audioEnd.store(Int64(headers.count), ordering: .relaxed)
        ledgerEnd.store(Int64(first.count), ordering: .relaxed)
        try Disk.rename(temporary, in: parent, to: name.partial, in: parent)
      } catch {
        Self.removeNew(temporary, in: parent)
        throw error
      }
    } catch {
      // Somebody else's partial take has come under this name meanwhile.
      if error.errno.code == EEXIST, error.path == name.partial {
        throw Self.isRecording(name, in: parent) ? .recording : .unfinished
      }
      throw .disk(DiskError(call: error.call, path: folder.appending(name.partial), errno: error.errno))
    }
    self.folder = folder
    self.name = name
  }

  /// Removes a partial take that never got its name: it holds no audio.
  private static func removeNew(_ temporary: Path, in parent: borrowing Descriptor) {
    if let inside = try? Disk.openFolder(temporary, in: parent) {
      for file in TakeName.Inside.all { try? Disk.remove(file, in: inside) }
    }
    try? Disk.removeFolder(temporary, in: parent)
  }

  public var partialPath: Path { folder.appending(name.partial) }
  public var audioPath: Path { folder.appending(name.audio) }
  /// Bytes of whole pages written.
  public var audioSize: Int64 { audioEnd.load(ordering: .acquiring) }

  // MARK: what the store thread writes

  public func append(page: Span<UInt8>) throws(DiskError) {
    let end = audioEnd.load(ordering: .relaxed)
    try Disk.write(page, to: audio, at: end, path: partialPath.appending(TakeName.Inside.audio))
    audioEnd.store(end + Int64(page.count), ordering: .releasing)
    tails.pageWritten(audioEnd: end + Int64(page.count))
  }

  public func append(ledger bytes: Span<UInt8>) throws(DiskError) {
    let end = ledgerEnd.load(ordering: .relaxed)
    try Disk.write(bytes, to: ledger, at: end, path: partialPath.appending(TakeName.Inside.ledger))
    ledgerEnd.store(end + Int64(bytes.count), ordering: .releasing)
  }

  /// Keeps packets that no page holds yet.
  public func append(tail records: Span<UInt8>) throws(DiskError) {
    try tails.append(
      records, syncedAudioEnd: syncedAudioEnd.load(ordering: .acquiring), path: partialPath)
  }

  /// Whether the partial take's folder still stands where the take is to be.
  public var isInPlace: Bool {
    guard let there = Disk.identity(name.partial, in: parent), let ours = Disk.identity(inside) else {
      return false
    }
    return there.inode == ours.inode && there.device == ours.device
  }

  /// Copies what is still open of a take whose folder was deleted into another folder, under a name of its own.
  public func rescue(into folder: Path, manifest: [UInt8]) throws(DiskError) -> SealedFile {
    try Disk.makeFolders(folder)
    let target = try TakesFolder.newName(in: folder)
    let parent = try Disk.openFolder(folder)
    let file = try Disk.create(target.audio, in: parent)
    var at: Int64 = 0
    while at < audioSize {
      let want = Int(min(1 << 16, audioSize - at))
      let bytes = try Disk.read(audio, at: at, count: want, path: TakeName.Inside.audio)
      guard !bytes.isEmpty else {
        throw DiskError(call: "pread", path: TakeName.Inside.audio, errno: Errno(EIO))
      }
      try Disk.write(bytes.span, to: file, at: at, path: target.audio)
      at += Int64(bytes.count)
    }
    try Disk.syncData(file, path: target.audio)
    let note = try Disk.create(target.manifest, in: parent)
    try Disk.write(manifest.span, to: note, at: 0, path: target.manifest)
    try Disk.syncData(note, path: target.manifest)
    try Disk.syncFolder(parent, path: folder)
    return SealedFile(folder: folder, name: target)
  }

  // MARK: what the sync thread does

  /// Brings what is written onto the disk: after it, a power cut can't take it.
  public func sync() throws(DiskError) {
    let end = audioEnd.load(ordering: .acquiring)
    try Disk.syncData(audio, path: partialPath.appending(TakeName.Inside.audio))
    syncedAudioEnd.store(end, ordering: .releasing)
    try tails.sync(path: partialPath)
    try Disk.syncData(ledger, path: partialPath.appending(TakeName.Inside.ledger))
    if !foldersSynced.load(ordering: .relaxed) {
      try Disk.syncFolder(inside, path: partialPath)
      try Disk.syncFolder(parent, path: folder)
      foldersSynced.store(true, ordering: .relaxed)
    }
  }

  /// Gives the reserve's space back to the disk, so that sealing can write its last few bytes.
  ///
  /// - Returns: false where it was given back before.
  func releaseReserve() -> Bool {
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
}
