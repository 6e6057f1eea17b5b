import Platform

/// One thing `list` shows.
public struct TakeEntry: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    case sealed
    case partial(recording: Bool)
    /// A partial take that recovery couldn't read, and the name it has now.
    case unreadable(Path)
  }
  public var folder: Path
  public var name: TakeName
  public var kind: Kind
  public var size: Int64

  public var path: Path { folder.appending(name.audio) }
}

/// A folder of takes.
public enum TakesFolder {
  /// `$XDG_DATA_HOME/holdfast/takes`, else `~/.local/share/holdfast/takes`; nil where neither is set to an absolute path.
  public static func standard(_ environment: (String) -> Path?) -> Path? {
    let data: Path?
    if let set = environment("XDG_DATA_HOME"), set.isAbsolute {
      data = set
    } else if let home = environment("HOME"), home.isAbsolute {
      data = home.appending(".local").appending("share")
    } else {
      data = nil
    }
    return data?.appending("holdfast").appending("takes")
  }

  /// A name for a new take: the time in UTC to the millisecond, so that text order is the order taken.
  ///
  /// Where the newest take is stamped later than now, as after a step of the wall clock back, the new one comes
  /// just behind it; a stamp more than two days ahead is taken for a clock that was wrong, and left alone.
  public static func newName(in folder: Path, now: Int64 = Stamp.wallMilliseconds) throws(DiskError)
    -> TakeName
  {
    let parent = try Disk.openFolder(folder)
    let names = try Disk.names(parent, path: folder)
    let horizon = Array((Stamp.compact(now + 2 * 86_400_000) + ".opus").utf8)
    let taken = names.map { $0.droppingSuffix(".partial") }.filter { isStamped($0) }.map(\.bytes)
    let newest = taken.filter { $0.lexicographicallyPrecedes(horizon) }.max {
      $0.lexicographicallyPrecedes($1)
    }
    var stamp = now
    while true {
      let name = Path(Stamp.compact(stamp) + ".opus")
      if let newest, !newest.lexicographicallyPrecedes(name.bytes) {
        stamp = max(stamp + 1, (milliseconds(newest) ?? stamp) + 1)
        continue
      }
      if !taken.contains(name.bytes) { return TakeName(audio: name) }
      stamp += 1
    }
  }

  /// Names of the form `20261101T090000.123Z.opus`.
  private static func isStamped(_ name: Path) -> Bool { milliseconds(name.bytes) != nil }
  private static func milliseconds(_ name: [UInt8]) -> Int64? {
    guard name.count == 25, name.suffix(5).elementsEqual(".opus".utf8) else { return nil }
    return Stamp.milliseconds(compact: Array(name[..<20]))
  }

  /// The partial takes of a folder, also those of which only the folder is left to be removed, by name.
  public static func partials(_ folder: Path) throws(DiskError) -> [TakeName] {
    let parent = try Disk.openFolder(folder)
    return try Disk.names(parent, path: folder).filter {
      $0.hasSuffix(".opus.partial") && Disk.identity($0, in: parent)?.kind == .folder
    }.map { TakeName(audio: $0.droppingSuffix(".partial")) }
  }

  /// Takes and partial takes of a folder, by name.
  public static func list(_ folder: Path) throws(DiskError) -> [TakeEntry] {
    let parent = try Disk.openFolder(folder)
    var entries: [TakeEntry] = []
    for name in try Disk.names(parent, path: folder) {
      guard let identity = Disk.identity(name, in: parent) else { continue }
      if name.hasSuffix(".opus.partial"), identity.kind == .folder {
        let take = TakeName(audio: name.droppingSuffix(".partial"))
        var audio: Int64?
        if let inside = try? Disk.openFolder(name, in: parent) {
          audio = Disk.identity(TakeName.Inside.audio, in: inside)?.size
        }
        // Sealed, but for the removal of what is left: the take is listed under its name.
        if audio == nil, Disk.identity(take.audio, in: parent)?.kind == .file,
          !PartialFolder.isRecording(take, in: parent)
        {
          continue
        }
        entries.append(
          TakeEntry(
            folder: folder, name: take,
            kind: .partial(recording: PartialFolder.isRecording(take, in: parent)),
            size: audio ?? 0))
      } else if identity.kind == .folder, let take = TakeName(unreadable: name) {
        entries.append(TakeEntry(folder: folder, name: take, kind: .unreadable(name), size: 0))
      } else if name.hasSuffix(".opus"), identity.kind == .file {
        entries.append(
          TakeEntry(folder: folder, name: TakeName(audio: name), kind: .sealed, size: identity.size))
      }
    }
    return entries
  }
}
