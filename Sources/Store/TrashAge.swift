import Platform

/// What tells the age of an entry of the trash. Pure.
///
/// The entry's own stamps are a wall clock's, and that may have been wrong when it was put there or be wrong now. An entry
/// is as old as the youngest that anything says of it: a clock that is a year ahead must not cost a voice.
public struct TrashStamp: Sendable, Equatable {
  /// A moment that no wall clock touches, good within one run of the machine.
  public struct Boot: Sendable, Equatable {
    public var id: String
    /// Since the machine started, time asleep included.
    public var nanoseconds: Int64

    public init(id: String, nanoseconds: Int64) {
      self.id = id
      self.nanoseconds = nanoseconds
    }
    /// As the entry's note has it.
    init?(note bytes: [UInt8]) {
      let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      guard words.count == 3, words[0] == "boot", let nanoseconds = Int64(words[2]), nanoseconds >= 0 else {
        return nil
      }
      self.init(id: String(words[1]), nanoseconds: nanoseconds)
    }
    var note: [UInt8] { Array("boot \(id) \(nanoseconds)\n".utf8) }

    public static var now: Boot? {
      guard let folder = try? Disk.openFolder(Path("/proc/sys/kernel/random")),
        let file = try? Disk.openToRead(Path("boot_id"), in: folder),
        let bytes = try? Disk.readAll(file, limit: 64, path: Path("boot_id"))
      else { return nil }
      let id = String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
      return id.isEmpty ? nil : Boot(id: id, nanoseconds: Stamp.bootNanoseconds)
    }
  }

  /// Milliseconds since 1970: the entry's name, and its folder's times.
  public var named: Int64
  public var modified: Int64
  public var changed: Int64
  /// When it was put there; nil where the entry doesn't say.
  public var boot: Boot?

  public init(named: Int64, modified: Int64, changed: Int64, boot: Boot? = nil) {
    (self.named, self.modified, self.changed, self.boot) = (named, modified, changed, boot)
  }

  /// How long the trash keeps an entry: 7 days, in ms.
  public static let kept: Int64 = 7 * 86_400_000
  /// 2026-01-01: there was no Holdfast before it. An older stamp is that of a clock that nobody had set.
  static let earliest: Int64 = 1_767_225_600_000

  /// - Parameters:
  ///   - now: ms since 1970.
  ///   - boot: the same moment on the clock of this boot; nil where that isn't known.
  /// - Returns: ms; 0 for an entry of the future.
  public func age(now: Int64, boot: Boot?) -> Int64 {
    var age = min(now - named, now - modified, now - changed)
    if let boot, let mine = self.boot, mine.id == boot.id {
      age = min(age, (boot.nanoseconds - mine.nanoseconds) / 1_000_000)
    }
    return named < Self.earliest ? 0 : max(0, age)
  }
  public func isExpired(now: Int64, boot: Boot?) -> Bool { age(now: now, boot: boot) > Self.kept }

  /// Whether it came before another one: by the clock of the boot where both have it, else by the stamps.
  public func precedes(_ other: TrashStamp) -> Bool {
    if let a = boot, let b = other.boot, a.id == b.id { return a.nanoseconds < b.nanoseconds }
    return named < other.named
  }
}
