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
  private let foldersSynced = Atomic<Bool>(false)

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
  public func sync() throws(DiskError) {
    place.showLife()
    let end = audioEnd.load(ordering: .acquiring)
    try audio.sync(path: path(TakeName.Inside.audio))
    syncedAudioEnd.store(end, ordering: .releasing)
    try tails.sync(path: place.partialPath)
    try Disk.syncData(ledger, path: path(TakeName.Inside.ledger))
    if !foldersSynced.load(ordering: .relaxed) {
      try Disk.syncFolder(place.inside, path: place.partialPath)
      try Disk.syncFolder(place.parent, path: place.folder)
      foldersSynced.store(true, ordering: .relaxed)
    }
  }

  // MARK: endings

  /// Seals a take whose last page is written.
  public func seal(manifest: [UInt8]) throws(SealError) -> SealedFile {
    try place.seal(manifest: manifest, audio: audio.descriptor, size: audioSize, head: headers) {
      () throws(DiskError) in
      try sync()
    }
  }
  /// Copies what is still open of a take whose folder was deleted into another folder, under a name of its own.
  public func rescue(into folder: Path, manifest: [UInt8]) throws(DiskError) -> SealedFile {
    try Disk.makeFolders(folder)
    let target = try TakesFolder.newName(in: folder)
    let parent = try Disk.openFolder(folder)
    let file = try Disk.create(target.audio, in: parent)
    try Disk.copy(audio.descriptor, size: audioSize, to: file, path: target.audio)
    try Disk.syncData(file, path: target.audio)
    let note = try Disk.create(target.manifest, in: parent)
    try Disk.write(manifest.span, to: note, at: 0, path: target.manifest)
    try Disk.syncData(note, path: target.manifest)
    try Disk.syncFolder(parent, path: folder)
    return SealedFile(folder: folder, name: target)
  }
}
