import Glibc
import Platform

/// One entry of the trash, by the names in it. What nobody but Holdfast can have put there is known by its name and kind.
public struct TrashEntry: Sendable, Equatable {
  public enum Item: Sendable, Equatable {
    case sealed(TakeName)
    case partial(TakeName)
    case manifest(TakeName)
    /// What recovery cut off, or kept of a damaged file.
    case cut(Path)
    /// An export that another replaced.
    case export(Path)
    /// A partial take that is just being deleted, or was when somebody killed the one who did it.
    case dying(Path)
    case note
    /// A link, somebody else's file or folder: not followed, not deleted.
    case foreign(Path)
  }
  public var name: Path
  public var stamp: TrashStamp
  public var items: [Item]

  /// - Parameter name: nil is returned for one that no entry has.
  static func milliseconds(_ name: Path) -> Int64? {
    let bytes = name.bytes
    guard bytes.count == 27, bytes[20] == UInt8(ascii: "-"),
      bytes[21...].allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    return Stamp.milliseconds(compact: Array(bytes[..<20]))
  }
  public static func isName(_ name: Path) -> Bool { milliseconds(name) != nil }

  /// The takes that can be brought back.
  public var takes: [TakeName] {
    items.compactMap { item in
      switch item {
      case .sealed(let take), .partial(let take): take
      case .manifest, .cut, .export, .dying, .note, .foreign: nil
      }
    }
  }
  /// What is in it that is no take.
  public var rest: [Path] {
    items.compactMap { item in
      switch item {
      case .manifest(let take): take.manifest
      case .cut(let name), .export(let name), .foreign(let name): name
      case .sealed, .partial, .dying, .note: nil
      }
    }
  }
  public func has(_ item: Item) -> Bool { items.contains(item) }
  /// Whether there is nothing in it that anybody could miss.
  public var isEmpty: Bool { takes.isEmpty && rest.isEmpty }

  static let dyingSuffix = ".expired"

  init(_ name: Path, stamped: Int64, in trash: borrowing Descriptor) throws(DiskError) {
    let inside = try Disk.openFolder(name, in: trash)
    let names = try Disk.names(inside, path: name)
    var note: TrashStamp.Boot?
    if names.contains(Trash.note) {
      note = TrashStamp.Boot(note: PartialContents.read(Trash.note, in: inside, limit: 256))
    }
    let times = Disk.times(name, in: trash) ?? (stamped, stamped)
    self.name = name
    stamp = TrashStamp(named: stamped, modified: times.modified, changed: times.changed, boot: note)
    items = names.map { Self.item($0, in: inside) }
  }

  private static func item(_ name: Path, in inside: borrowing Descriptor) -> Item {
    switch Disk.identity(name, in: inside)?.kind {
    case .file where name == Trash.note: .note
    case .file where name.hasSuffix(".opus"): .sealed(TakeName(audio: name))
    case .file where name.hasSuffix(".take.json"):
      .manifest(TakeName(audio: name.droppingSuffix(".take.json").addingSuffix(".opus")))
    case .file where TakeName.Inside.cut.contains(name): .cut(name)
    case .file where name.hasSuffix(".wav") || name.hasSuffix(".flac"): .export(name)
    case .folder where name.hasSuffix(dyingSuffix) && isOurs(name, in: inside): .dying(name)
    case .folder where name.hasSuffix(".opus.partial") && holdsTake(name, in: inside):
      .partial(TakeName(audio: name.droppingSuffix(".partial")))
    case .folder where name.hasSuffix(".opus.partial") && isOurs(name, in: inside): .dying(name)
    default: .foreign(name)
    }
  }
  static func holdsTake(_ name: Path, in inside: borrowing Descriptor) -> Bool {
    guard let folder = try? Disk.openFolder(name, in: inside) else { return false }
    let telling = [TakeName.Inside.audio, TakeName.Inside.ledger] + TakeName.Inside.tails
    return telling.contains { Disk.identity($0, in: folder)?.kind == .file }
  }
  /// Whether a folder holds nothing but files of a partial take; one that can't be read doesn't.
  static func isOurs(_ name: Path, in inside: borrowing Descriptor) -> Bool {
    guard let folder = try? Disk.openFolder(name, in: inside),
      let names = try? Disk.names(folder, path: name)
    else { return false }
    return names.allSatisfy {
      TakeName.Inside.isRemoved($0)
        || (TakeName.Inside.all + TakeName.Inside.cut).contains($0)
          && Disk.identity($0, in: folder)?.kind == .file
    }
  }
}

extension Trash {
  public func path(of entry: TrashEntry) -> Path { folder.appending(Self.name).appending(entry.name) }

  /// All entries, by name; what lies in the trash under other names is nobody's business.
  public func entries() throws(DiskError) -> [TrashEntry] {
    try entries(in: try Disk.openFolder(folder))
  }
  func entries(in parent: borrowing Descriptor) throws(DiskError) -> [TrashEntry] {
    let path = folder.appending(Self.name)
    let trash: Descriptor
    do throws(DiskError) { trash = try Disk.openFolder(Self.name, in: parent) } catch {
      if error.errno.code == ENOENT { return [] }
      throw error.at(path)
    }
    var entries: [TrashEntry] = []
    for name in try Disk.names(trash, path: path) {
      guard let stamped = TrashEntry.milliseconds(name), Disk.identity(name, in: trash)?.kind == .folder,
        let entry = try? TrashEntry(name, stamped: stamped, in: trash)
      else { continue }
      entries.append(entry)
    }
    return entries
  }

  // MARK: bringing back

  /// Moves files of an entry back beside the takes, in this order, never over anything.
  ///
  /// Killed at any step, each of them is here or there, and it can be done again.
  public func putBack(_ names: [Path], of entry: Path) throws(DiskError) {
    let parent = try Disk.openFolder(folder)
    let trash = try Disk.openFolder(Self.name, in: parent)
    let inside = try Disk.openFolder(entry, in: trash)
    for name in names { try Disk.rename(name, in: inside, to: name, in: parent) }
    try Disk.syncFolder(parent, path: folder)
    try Disk.syncFolder(inside, path: entry)
    // The take is back; an empty entry that stays is told by nobody, and goes when it is old.
    guard let left = try? Disk.names(inside, path: entry), left.allSatisfy({ $0 == Self.note }) else {
      return
    }
    try? Disk.remove(Self.note, in: inside)
    try? Disk.removeFolder(entry, in: trash)
  }

  /// What stands beside the takes under a name.
  public func kindBeside(_ name: Path) -> FileKind? {
    guard let parent = try? Disk.openFolder(folder) else { return nil }
    return Disk.identity(name, in: parent)?.kind
  }

  // MARK: deleting

  /// Deletes the entries that are older than 7 days by all that is known of them.
  ///
  /// - Returns: those that are gone.
  @discardableResult
  public func sweep(
    now: Int64 = Stamp.wallMilliseconds, boot: TrashStamp.Boot? = .now
  ) throws(DiskError) -> [TrashEntry] {
    try sweep(in: try Disk.openFolder(folder), now: now, boot: boot)
  }
  @discardableResult
  func sweep(
    in parent: borrowing Descriptor, now: Int64 = Stamp.wallMilliseconds, boot: TrashStamp.Boot? = .now
  ) throws(DiskError) -> [TrashEntry] {
    var gone: [TrashEntry] = []
    for entry in try entries(in: parent) where entry.stamp.isExpired(now: now, boot: boot) {
      if (try? delete(entry, in: parent)) == true { gone.append(entry) }
    }
    return gone
  }

  /// Deletes an entry. One with anything in it that isn't Holdfast's, or that a recorder has open, stays whole.
  ///
  /// - Returns: whether it is gone.
  public func delete(_ entry: TrashEntry) throws(DiskError) -> Bool {
    try delete(entry, in: try Disk.openFolder(folder))
  }
  private func delete(_ entry: TrashEntry, in parent: borrowing Descriptor) throws(DiskError) -> Bool {
    let trash = try Disk.openFolder(Self.name, in: parent)
    let inside = try Disk.openFolder(entry.name, in: trash)
    for item in entry.items {
      switch item {
      case .foreign: return false
      case .partial(let take)
      where !TrashEntry.isOurs(take.partial, in: inside) || PartialFolder.isRecording(take, in: inside):
        return false
      default: break
      }
    }
    for item in entry.items {
      switch item {
      case .sealed(let take): try Disk.remove(take.audio, in: inside)
      case .manifest(let take): try Disk.remove(take.manifest, in: inside)
      case .cut(let name), .export(let name): try Disk.remove(name, in: inside)
      case .dying(let name): try remove(name, in: inside)
      case .partial(let take):
        // Claimed in one step: whoever brings it back meanwhile has it whole, or finds nothing.
        let dying = take.partial.droppingSuffix(".partial").addingSuffix(TrashEntry.dyingSuffix)
        try Disk.rename(take.partial, in: inside, to: dying, in: inside)
        try remove(dying, in: inside)
      case .note, .foreign: break
      }
    }
    try Disk.remove(Self.note, in: inside)
    do throws(DiskError) { try Disk.removeFolder(entry.name, in: trash) } catch {
      guard error.errno.code == ENOTEMPTY || error.errno.code == EEXIST else { throw error }
      return false
    }
    return true
  }
  private func remove(_ name: Path, in inside: borrowing Descriptor) throws(DiskError) {
    guard TrashEntry.isOurs(name, in: inside) else { return }
    let folder = try Disk.openFolder(name, in: inside)
    for file in try Disk.names(folder, path: name) { try Disk.remove(file, in: folder) }
    try Disk.removeFolder(name, in: inside)
  }
}

extension PartialFolder {
  /// Deletes what the trash beside the take has kept for longer than 7 days; a trash that can't be read is left alone.
  public func sweepTrash() { _ = try? Trash(folder: folder).sweep(in: parent) }
}
