import Platform

/// The names that belong to one take. All lie in one folder.
public struct TakeName: Sendable, Equatable {
  public let audio: Path  // NAME.opus

  /// - Parameter audio: a bare file name ending in `.opus`.
  public init(audio: Path) { self.audio = audio }

  /// - Parameter name: `NAME.opus` or `NAME.opus.partial`; nil for anything else.
  public init?(naming name: Path) {
    let audio = name.hasSuffix(".opus.partial") ? name.droppingSuffix(".partial") : name
    guard audio.hasSuffix(".opus") else { return nil }
    self.audio = audio
  }

  public var stem: Path { audio.droppingSuffix(".opus") }
  public var partial: Path { audio.addingSuffix(".partial") }
  /// `NAME.opus.unreadable`, `NAME.opus.unreadable-2` and so on: a partial take that was set aside.
  public func unreadable(_ number: Int) -> Path {
    let suffix = ".opus.unreadable" + (number > 1 ? "-\(number)" : "")
    return Path(bytes: Array(stem.bytes.prefix(255 - suffix.utf8.count))).addingSuffix(suffix)
  }
  /// - Parameter unreadable: the name of a folder; nil where it isn't that of a take set aside.
  public init?(unreadable name: Path) {
    let mark = Array(".opus.unreadable".utf8)
    let bytes = name.bytes
    guard bytes.count > mark.count,
      let at = (1...(bytes.count - mark.count)).last(where: { bytes[$0...].starts(with: mark) }),
      bytes[(at + mark.count)...].allSatisfy({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) })
    else { return nil }
    audio = Path(bytes: Array(bytes[..<at]) + Array(".opus".utf8))
  }
  public var manifest: Path { stem.addingSuffix(".take.json") }
  /// `NAME-2.opus` and so on, cut so that it stays a legal name.
  public func alternative(_ number: Int) -> TakeName {
    let suffix = "-\(number).opus"
    let room = Self.longest - suffix.utf8.count
    return TakeName(audio: Path(bytes: Array(stem.bytes.prefix(room))).addingSuffix(suffix))
  }

  /// 255 bytes a name may have, less `.partial`.
  public static let longest = 247

  /// Files inside `NAME.opus.partial/`.
  public enum Inside {
    public static let audio = Path("audio.opus")
    public static let ledger = Path("ledger")
    public static let tails = [Path("tail.0"), Path("tail.1")]
    public static let lock = Path("lock")
    public static let reserve = Path("reserve")
    public static let manifest = Path("manifest")
    /// A new `audio.opus` before it takes the old one's place.
    static let copy = Path("audio.copy")
    /// Why a take that was set aside can't be read.
    public static let reason = Path("reason")
    /// What recovery cut off: the audio's end or all of it, ledger and tails where they were torn.
    public static let cutAudio = Path("audio.cut")
    /// A repaired `audio.opus` before the exchange, the damaged one after it.
    static let newAudio = Path("audio.new")
    public static let cutLedger = Path("ledger.cut")
    public static let cutTails = [Path("tail.0.cut"), Path("tail.1.cut")]
    static let cut = [cutAudio, newAudio, cutLedger] + cutTails
    /// What the file system is tried on, before and after its rename.
    static let probe = Path("probe")
    static let probed = Path("probed")
    /// What FUSE and NFS call a file that was removed while it is open; it goes when it is closed.
    static func isRemoved(_ name: Path) -> Bool {
      [".fuse_hidden", ".nfs"].contains { name.bytes.starts(with: Array($0.utf8)) }
    }
    /// In the order they are removed: the ledger tells whose the rest is, the lock that somebody is at it.
    static let all = [
      audio, copy, probe, probed, tails[0], tails[1], reserve, manifest, reason, ledger, lock,
    ]
  }
}

/// Why no take can be made under a name.
public enum OutputError: Error, Equatable, Sendable {
  case notOpus  // doesn't end in .opus
  case nameTooLong(Int)
  case noFolder(DiskError)
  case wrongKind(FileKind)  // a folder, a link, a FIFO, a device stands there
  case exists
  case recording  // a live partial take
  case unfinished  // a dead one
  case tooLittleSpace(free: Int64, needed: Int64)
  case blocked(FileKind)  // where the working folder goes stands something else
  case trash(DiskError)  // what would be replaced can't be kept
  case disk(DiskError)
}

extension TakeName {
  /// Whether a take can have it.
  public func check() throws(OutputError) {
    guard audio.hasSuffix(".opus") else { throw .notOpus }
    guard audio.bytes.count <= Self.longest else { throw .nameTooLong(audio.bytes.count) }
  }
}
