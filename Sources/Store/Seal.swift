import Glibc
import Platform

/// The steps of sealing, in order. Recovery finishes from any of them.
public enum SealStep: String, Sendable, CaseIterable {
  case lastPage = "last_page"
  case manifest
  case sync
  case makeRoom = "make_room"  // a replaced file, or a manifest without its take, goes to the trash
  case commit  // audio.opus becomes NAME.opus: from here on the take is sealed
  case moveManifest = "move_manifest"
  case syncFolder = "sync_folder"
  case cleanUp = "clean_up"
}

/// A seal that stopped. The audio is in exactly one of two places, and this says which.
public struct SealError: Error, Sendable {
  public var step: SealStep
  public var cause: DiskError
  /// Where the audio is: the sealed file once it is committed, else the partial take.
  public var kept: Path
  public var committed: Bool
}

/// Where a sealed take stands.
public struct SealedFile: Sendable, Equatable {
  public var folder: Path
  public var name: TakeName
  /// Something that isn't as it should be though the take is safe, such as a partial folder that can't be removed.
  public var warning: String?

  public var path: Path { folder.appending(name.audio) }
}

extension PartialFolder {
  /// What a `DiskError` names where another program changed a file of ours.
  public static let compare = "compare"

  /// Seals a take whose last page is written: manifest, syncs, renames. One path for every ending.
  ///
  /// - Parameters:
  ///   - manifest: the finished manifest's bytes.
  ///   - audio: the open file that holds the take, `size` bytes of it, beginning with `head`.
  ///   - sync: brings audio, tails and ledger onto the disk.
  public func seal(
    manifest: [UInt8], audio: borrowing Descriptor, size: Int64, head: [UInt8],
    sync: () throws(DiskError) -> Void
  ) throws(SealError) -> SealedFile {
    try step(.manifest) { () throws(DiskError) in try writeManifest(manifest) }
    try step(.sync) { () throws(DiskError) in
      try ownAudio(audio, size: size, head: head)
      try sync()
      try Disk.syncFolder(inside, path: partialPath)
    }
    return try commit(manifest: manifest)
  }

  /// Seals on from a synced manifest.
  ///
  /// - Parameter manifest: its bytes, for the case that somebody removes it meanwhile; nil where only the file has them.
  public func commit(manifest: [UInt8]? = nil) throws(SealError) -> SealedFile {
    try step(.makeRoom) { () throws(DiskError) in try makeRoom() }
    var target = name
    try step(.commit) { () throws(DiskError) in target = try commitAudio() }
    if let manifest, Disk.identity(TakeName.Inside.manifest, in: inside) == nil {
      try step(.moveManifest, committed: target) { () throws(DiskError) in try writeManifest(manifest) }
    }
    return try finish(target)
  }

  /// Seals on from the commit: the audio has its name.
  public func finish(_ sealed: TakeName) throws(SealError) -> SealedFile {
    if Disk.identity(TakeName.Inside.manifest, in: inside) != nil {
      try step(.moveManifest, committed: sealed) { () throws(DiskError) in try moveManifest(sealed) }
    }
    try step(.syncFolder, committed: sealed) { () throws(DiskError) in
      try Disk.syncFolder(parent, path: folder)
    }
    var file = SealedFile(folder: folderNow, name: sealed)
    do throws(DiskError) {
      if let entry = try removePartial() {
        file.warning =
          "the take is safe; files of somebody else's lay in its working folder, and are now in \(entry.display)"
      }
    } catch {
      file.warning = "the take is safe, but its working folder couldn't be removed: \(error.text)"
    }
    return file
  }

  private func step(
    _ step: SealStep, committed: TakeName? = nil, _ body: () throws(DiskError) -> Void
  ) throws(SealError) {
    do throws(DiskError) { try withReserve(body) } catch {
      throw SealError(
        step: step, cause: error, kept: committed.map { folderNow.appending($0.audio) } ?? partialPath,
        committed: committed != nil)
    }
  }

  private func writeManifest(_ bytes: [UInt8]) throws(DiskError) {
    try Disk.remove(TakeName.Inside.manifest, in: inside)  // a seal that was tried before left it
    let file = try Disk.create(TakeName.Inside.manifest, in: inside)
    let path = partialPath.appending(TakeName.Inside.manifest)
    try Disk.write(bytes.span, to: file, at: 0, path: path)
    try Disk.syncData(file, path: path)
  }

  /// Makes sure that `audio.opus` is the file that was written, and as long. One that was removed or replaced comes
  /// back as a copy of what is still open; one that was cut or overwritten at its head isn't sealed.
  private func ownAudio(
    _ audio: borrowing Descriptor, size: Int64, head: [UInt8]
  ) throws(DiskError) {
    let path = partialPath.appending(TakeName.Inside.audio)
    guard let ours = Disk.identity(audio), ours.size == size,
      try Disk.read(audio, at: 0, count: head.count, path: path) == head
    else { throw DiskError(call: Self.compare, path: path, errno: Errno(ESTALE)) }
    let there = Disk.identity(TakeName.Inside.audio, in: inside)
    if there?.isSameFile(as: ours) == true { return }
    try Disk.remove(TakeName.Inside.copy, in: inside)
    let copy = try Disk.create(TakeName.Inside.copy, in: inside)
    try Disk.copy(audio, size: size, to: copy, path: path)
    try Disk.syncData(copy, path: path)
    if there != nil {  // somebody's: it is kept
      try Disk.rename(
        TakeName.Inside.audio, in: inside, to: Path("audio.other-" + Disk.randomHex(bytes: 4)), in: inside)
    }
    try Disk.rename(TakeName.Inside.copy, in: inside, to: TakeName.Inside.audio, in: inside)
  }

  /// Moves out of the way what the new take replaces, and a manifest that has no take.
  private func makeRoom() throws(DiskError) {
    if let existing = Disk.identity(name.audio, in: parent) {
      guard existing == replaces else { return }  // not what we were told to replace: another name is found
      try Trash(folder: folder).take([name.audio, name.manifest], from: parent)
    } else if Disk.identity(name.manifest, in: parent) != nil {
      try Trash(folder: folder).take([name.manifest], from: parent)
    }
  }

  /// The commit point. Under the wanted name, or the next free one where another file has appeared meanwhile.
  private func commitAudio() throws(DiskError) -> TakeName {
    var target = name
    var number = 1
    while true {
      do throws(DiskError) {
        if number > 1, Disk.identity(target.manifest, in: parent) != nil {
          throw DiskError(call: "renameat2", path: target.manifest, errno: Errno(EEXIST))
        }
        try Disk.rename(TakeName.Inside.audio, in: inside, to: target.audio, in: parent)
        return target
      } catch {
        guard error.errno.code == EEXIST, number < 10_000 else { throw error }
        number += 1
        target = name.alternative(number)
      }
    }
  }

  private func moveManifest(_ target: TakeName) throws(DiskError) {
    do throws(DiskError) {
      try Disk.rename(TakeName.Inside.manifest, in: inside, to: target.manifest, in: parent)
    } catch {
      guard error.errno.code == EEXIST else { throw error }
      try Trash(folder: folder).take([target.manifest], from: parent)
      try Disk.rename(TakeName.Inside.manifest, in: inside, to: target.manifest, in: parent)
    }
  }

  /// Removes our own files, and then the folder. What recovery cut off goes to the trash; so does the folder where
  /// anything else lies in it, since its name must be free again.
  ///
  /// - Returns: the trash's entry then, if it is worth a word.
  private func removePartial() throws(DiskError) -> Path? {
    let cut = TakeName.Inside.cut.filter { Disk.identity($0, in: inside) != nil }
    if !cut.isEmpty { try Trash(folder: folder).take(cut, from: inside, trashIn: parent) }
    for file in TakeName.Inside.all where file != TakeName.Inside.audio {
      try Disk.remove(file, in: inside)
    }
    do throws(DiskError) {
      try removeItself()
      return nil
    } catch {
      guard error.errno.code == ENOTEMPTY || error.errno.code == EEXIST else { throw error }
      let left = try Disk.names(inside, path: partialPath)
      let entry = try discard()
      return left.allSatisfy(TakeName.Inside.isRemoved) ? nil : entry
    }
  }
}
