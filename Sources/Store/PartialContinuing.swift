import Glibc
import Platform
import Session

/// What is put in order in a partial take before recording goes on in it. Killed at any step, it is the take it was.
extension PartialTake {
  /// Goes on with a partial take whose lock is held.
  ///
  /// - Parameters:
  ///   - audio: its `audio.opus`, of which the first `kept` bytes stay: whole pages, none of them the stream's last.
  ///   - head: what the file begins with.
  ///   - ledger: the ledger's new bytes.
  ///   - pending: tail records of all packets behind the pages.
  ///   - tornFrom: from where on the audio is no whole page: that is kept aside.
  public convenience init(
    continuing place: PartialFolder, audio: OpenAudio, kept: Int64, head: [UInt8], ledger: [UInt8],
    pending: [UInt8], reserve: Int64, tornFrom: Int64?
  ) throws(DiskError) {
    // First the packets that only a page to be taken back may hold, then the page; each step is on the disk before the next.
    let tails = try Tails(replacing: pending, in: place.inside, path: place.partialPath)
    let ledgerFile = try place.replace(TakeName.Inside.ledger, with: ledger)
    if let tornFrom { try place.keepAside(audio.descriptor, from: tornFrom, as: TakeName.Inside.cutAudio) }
    try place.cut(audio, to: kept)
    try Disk.remove(TakeName.Inside.manifest, in: place.inside)  // of a seal that was interrupted
    if Disk.identity(TakeName.Inside.reserve, in: place.inside) == nil {
      let file = try Disk.create(TakeName.Inside.reserve, in: place.inside)
      try Disk.allocate(file, size: reserve, path: place.partialPath.appending(TakeName.Inside.reserve))
    }
    try Disk.syncFolder(place.inside, path: place.partialPath)
    self.init(
      place: place, audio: audio, audioSize: kept, ledger: ledgerFile, ledgerSize: Int64(ledger.count),
      tails: tails, headers: head)
  }
}

extension PartialFolder {
  /// Puts a new file in an old one's place, in one step and synced.
  func replace(_ name: Path, with bytes: [UInt8]) throws(DiskError) -> Descriptor {
    let path = partialPath.appending(name)
    try Disk.remove(TakeName.Inside.copy, in: inside)
    let file = try Disk.create(TakeName.Inside.copy, in: inside)
    try Disk.write(bytes.span, to: file, at: 0, path: path)
    try Disk.syncData(file, path: path)
    try Disk.replace(TakeName.Inside.copy, with: name, in: inside)
    return file
  }
  /// Cuts the audio to its whole pages.
  func cut(_ audio: OpenAudio, to kept: Int64) throws(DiskError) {
    guard audio.size > kept else { return }
    let path = partialPath.appending(TakeName.Inside.audio)
    try Disk.truncate(audio.descriptor, to: kept, path: path)
    try audio.sync(path: path)
  }
}
