import Glibc
import Platform
import Session

/// What a partial take's folder holds, read without changing anything.
public struct PartialContents: Sendable {
  public var ledger: LedgerContents
  public var tails: [TailContents]
  public var recording: Bool

  /// Ledgers larger than this are refused: at a take's usual 110 bytes a second that is a week.
  static let ledgerLimit = 64 << 20
  static let tailLimit = 16 << 20

  public init(folder: Path, name: TakeName) throws(DiskError) {
    let parent = try Disk.openFolder(folder)
    let inside = try Disk.openFolder(name.partial, in: parent)
    recording = PartialTake.isRecording(name, in: parent)
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

  private static func read(_ name: Path, in folder: borrowing Descriptor, limit: Int) -> [UInt8] {
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
