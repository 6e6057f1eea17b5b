import Platform
import Session
import Synchronization

/// The two tail files, used in turn.
///
/// Packets that aren't in a page yet go to the current tail. When a page has been written a new tail begins in the
/// other file, and the old one stays as it is until that page is synced; only then is it emptied, and free to be begun
/// anew. While it isn't free the current tail simply goes on. Nothing is overwritten that a power cut could need.
///
/// The store thread writes, the sync thread syncs.
final class Tails: Sendable {
  private let first: Descriptor
  private let second: Descriptor
  private struct State {
    var current = 0
    var generation: UInt32 = 0
    var end: Int64 = 0  // of the current file; 0 before its header
    var turnDue = false  // a page was written since the current tail began
    /// Audio size that must be synced before the other file may be emptied; nil where it is empty.
    var otherNeededUntil: Int64?
    var audioEnd: Int64 = 0
  }
  private let state = Mutex(State())

  init(in folder: borrowing Descriptor) throws(DiskError) {
    first = try Disk.create(TakeName.Inside.tails[0], in: folder)
    second = try Disk.create(TakeName.Inside.tails[1], in: folder)
  }

  /// Goes on with the tails of a partial take: one file gets all packets that are pending, then the other is emptied.
  ///
  /// - Parameter pending: their records.
  init(replacing pending: [UInt8], in folder: borrowing Descriptor, path: Path) throws(DiskError) {
    var generations: [UInt32] = []
    for name in TakeName.Inside.tails {
      generations.append(
        TailContents(PartialContents.read(name, in: folder, limit: Tail.headerSize)).generation ?? 0)
    }
    let target = generations[0] < generations[1] ? 0 : 1
    let generation = max(generations[0], generations[1]) &+ 1
    try Disk.remove(TakeName.Inside.copy, in: folder)
    let new = try Disk.create(TakeName.Inside.copy, in: folder)
    let bytes = Tail.header(generation: generation) + pending
    try Disk.write(bytes.span, to: new, at: 0, path: path)
    try Disk.syncData(new, path: path)
    try Disk.replace(TakeName.Inside.copy, with: TakeName.Inside.tails[target], in: folder)
    try Disk.syncFolder(folder, path: path)
    let other = try Disk.openOrCreate(TakeName.Inside.tails[1 - target], in: folder)
    try Disk.truncate(other, to: 0, path: path)
    if target == 0 {
      first = new
      second = other
    } else {
      first = other
      second = new
    }
    state.withLock {
      $0.current = target
      $0.generation = generation
      $0.end = Int64(bytes.count)
    }
  }

  /// Copies of the two files of a take whose folder has gone, which it goes on with.
  init(copying other: Tails, in folder: borrowing Descriptor, path: Path) throws(DiskError) {
    first = try Disk.create(TakeName.Inside.tails[0], in: folder)
    second = try Disk.create(TakeName.Inside.tails[1], in: folder)
    let now = other.state.withLock { $0 }
    try Disk.copy(other.first, size: Disk.identity(other.first)?.size ?? 0, to: first, path: path)
    try Disk.copy(other.second, size: Disk.identity(other.second)?.size ?? 0, to: second, path: path)
    state.withLock { $0 = now }
  }

  func pageWritten(audioEnd: Int64) {
    state.withLock {
      $0.turnDue = true
      $0.audioEnd = audioEnd
    }
  }

  func append(_ records: Span<UInt8>, syncedAudioEnd: Int64, path: Path) throws(DiskError) {
    var s = state.withLock { $0 }
    if let needed = s.otherNeededUntil, syncedAudioEnd >= needed {
      try write(1 - s.current) { file throws(DiskError) in try Disk.truncate(file, to: 0, path: path) }
      s.otherNeededUntil = nil
    }
    if s.turnDue, s.end > 0, s.otherNeededUntil == nil {
      s.otherNeededUntil = s.audioEnd
      s.current = 1 - s.current
      s.end = 0
    }
    s.turnDue = false
    if s.end == 0 {
      let header = Tail.header(generation: s.generation &+ 1)
      try write(s.current) { file throws(DiskError) in
        try Disk.write(header.span, to: file, at: 0, path: path)
      }
      s.generation &+= 1
      s.end = Int64(header.count)
    }
    let end = s.end
    try write(s.current) { file throws(DiskError) in try Disk.write(records, to: file, at: end, path: path) }
    s.end += Int64(records.count)
    let done = s
    state.withLock { $0 = done }
  }

  private func write(
    _ index: Int, _ body: (borrowing Descriptor) throws(DiskError) -> Void
  ) throws(DiskError) {
    if index == 0 { try body(first) } else { try body(second) }
  }

  func sync(path: Path) throws(DiskError) {
    try Disk.syncData(first, path: path)
    try Disk.syncData(second, path: path)
  }
}
