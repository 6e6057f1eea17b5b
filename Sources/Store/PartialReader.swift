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

  /// Ledgers larger than this are refused: at a take's usual 110 bytes a second that is a week.
  static let ledgerLimit = 64 << 20
  static let tailLimit = 16 << 20

  public init(folder: Path, name: TakeName) throws(DiskError) {
    let parent = try Disk.openFolder(folder)
    let inside = try Disk.openFolder(name.partial, in: parent)
    self.init(inside, recording: PartialFolder.isRecording(name, in: parent))
  }
  init(_ inside: borrowing Descriptor, recording: Bool) {
    self.recording = recording
    let names = [TakeName.Inside.ledger] + TakeName.Inside.tails
    var missing: [Path] = []
    for name in names where Disk.identity(name, in: inside) == nil { missing.append(name) }
    self.missing = missing
    ledger = LedgerContents(Self.read(TakeName.Inside.ledger, in: inside, limit: Self.ledgerLimit))
    tails = TakeName.Inside.tails.map { TailContents(Self.read($0, in: inside, limit: Self.tailLimit)) }
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
    guard let file = try? Disk.openToRead(name, in: folder), Disk.identity(file)?.kind == .file else {
      return []
    }
    return (try? Disk.readAll(file, limit: limit, path: name)) ?? []
  }
}

/// Reads a small file whole, such as a manifest.
public func readFile(_ path: Path, limit: Int) throws(DiskError) -> [UInt8] {
  let folder = try Disk.openFolder(path.parent)
  let file = try Disk.openToRead(path.name, in: folder)
  return try Disk.readAll(file, limit: limit, path: path)
}
