import Platform

/// The names that belong to one take. All lie in one folder.
public struct TakeName: Sendable, Equatable {
  public let audio: Path  // NAME.opus

  /// - Parameter audio: a bare file name ending in `.opus`.
  public init(audio: Path) { self.audio = audio }

  public var stem: Path { audio.droppingSuffix(".opus") }
  public var partial: Path { audio.addingSuffix(".partial") }
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
    static let all = [audio, ledger, tails[0], tails[1], reserve, manifest, lock]
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
  case disk(DiskError)
}
