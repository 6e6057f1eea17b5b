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
  /// The wanted folder was deleted: this is another.
  public var folderGone = false

  public var path: Path { folder.appending(name.audio) }
}

extension PartialTake {
  /// Seals a take whose last page is written: manifest, syncs, renames. One path for every ending.
  ///
  /// - Parameter manifest: the finished manifest's bytes.
  public func seal(manifest: [UInt8]) throws(SealError) -> SealedFile {
    let partial = partialPath
    func step(
      _ step: SealStep, committed: TakeName? = nil, _ body: () throws(DiskError) -> Void
    ) throws(SealError) {
      do throws(DiskError) { try withReserve(body) } catch {
        throw SealError(
          step: step, cause: error, kept: committed.map { folder.appending($0.audio) } ?? partial,
          committed: committed != nil)
      }
    }
    try step(.manifest) { () throws(DiskError) in try writeManifest(manifest) }
    try step(.sync) { () throws(DiskError) in
      try sync()
      try Disk.syncFolder(inside, path: partial)
    }
    var target = name
    try step(.makeRoom) { () throws(DiskError) in target = try makeRoom() }
    try step(.commit) { () throws(DiskError) in target = try commit(target) }
    let sealed = target
    try step(.moveManifest, committed: sealed) { () throws(DiskError) in try moveManifest(sealed) }
    try step(.syncFolder, committed: sealed) { () throws(DiskError) in
      try Disk.syncFolder(parent, path: folder)
    }
    var file = SealedFile(folder: folder, name: sealed)
    do throws(DiskError) { try removePartial() } catch {
      file.warning = "the take is safe, but its working folder couldn't be removed: \(error.text)"
    }
    return file
  }

  private func writeManifest(_ bytes: [UInt8]) throws(DiskError) {
    try Disk.remove(TakeName.Inside.manifest, in: inside)  // a seal that was tried before left it
    let file = try Disk.create(TakeName.Inside.manifest, in: inside)
    let path = partialPath.appending(TakeName.Inside.manifest)
    try Disk.write(bytes.span, to: file, at: 0, path: path)
    try Disk.syncData(file, path: path)
  }

  /// Moves out of the way what the new take replaces, and a manifest that has no take.
  private func makeRoom() throws(DiskError) -> TakeName {
    let target = name
    let existing = Disk.identity(target.audio, in: parent)
    if let existing {
      guard existing == replaces else {
        return target  // not what we were told to replace: `commit` finds another name
      }
      let trash = Trash(folder: folder)
      try trash.take([target.audio, target.manifest], from: parent)
    } else if Disk.identity(target.manifest, in: parent) != nil {
      try Trash(folder: folder).take([target.manifest], from: parent)
    }
    return target
  }

  /// The commit point. Under the wanted name, or the next free one where another file has appeared meanwhile.
  private func commit(_ wanted: TakeName) throws(DiskError) -> TakeName {
    var target = wanted
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
        target = wanted.alternative(number)
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

  /// Removes our own files, and then the folder: should anything else lie in it, it stays.
  private func removePartial() throws(DiskError) {
    for file in TakeName.Inside.all where file != TakeName.Inside.audio {
      try Disk.remove(file, in: inside)
    }
    try Disk.removeFolder(name.partial, in: parent)
  }

  /// Moves the partial take to the trash.
  ///
  /// - Returns: where it is now.
  public func discard() throws(DiskError) -> Path {
    try Trash(folder: folder).take([name.partial], from: parent)
  }
}
