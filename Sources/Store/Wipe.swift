import Glibc
import Platform

/// Deletes what is Holdfast's in a folder of takes for good. Links are never followed, and nothing goes whose name and kind
/// only Holdfast gives; what a file holds the caller has looked at before.
///
/// Killed between two steps, what is left is still known for what it is, and the next wipe goes on. Keep it on one thread.
public struct Wipe: ~Copyable {
  /// What became of something that was to go.
  public enum Outcome: Sendable, Equatable {
    case gone
    /// A recorder has it open.
    case recording
    /// Somebody else's files lie in it; ours are gone.
    case holdsOthers([Path])
  }

  public let folder: Path
  let parent: Descriptor

  public init(folder: Path) throws(DiskError) {
    self.folder = folder
    parent = try Disk.openFolder(folder)
  }

  /// What stands in the folder, links and all.
  public func names() throws(DiskError) -> [(name: Path, identity: FileIdentity)] {
    try Disk.names(parent, path: folder).compactMap { name in
      Disk.identity(name, in: parent).map { (name, $0) }
    }
  }
  /// Opens a regular file in the folder for reading.
  public func open(_ name: Path) throws(DiskError) -> Descriptor { try Disk.openToRead(name, in: parent) }
  public func read(_ name: Path, limit: Int) throws(DiskError) -> [UInt8] {
    try PartialContents.whole(name, in: parent, limit: limit)
  }
  /// Removes a file, if it is still the one that was looked at.
  public func remove(_ name: Path, seen: FileIdentity) throws(DiskError) {
    guard Disk.identity(name, in: parent)?.isSameFile(as: seen) == true else { return }
    try Disk.remove(name, in: parent)
  }

  // MARK: partial takes

  /// Removes `NAME.opus.partial/`, its lock held meanwhile.
  public func removePartial(_ name: TakeName) throws(OutputError) -> Outcome {
    let place: PartialFolder
    do throws(OutputError) { place = try PartialFolder(opening: name, in: folder) } catch {
      if case .recording = error { return .recording }
      throw error
    }
    do throws(DiskError) {
      let others = try Self.removeFiles(in: place.inside, path: name.partial)
      guard others.isEmpty else { return .holdsOthers(others) }
      try Disk.removeFolder(name.partial, in: parent)
      return .gone
    } catch { throw .disk(error.at(folder.appending(name.partial))) }
  }
  /// Removes a partial take that was set aside.
  public func removeSetAside(_ name: Path) throws(DiskError) -> Outcome {
    try Self.removeFolder(name, in: parent)
  }
  /// Removes nameless folders of recorders that were killed at once; no audio is in them.
  public func sweep() { PartialFolder.sweep(parent, path: folder) }

  /// Whether a folder is a partial take's, by what is in it.
  public func holdsTake(_ name: Path) -> Bool { TrashEntry.holdsTake(name, in: parent) }

  private static func removeFolder(_ name: Path, in parent: borrowing Descriptor) throws(DiskError) -> Outcome
  {
    let inside = try Disk.openFolder(name, in: parent)
    // Held until it is gone: nobody goes on with it meanwhile.
    let lock = try? Disk.openToRead(TakeName.Inside.lock, in: inside)
    let audio = try? Disk.openToRead(TakeName.Inside.audio, in: inside)
    if let lock, try !Disk.lock(lock, path: name) { return .recording }
    if let audio, try !Disk.lock(audio, path: name) { return .recording }
    let others = try removeFiles(in: inside, path: name)
    guard others.isEmpty else { return .holdsOthers(others) }
    try Disk.removeFolder(name, in: parent)
    return .gone
  }
  /// Removes a partial take's files: first what can be heard, the ledger that tells whose it is behind it.
  ///
  /// - Returns: what stays.
  private static func removeFiles(
    in inside: borrowing Descriptor, path: Path
  ) throws(DiskError) -> [Path] {
    let names = try Disk.names(inside, path: path)
    let ours = names.filter { TakeName.Inside.isOurs($0) && Disk.identity($0, in: inside)?.kind == .file }
    let last = [TakeName.Inside.ledger, TakeName.Inside.lock]
    for name in ours where !last.contains(name) { try Disk.remove(name, in: inside) }
    for name in last where ours.contains(name) { try Disk.remove(name, in: inside) }
    try Disk.syncFolder(inside, path: path)
    return names.filter { !ours.contains($0) }
  }

  // MARK: the trash

  /// Removes the takes of an entry that are wanted, and the entry where nothing else is in it.
  ///
  /// - Parameter isWanted: of what an entry holds.
  /// - Returns: what stays of what was wanted, and why.
  public func remove(
    _ entry: TrashEntry, where isWanted: (TrashEntry.Item) -> Bool
  ) throws(DiskError) -> [(name: Path, outcome: Outcome)] {
    let trash = try Disk.openFolder(Trash.name, in: parent)
    let inside = try Disk.openFolder(entry.name, in: trash)
    var kept: [(name: Path, outcome: Outcome)] = []
    for item in entry.items where isWanted(item) {
      switch item {
      case .sealed(let take): try Disk.remove(take.audio, in: inside)
      case .manifest(let take): try Disk.remove(take.manifest, in: inside)
      case .cut(let name), .export(let name): try Disk.remove(name, in: inside)
      case .partial(let take):
        let outcome = try Self.removeFolder(take.partial, in: inside)
        if outcome != .gone { kept.append((take.partial, outcome)) }
      case .dying(let name): _ = try Self.removeFolder(name, in: inside)
      case .note, .foreign: break
      }
    }
    try Disk.syncFolder(inside, path: entry.name)
    if try Disk.names(inside, path: entry.name).allSatisfy({ $0 == Trash.note }) {
      try Disk.remove(Trash.note, in: inside)
      try Disk.removeFolder(entry.name, in: trash)
    }
    try Disk.syncFolder(trash, path: Trash.name)
    return kept
  }

  /// The trash goes where nothing is left in it; then all names are on the disk.
  public func finish() throws(DiskError) {
    if Disk.identity(Trash.name, in: parent)?.kind == .folder {
      try? Disk.removeFolder(Trash.name, in: parent)
    }
    try Disk.syncFolder(parent, path: folder)
  }
}

extension TakeName.Inside {
  /// Whether Holdfast gives this name to a file inside a partial take.
  static func isOurs(_ name: Path) -> Bool {
    if (all + cut).contains(name) || isRemoved(name) { return true }
    // What a kill leaves of an exchange where the file system has none: `audio.new-` and eight digits.
    return [copy, newAudio].contains { kind in
      name.bytes.count == kind.bytes.count + 9 && name.bytes.starts(with: kind.bytes + [UInt8(ascii: "-")])
    }
  }
}
