import Glibc
import Platform
import Session

/// What a partial take's folder holds, read without changing anything.
public struct PartialContents: Sendable {
  public var ledger: LedgerContents
  public var tails: [TailContents]
  public var recording: Bool
  /// Files that every partial take has and this one hasn't; but for the audio, which the caller opens.
  public var missing: [Path]
  /// A file that is there and can't be read now: what it holds isn't known, so nothing may be decided.
  public var failure: DiskError?

  /// A tail is missing or lost more than the record that was being written.
  public var hasDamagedTail: Bool {
    TakeName.Inside.tails.contains { missing.contains($0) }
      || tails.contains { $0.tornBytes > 0 && !$0.isTornWrite }
  }
  /// Ledgers larger than this are refused: at a take's usual 110 bytes a second that is a week.
  static let ledgerLimit = 64 << 20
  static let tailLimit = 16 << 20

  public init(folder: Path, name: TakeName) throws(DiskError) {
    let parent = try Disk.openFolder(folder)
    let inside = try Disk.openFolder(name.partial, in: parent)
    self.init(inside, recording: PartialFolder.isRecording(name, in: parent))
  }
  /// One that nobody records, under any name: set aside, or in the trash.
  public init(folder: Path, setAside name: Path) throws(DiskError) {
    let parent = try Disk.openFolder(folder)
    self.init(try Disk.openFolder(name, in: parent), recording: false)
  }
  init(_ inside: borrowing Descriptor, recording: Bool) {
    self.recording = recording
    let names = [TakeName.Inside.ledger] + TakeName.Inside.tails
    var missing: [Path] = []
    for name in names where Disk.identity(name, in: inside) == nil { missing.append(name) }
    self.missing = missing
    var failure: DiskError?
    func bytes(_ name: Path, _ limit: Int) -> [UInt8] {
      do throws(DiskError) { return try Self.whole(name, in: inside, limit: limit) } catch {
        // Nothing there, a link or a device: no file of ours, and no more to be had of it another time.
        if ![ENOENT, ELOOP, EINVAL, ENXIO].contains(error.errno.code) { failure = failure ?? error }
        return []
      }
    }
    ledger = LedgerContents(bytes(TakeName.Inside.ledger, Self.ledgerLimit))
    tails = TakeName.Inside.tails.map { TailContents(bytes($0, Self.tailLimit)) }
    self.failure = failure
  }

  /// Opens the audio of a partial take; a link or anything else in its place isn't followed.
  public static func openAudio(folder: Path, name: TakeName) throws(DiskError) -> Descriptor {
    let parent = try Disk.openFolder(folder)
    let inside = try Disk.openFolder(name.partial, in: parent)
    let audio = try Disk.openToRead(TakeName.Inside.audio, in: inside)
    guard Disk.identity(audio)?.kind == .file else {
      throw DiskError(call: "openat", path: TakeName.Inside.audio, errno: Errno(EINVAL))
    }
    return audio
  }

  /// The manifest of a take whose sealing was interrupted between its two renames: still in the partial folder.
  public static func waitingManifest(folder: Path, name: TakeName, limit: Int) -> [UInt8]? {
    guard let parent = try? Disk.openFolder(folder),
      let inside = try? Disk.openFolder(name.partial, in: parent),
      Disk.identity(TakeName.Inside.audio, in: inside) == nil
    else { return nil }
    let bytes = read(TakeName.Inside.manifest, in: inside, limit: limit)
    return bytes.isEmpty ? nil : bytes
  }
  /// Why a take was set aside; nil where it doesn't say.
  public static func reason(folder: Path, unreadable name: Path) -> String? {
    guard let parent = try? Disk.openFolder(folder), let inside = try? Disk.openFolder(name, in: parent)
    else { return nil }
    let bytes = read(TakeName.Inside.reason, in: inside, limit: 4_096)
    let text = Path(bytes: bytes).display.filter { $0 != "\u{FFFD}" }
    return text.isEmpty ? nil : text
  }

  static func read(_ name: Path, in folder: borrowing Descriptor, limit: Int) -> [UInt8] {
    (try? whole(name, in: folder, limit: limit)) ?? []
  }
  static func whole(
    _ name: Path, in folder: borrowing Descriptor, limit: Int
  ) throws(DiskError) -> [UInt8] {
    let file = try Disk.openToRead(name, in: folder)
    guard Disk.identity(file)?.kind == .file else {
      throw DiskError(call: "openat", path: name, errno: Errno(EINVAL))
    }
    return try Disk.readAll(file, limit: limit, path: name)
  }
}

/// Reads a small file whole, such as a manifest.
public func readFile(_ path: Path, limit: Int) throws(DiskError) -> [UInt8] {
  let folder = try Disk.openFolder(path.parent)
  let file = try Disk.openToRead(path.name, in: folder)
  return try Disk.readAll(file, limit: limit, path: path)
}
