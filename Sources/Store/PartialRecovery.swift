import Glibc
import Platform
import Session

/// An `audio.opus` of a partial take, open to read and write. One thread at a time.
public final class OpenAudio: Sendable {
  let descriptor: Descriptor
  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  public var raw: Int32 { descriptor.raw }
  public var size: Int64 { Disk.identity(descriptor)?.size ?? 0 }
  /// When it was written last, ms since 1970.
  public var modifiedMs: Int64 { (Disk.identity(descriptor)?.modified ?? 0) / 1_000_000 }
  public func sync(path: Path) throws(DiskError) { try Disk.syncData(descriptor, path: path) }
}

/// What recovery reads and writes in a partial take. The lock is held; each step may be killed, and done again.
extension PartialFolder {
  public var contents: PartialContents { PartialContents(inside, recording: false) }

  /// Opens `audio.opus` to read and write; nil where there is none, or something that is no file of ours.
  static func openAudio(in inside: borrowing Descriptor) throws(DiskError) -> OpenAudio? {
    do throws(DiskError) { return OpenAudio(try Disk.openToWrite(TakeName.Inside.audio, in: inside)) } catch {
      guard [ENOENT, ELOOP, EINVAL, ENXIO, EISDIR].contains(error.errno.code) else { throw error }
      return nil
    }
  }
  /// The manifest that an interrupted seal has left here; nil where there is none.
  public func manifest(limit: Int) throws(DiskError) -> [UInt8]? {
    do throws(DiskError) {
      return try PartialContents.whole(TakeName.Inside.manifest, in: inside, limit: limit)
    } catch {
      guard error.errno.code == ENOENT else { throw error }
      return nil
    }
  }
  /// Sealed takes of this name, and the free names that follow on it, with their manifests.
  public func sealedTakes(limit: Int) throws(DiskError) -> [(name: TakeName, manifest: [UInt8])] {
    var takes: [(TakeName, [UInt8])] = []
    var number = 1
    var take = name
    while number < 1_000, Disk.identity(take.audio, in: parent)?.kind == .file {
      do throws(DiskError) {
        takes.append((take, try PartialContents.whole(take.manifest, in: parent, limit: limit)))
      } catch {
        guard [ENOENT, ELOOP, EINVAL, ENXIO].contains(error.errno.code) else { throw error }
      }
      number += 1
      take = name.alternative(number)
    }
    return takes
  }
  /// When its recorder wrote last, ms since 1970; nil where that can't be told. Of files that recovery doesn't write.
  /// For how long its recorder lived on without writing its ledger, which gets a record a second while sound is kept: it
  /// touches its lock with every sync, also where the disk takes nothing else. Nil where that can't be told.
  public var silentMs: Int64? {
    guard let lock = Disk.identity(TakeName.Inside.lock, in: inside),
      let ledger = Disk.identity(TakeName.Inside.ledger, in: inside)
    else { return nil }
    return (lock.modified - ledger.modified) / 1_000_000
  }
  public var lastWrittenMs: Int64? {
    ([TakeName.Inside.ledger] + TakeName.Inside.tails).compactMap {
      Disk.identity($0, in: inside).map { $0.modified / 1_000_000 }
    }.max()
  }
  /// Takes beside this one that have a size, as where it was committed under another free name.
  public func takes(ofSize size: Int64) throws(DiskError) -> [TakeName] {
    try Disk.names(parent, path: folder).filter {
      guard $0.hasSuffix(".opus"), let there = Disk.identity($0, in: parent) else { return false }
      return there.kind == .file && there.size == size
    }.map { TakeName(audio: $0) }
  }
  public func path(of take: TakeName) -> Path { folder.appending(take.audio) }

  /// Copies what will be cut off, or is torn, to a file that goes to the trash with the seal. Once: a recovery that was
  /// killed has seen more of it.
  func keepAside(_ file: borrowing Descriptor, from start: Int64, as name: Path) throws(DiskError) {
    guard Disk.identity(name, in: inside) == nil, let now = Disk.identity(file), now.size > start else {
      return
    }
    try Disk.remove(TakeName.Inside.copy, in: inside)
    let copy = try Disk.create(TakeName.Inside.copy, in: inside)
    let path = partialPath.appending(name)
    try Disk.copy(file, from: start, size: now.size - start, to: copy, path: path)
    try Disk.syncData(copy, path: path)
    try Disk.rename(TakeName.Inside.copy, in: inside, to: name, in: inside)
  }
  /// Keeps whole copies of a torn ledger and of torn tails.
  public func keepAside(ledger: Bool, tails: [Bool]) throws(DiskError) {
    var wanted: [(Path, Path)] = ledger ? [(TakeName.Inside.ledger, TakeName.Inside.cutLedger)] : []
    for (i, torn) in tails.enumerated() where torn {
      wanted.append((TakeName.Inside.tails[i], TakeName.Inside.cutTails[i]))
    }
    for (name, aside) in wanted {
      guard let file = try? Disk.openToRead(name, in: inside), Disk.identity(file)?.kind == .file else {
        continue
      }
      try keepAside(file, from: 0, as: aside)
    }
  }

  /// Writes the end of the stream behind the whole pages of `audio.opus`. What stood there is kept aside.
  public func complete(_ audio: OpenAudio, kept: Int64, end: [UInt8]) throws(DiskError) {
    let path = partialPath.appending(TakeName.Inside.audio)
    try keepAside(audio.descriptor, from: kept, as: TakeName.Inside.cutAudio)
    try withReserve { () throws(DiskError) in
      try Disk.write(end.span, to: audio.descriptor, at: kept, path: path)
    }
    try Disk.truncate(audio.descriptor, to: kept + Int64(end.count), path: path)
    try audio.sync(path: path)
  }

  /// Puts a new `audio.opus` in the old one's place, in one step.
  ///
  /// - Parameters:
  ///   - keepOld: the old one goes to the trash with the seal.
  ///   - next: the new one's bytes from an offset on, at most 256 KiB of them; none at the end.
  /// - Returns: the new one, open.
  public func replaceAudio(
    keepOld: Bool, _ next: (Int64) throws(DiskError) -> [UInt8]
  ) throws(DiskError) -> OpenAudio {
    let new = TakeName.Inside.newAudio
    let path = partialPath.appending(new)
    try Disk.remove(new, in: inside)
    let file = try Disk.create(new, in: inside)
    var at: Int64 = 0
    while true {
      let bytes = try next(at)
      if bytes.isEmpty { break }
      try withReserve { () throws(DiskError) in try Disk.write(bytes.span, to: file, at: at, path: path) }
      at += Int64(bytes.count)
    }
    try Disk.syncData(file, path: path)
    if Disk.identity(TakeName.Inside.audio, in: inside) == nil {
      try Disk.rename(new, in: inside, to: TakeName.Inside.audio, in: inside)
    } else {
      try Disk.exchange(new, TakeName.Inside.audio, in: inside)  // from here on `new` names the old one
      if !keepOld { try Disk.remove(new, in: inside) }
    }
    try Disk.syncFolder(inside, path: partialPath)
    _ = try Disk.lock(file, path: path)
    return OpenAudio(file)
  }

  /// Seals what recovery made of it.
  public func seal(manifest: [UInt8], audio: OpenAudio, size: Int64) throws(SealError) -> SealedFile {
    let path = partialPath.appending(TakeName.Inside.audio)
    return try seal(manifest: manifest, audio: audio.descriptor, size: size, head: []) {
      () throws(DiskError) in
      try Disk.syncData(audio.descriptor, path: path)
    }
  }
}
