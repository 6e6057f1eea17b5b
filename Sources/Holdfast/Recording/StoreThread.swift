import Encoding
import Glibc
import Platform
import Session
import Store
import Synchronization

/// Everything between the packets and the disk: pages, digest, tails, ledger. One thread runs it.
///
/// A write that fails is tried again, at the same place with the same bytes, while the queue bridges the time. When the
/// patience is over, or a stop comes upon it, the thread takes what comes into memory, and the seal stores of it what it can.
final class StoreThread: @unchecked Sendable {
  /// How long a live take waits for its disk: what the queue holds.
  static let patience: Int64 = 60_000_000_000
  private static let rest: Int64 = 100_000_000
  /// Bytes that the seal needs for itself on a full disk, beside the ledger that the manifest embeds in Base64.
  private static let manifestRoom: Int64 = 16_384

  private let queue: StoreQueue
  private let box: PartialBox
  private let writer: OggOpusWriter
  private let digest: Digest
  private let patience: Int64
  private let news: DiskNews
  private let hurried = Atomic<Bool>(false)
  private let wake = CountingSemaphore()
  private var tail: [UInt8] = []
  /// A page that the disk refused: sealing writes it first.
  private var refused: [UInt8] = []
  /// Packets that came when the disk was given up.
  private var unstored: [[UInt8]] = []
  private var ledger: [UInt8] = []
  /// The ledger as it stands on the disk, without level summaries but the newest; the manifest embeds it.
  private(set) var records: [LedgerRecord]
  /// Why the disk was given up.
  private(set) var failure: DiskError?
  /// Packets that the disk has, in pages or in the writer's hand for the last one.
  private(set) var packets: Int64 = 0
  private var largestPacket = 0

  /// - Parameter patience: nanoseconds for which a call that fails is tried again.
  init(
    queue: StoreQueue, box: PartialBox, writer: OggOpusWriter, digest: Digest, records: [LedgerRecord],
    patience: Int64, news: DiskNews
  ) {
    self.queue = queue
    self.box = box
    self.writer = writer
    self.digest = digest
    self.patience = patience
    self.news = news
    self.records = records
    packets = writer.packets
  }

  /// The take ends: what fails now isn't waited for. Any thread.
  func hurry() {
    hurried.store(true, ordering: .releasing)
    wake.post()
  }

  /// Runs until the queue has ended.
  func run() {
    var entries: [UInt8] = []
    while queue.take(into: &entries) { store(entries) }
  }

  private func store(_ entries: [UInt8]) {
    tail.removeAll(keepingCapacity: true)
    ledger.removeAll(keepingCapacity: true)
    var at = 0
    while at < entries.count {
      let size = Int(entries[at + 1]) | Int(entries[at + 2]) << 8
      let payload = (at + 3)..<(at + 3 + size)
      if entries[at] == StoreQueue.Entry.packet.rawValue {
        add(entries, payload)
      } else {
        keep(entries[payload])
        ledger += entries[payload]
      }
      at = payload.upperBound
    }
    let (tail, ledger) = (tail, ledger)
    if !tail.isEmpty { persist { (partial) throws(DiskError) in try partial.append(tail: tail.span) } }
    if !ledger.isEmpty { persist { (partial) throws(DiskError) in try partial.append(ledger: ledger.span) } }
  }

  private func add(_ entries: [UInt8], _ payload: Range<Int>) {
    largestPacket = max(largestPacket, payload.count)
    guard failure == nil else {
      unstored.append(Array(entries[payload]))
      return
    }
    let page = writer.add(entries.span.extracting(payload))
    packets += 1  // in the writer's hand, whatever becomes of the page
    if let page {
      guard persist({ (partial) throws(DiskError) in try partial.append(page: page.span) }) else {
        refused = page
        return
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

  // MARK: a disk that fails

  /// Writes, and where that fails goes on trying.
  ///
  /// - Returns: whether it is written; false from the moment on at which the disk was given up.
  @discardableResult
  private func persist(_ body: (PartialTake) throws(DiskError) -> Void) -> Bool {
    guard failure == nil else { return false }
    do throws(DiskError) {
      try attempt(body)
      return true
    } catch { return outlast(error, body) }
  }
  private func attempt(_ body: (PartialTake) throws(DiskError) -> Void) throws(DiskError) {
    try queue.clock.during(.store) { () throws(DiskError) in try box.write(body) }
  }

  private func outlast(_ first: DiskError, _ body: (PartialTake) throws(DiskError) -> Void) -> Bool {
    var error = first
    let deadline = MonotonicTime.now.advanced(by: patience)
    news.onTrouble(.store, error.interruption)
    // What somebody else has cut isn't mended by waiting, nor is this process' own limit of a file's size.
    while error.call != PartialFolder.compare, error.errno.code != EFBIG, !hurried.load(ordering: .acquiring),
      .now < deadline
    {
      _ = wake.wait(until: min(deadline, .now.advanced(by: Self.rest)))
      do throws(DiskError) {
        try attempt(body)
        news.onRecovery(.store, nil)
        return true
      } catch let again {
        if again.interruption != error.interruption { news.onTrouble(.store, again.interruption) }
        error = again
      }
    }
    failure = error
    news.onGivenUp()
    return false
  }

  // MARK: the end

  /// Takes up what the disk never got, as much as it has room for now. Once, when the thread has ended.
  func gather() {
    guard let failure else { return }
    var room = Int64.max
    if failure.errno.isDiskFull {
      let place = box.current.place
      place.releaseReserve()
      let held = refused.count + 52 * largestPacket  // the refused page, and the last one
      let embedded = TakeStory.embedded(records).count / 3 * 4
      room = max(0, (place.freeBytes ?? 0) - Self.manifestRoom - Int64(embedded + held))
    }
    for packet in unstored {
      room -= Int64(packet.count + packet.count / 50 + 2)
      guard room > 0 else { break }
      if let page = writer.add(packet.span) { refused += page }
      packets += 1
    }
    unstored = []
  }

  /// Writes the last page, behind those that were refused, and tells the finished file's size and digest.
  func finish(granule: Int64) throws(DiskError) -> (size: Int64, sha256: String) {
    // A disk that took no packet at all: the stream still needs one, to carry its end.
    if packets == 0 {
      let silence = OpusSilence.monoPacket
      _ = writer.add(silence.span)
    }
    let page = refused + writer.finish(granule: granule)
    let partial = box.current
    try partial.place.withReserve { () throws(DiskError) in try partial.append(page: page.span) }
    digest.update(page.span)
    return (partial.audioSize, Digest.hex(digest.value()))
  }
}

extension DiskError {
  /// What it means for a take.
  var interruption: InterruptionReason {
    if call == PartialFolder.compare { return .folderGone }  // somebody has cut the file
    if errno.isDiskFull { return .diskFull }
    return errno.code == EROFS ? .diskReadonly : .diskError
  }
}
