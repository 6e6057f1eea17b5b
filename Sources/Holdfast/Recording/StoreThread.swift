import Encoding
import Platform
import Session
import Store
import Synchronization

/// Everything between the packets and the disk: pages, digest, tails, ledger. One thread runs it.
final class StoreThread: @unchecked Sendable {
  private let queue: StoreQueue
  private let partial: PartialTake
  private let writer: OggOpusWriter
  private let digest: Digest
  private var tail: [UInt8] = []
  /// A page that the disk refused: sealing writes it first, out of the reserve.
  private var refused: [UInt8] = []
  private var ledger: [UInt8] = []
  /// The ledger as it stands on the disk, without level summaries but the newest; the manifest embeds it.
  private(set) var records: [LedgerRecord]
  private(set) var failure: DiskError?
  private let onFailure: @Sendable (DiskError) -> Void
  /// Packets that the disk has, in pages or in the writer's hand for the last one.
  private(set) var packets: Int64 = 0
  private var tailCount: Int64 = 0

  init(
    queue: StoreQueue, partial: PartialTake, writer: OggOpusWriter, digest: Digest, records: [LedgerRecord],
    onFailure: @escaping @Sendable (DiskError) -> Void
  ) {
    self.queue = queue
    self.partial = partial
    self.writer = writer
    self.digest = digest
    self.onFailure = onFailure
    self.records = records
    packets = writer.packets
  }

  /// Runs until the queue has ended. After a failure it takes what comes and keeps only the events of the ledger.
  func run() {
    var entries: [UInt8] = []
    while queue.take(into: &entries) {
      do throws(DiskError) {
        try queue.clock.during(.store) { () throws(DiskError) in try store(entries) }
      } catch {
        if failure == nil { onFailure(error) }
        failure = failure ?? error
      }
    }
  }

  private func store(_ entries: [UInt8]) throws(DiskError) {
    tail.removeAll(keepingCapacity: true)
    ledger.removeAll(keepingCapacity: true)
    var at = 0
    while at < entries.count {
      let size = Int(entries[at + 1]) | Int(entries[at + 2]) << 8
      let payload = (at + 3)..<(at + 3 + size)
      if entries[at] == StoreQueue.Entry.packet.rawValue {
        if failure == nil { try add(entries, payload) }
      } else {
        keep(entries[payload])
        ledger += entries[payload]
      }
      at = payload.upperBound
    }
    guard failure == nil else { return }
    let (tail, ledger) = (tail, ledger)
    if !tail.isEmpty { try partial.append(tail: tail.span) }
    if !ledger.isEmpty { try partial.append(ledger: ledger.span) }
  }

  private func add(_ entries: [UInt8], _ payload: Range<Int>) throws(DiskError) {
    let page = writer.add(entries.span.extracting(payload))
    packets += 1  // in the writer's hand, whatever becomes of the page
    if let page {
      do throws(DiskError) { try partial.append(page: page.span) } catch {
        refused = page
        throw error
      }
      digest.update(page.span)
      tail.removeAll(keepingCapacity: true)  // those packets are in the page now
    }
    Tail.append(packet: entries[payload], index: packets - 1, to: &tail)
  }

  private func keep(_ bytes: ArraySlice<UInt8>) {
    guard let record = LedgerContents(Ledger.header + bytes).records.first else { return }
    if case .levels = record.event, let last = records.last, case .levels = last.event {
      records.removeLast()
    }
    records.append(record)
  }

  /// Writes the last page, behind one that was refused, and tells the finished file's size and digest.
  func finish(granule: Int64) throws(DiskError) -> (size: Int64, sha256: String) {
    // A disk that took no packet at all: the stream still needs one, to carry its end.
    if packets == 0 {
      let silence = OpusSilence.monoPacket
      _ = writer.add(silence.span)
    }
    let page = refused + writer.finish(granule: granule)
    try partial.place.withReserve { () throws(DiskError) in try partial.append(page: page.span) }
    digest.update(page.span)
    return (partial.audioSize, Digest.hex(digest.value()))
  }
}

/// Syncs the partial take every 500 ms, on a thread of its own: a sync can take as long as the disk likes.
final class SyncThread: Sendable {
  static let interval: Int64 = 500_000_000
  private let partial: PartialTake
  private let clock: DiskClock
  private let stopped = CountingSemaphore()
  /// Called once, where the file system lacks something that the take's promises rest on.
  private let onMissing: @Sendable ([FileSystemGap]) -> Void

  init(partial: PartialTake, clock: DiskClock, onMissing: @escaping @Sendable ([FileSystemGap]) -> Void) {
    self.partial = partial
    self.clock = clock
    self.onMissing = onMissing
  }
  func stop() { stopped.post() }

  func run() {
    var missing: [FileSystemGap] = []
    clock.during(.sync) { missing = partial.place.missingPromises() }
    if !missing.isEmpty { onMissing(missing) }
    var due = MonotonicTime.now.advanced(by: Self.interval)
    while !stopped.wait(until: due) {
      // An error of a sync comes back at the seal, which doesn't go on without one.
      try? clock.during(.sync) { () throws(DiskError) in try partial.sync() }
      due = max(due, .now).advanced(by: Self.interval)
    }
  }
}
