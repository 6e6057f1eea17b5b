import Glibc
import Platform
import Session
import Synchronization

/// A take that is being recorded: the open files of its partial folder.
///
/// One thread, the store's, calls everything but `sync`, which has a thread of its own.
public final class PartialTake: Sendable {
  /// Bytes kept for sealing on a full disk: two pages of a second, and the manifest. 64 KiB but at high bitrates.
  public static func reserveSize(bitrate: Int) -> Int64 { max(65_536, Int64(bitrate) / 8 * 3 + 32_768) }

  public let place: PartialFolder
  private let audio: OpenAudio
  private let ledger: Descriptor
  private let tails: Tails
  private let headers: [UInt8]

  /// Bytes of whole pages in `audio.opus`.
  private let audioEnd: Atomic<Int64>
  private let ledgerEnd: Atomic<Int64>
  private let syncedAudioEnd = Atomic<Int64>(0)
  private let syncedLedgerEnd = Atomic<Int64>(0)
  private let foldersSynced = Atomic<Bool>(false)
  private let syncFailed = Atomic<Bool>(false)

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
    let place = try PartialFolder(making: name, in: folder, force: force, neededBytes: neededBytes)
    let first = Ledger.header + Ledger.encode(begin)
    do throws(DiskError) {
      audio = OpenAudio(try Disk.create(TakeName.Inside.audio, in: place.inside))
      ledger = try Disk.create(TakeName.Inside.ledger, in: place.inside)
      tails = try Tails(in: place.inside)
      let reserve = try Disk.create(TakeName.Inside.reserve, in: place.inside)
      try Disk.allocate(reserve, size: reserveSize, path: TakeName.Inside.reserve)
      _ = try Disk.lock(audio.descriptor, path: TakeName.Inside.audio)
      try Disk.write(headers.span, to: audio.descriptor, at: 0, path: TakeName.Inside.audio)
      try Disk.write(first.span, to: ledger, at: 0, path: TakeName.Inside.ledger)
    } catch {
      place.abandon()
      throw .disk(error.at(place.partialPath))
    }
    self.place = place
    self.headers = headers
    audioEnd = Atomic(Int64(headers.count))
    ledgerEnd = Atomic(Int64(first.count))
    try place.publish()
  }

  init(
    place: PartialFolder, audio: OpenAudio, audioSize: Int64, ledger: consuming Descriptor, ledgerSize: Int64,
    tails: Tails, headers: [UInt8]
  ) {
    (self.place, self.audio, self.tails, self.headers) = (place, audio, tails, headers)
    self.ledger = ledger
    audioEnd = Atomic(audioSize)
    ledgerEnd = Atomic(ledgerSize)
  }

  /// Bytes of whole pages written.
  public var audioSize: Int64 { audioEnd.load(ordering: .acquiring) }
  private func path(_ file: Path) -> Path { place.partialPath.appending(file) }

  /// It can't be sealed where it is: its folder has gone, or its audio was removed or replaced there.
  public var isGone: Bool { place.isGone || !ownsName }
  private var ownsName: Bool {
    guard let ours = Disk.identity(audio.descriptor) else { return false }
    return Disk.identity(TakeName.Inside.audio, in: place.inside)?.isSameFile(as: ours) == true
  }

  // MARK: what the store thread writes

  /// - Throws: also where another program has cut the file: what comes behind a hole must not be called whole.
  public func append(page: Span<UInt8>) throws(DiskError) {
    let end = audioEnd.load(ordering: .relaxed)
    guard audio.size >= end else {
      throw DiskError(call: PartialFolder.compare, path: path(TakeName.Inside.audio), errno: Errno(ESTALE))
    }
    try Disk.write(page, to: audio.descriptor, at: end, path: path(TakeName.Inside.audio))
    audioEnd.store(end + Int64(page.count), ordering: .releasing)
    tails.pageWritten(audioEnd: end + Int64(page.count))
  }

  public func append(ledger bytes: Span<UInt8>) throws(DiskError) {
    let end = ledgerEnd.load(ordering: .relaxed)
    try Disk.write(bytes, to: ledger, at: end, path: path(TakeName.Inside.ledger))
    ledgerEnd.store(end + Int64(bytes.count), ordering: .releasing)
  }

  /// Keeps packets that no page holds yet.
  public func append(tail records: Span<UInt8>) throws(DiskError) {
    try tails.append(
      records, syncedAudioEnd: syncedAudioEnd.load(ordering: .acquiring), path: place.partialPath)
  }

  // MARK: what the sync thread does

  /// Brings what is written onto the disk: after it, a power cut can't take it.
  ///
  /// A sync that failed isn't made good by the next one: the kernel says an error once, and calls the pages clean
  /// (fsync(2); "Can applications recover from fsync failures?", USENIX ATC 2020). So what it covered is written once more.
  public func sync() throws(DiskError) {
    place.showLife()
    do throws(DiskError) {
      if syncFailed.load(ordering: .relaxed) { try rewrite() }
      try syncAll()
      syncFailed.store(false, ordering: .relaxed)
    } catch {
      syncFailed.store(true, ordering: .relaxed)
      throw error
    }
  }
  private func syncAll() throws(DiskError) {
    let end = audioEnd.load(ordering: .acquiring)
    let ledgerEnd = ledgerEnd.load(ordering: .acquiring)
    try audio.sync(path: path(TakeName.Inside.audio))
    syncedAudioEnd.store(end, ordering: .releasing)
    try tails.sync(path: place.partialPath)
    try Disk.syncData(ledger, path: path(TakeName.Inside.ledger))
    syncedLedgerEnd.store(ledgerEnd, ordering: .relaxed)
    if !foldersSynced.load(ordering: .relaxed) {
      try Disk.syncFolder(place.inside, path: place.partialPath)
      try Disk.syncFolder(place.parent, path: place.folder)
      foldersSynced.store(true, ordering: .relaxed)
    }
  }

  /// What isn't synced yet, out of the page cache and back. Tails are left: their packets are in a page a second later.
  private func rewrite() throws(DiskError) {
    try Disk.rewrite(
      audio.descriptor, syncedAudioEnd.load(ordering: .relaxed)..<audioEnd.load(ordering: .acquiring),
      path: path(TakeName.Inside.audio))
    try Disk.rewrite(
      ledger, syncedLedgerEnd.load(ordering: .relaxed)..<ledgerEnd.load(ordering: .acquiring),
      path: path(TakeName.Inside.ledger))
  }

  // MARK: endings

  /// Seals a take whose last page is written.
  public func seal(manifest: [UInt8]) throws(SealError) -> SealedFile {
    try place.seal(manifest: manifest, audio: audio.descriptor, size: audioSize, head: headers) {
      () throws(DiskError) in
      try sync()
    }
  }
}

// MARK: a folder that has gone

extension PartialTake {
  /// Makes a partial take in another folder, under a name of its own, of all that this one's open files hold. Locked and
  /// synced; nothing here is changed.
  public func copied(into folder: Path) throws(DiskError) -> PartialTake {
    try Disk.makeFolders(folder)
    let size = audioSize
    let ledgerSize = ledgerEnd.load(ordering: .acquiring)
    var attempts = 0
    while true {
      let place: PartialFolder
      do throws(OutputError) {
        place = try PartialFolder(
          making: try Self.name(in: folder), in: folder, force: false, neededBytes: 2 * size)
      } catch { throw error.cause(folder) }
      do throws(DiskError) {
        let audio = OpenAudio(try Disk.create(TakeName.Inside.audio, in: place.inside))
        let ledger = try Disk.create(TakeName.Inside.ledger, in: place.inside)
        try Disk.copy(
          self.audio.descriptor, size: size, to: audio.descriptor, path: path(TakeName.Inside.audio))
        try Disk.copy(self.ledger, size: ledgerSize, to: ledger, path: path(TakeName.Inside.ledger))
        let tails = try Tails(copying: tails, in: place.inside, path: place.partialPath)
        let reserve = try Disk.create(TakeName.Inside.reserve, in: place.inside)
        try Disk.allocate(reserve, size: 65_536, path: TakeName.Inside.reserve)
        _ = try Disk.lock(audio.descriptor, path: TakeName.Inside.audio)
        let take = PartialTake(
          place: place, audio: audio, audioSize: size, ledger: ledger, ledgerSize: ledgerSize, tails: tails,
          headers: headers)
        do throws(OutputError) { try place.publish() } catch {
          // Another recorder took that name.
          if [.exists, .recording, .unfinished].contains(error), attempts < 1_000 {
            attempts += 1
            continue
          }
          throw error.cause(folder)
        }
        try take.sync()
        return take
      } catch {
        place.abandon()
        throw error
      }
    }
  }
  /// Removes what a take that goes on elsewhere leaves here: our own files, and the folder where nothing else is in it.
  public func removeLeftovers() {
    for file in TakeName.Inside.all where file != TakeName.Inside.audio || ownsName {
      try? Disk.remove(file, in: place.inside)
    }
    try? place.removeItself()
  }

  private static func name(in folder: Path) throws(OutputError) -> TakeName {
    do throws(DiskError) { return try TakesFolder.newName(in: folder) } catch { throw .disk(error) }
  }
}

extension OutputError {
  /// The call that failed; a word for it where none did.
  fileprivate func cause(_ folder: Path) -> DiskError {
    switch self {
    case .noFolder(let error), .trash(let error), .disk(let error): error
    case .tooLittleSpace: DiskError(call: "fstatvfs", path: folder, errno: Errno(ENOSPC))
    case .notOpus, .nameTooLong, .wrongKind, .exists, .recording, .unfinished, .blocked:
      DiskError(call: "renameat2", path: folder, errno: Errno(EEXIST))
    }
  }
}
