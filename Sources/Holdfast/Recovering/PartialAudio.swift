import Encoding
import Platform
import Session
import Store

/// The audio of a partial take as sealing would leave it: whole pages, the tails' packets behind them, an end.
///
/// Read-only: it plans. Pages that the file has whole stay byte for byte; a page that is missing or damaged between two
/// of them is made anew out of the tails, or of silence, so that all that follows keeps its time.
struct PartialAudio {
  /// Where the stream's bytes come from, in order.
  enum Segment: Equatable {
    case file(Range<Int64>)
    case bytes([UInt8])
  }
  /// Packets that are lost between two that aren't.
  struct Hole: Equatable {
    var firstPacket: Int64
    var packets: Int64
    /// Bytes of the file that lay there.
    var offset: Int64
    var bytes: Int64

    /// The next packet is lost too.
    static func grow(_ holes: inout [Hole], by index: Int64, offset: Int64, bytes: Int64) {
      if let last = holes.last, last.firstPacket + last.packets == index {
        holes[holes.count - 1].packets += 1
      } else {
        holes.append(Hole(firstPacket: index, packets: 1, offset: offset, bytes: bytes))
      }
    }
  }
  private(set) var segments: [Segment] = []
  /// Packets in all; none for a take that was killed before its first.
  private(set) var packets: Int64 = 0
  private(set) var preSkip = 0
  private(set) var serial: UInt32 = 0
  /// Decoded frames.
  private(set) var frames: Int64 = 0
  private(set) var holes: [Hole] = []
  /// Bytes at the file's end that belong to no whole page.
  private(set) var cutBytes: Int64 = 0
  /// Packets in the tails that don't follow on what is there.
  private(set) var strandedPackets = 0
  /// Frames that the ledger, or the newest packet of the tails, knows of.
  private(set) var knownFrames: Int64 = 0
  /// The head or tags page was damaged, and is made anew out of the ledger.
  private(set) var headIsRebuilt = false
  /// The file has its last page, with the end-of-stream flag.
  private(set) var isEnded = false
  /// The whole end of a take that had been stopped is there: nothing is lost.
  private(set) var isComplete = false
  /// Where recording can go on; nil where what is there has to be repaired first.
  private(set) var resume: Resume?
  struct Resume {
    /// Bytes of the file that stay: whole pages, none of them the stream's last.
    var kept: Int64
    /// Pages in them, head and tags counted, and audio packets.
    var pages: Int64
    var packets: Int64
    /// Packets behind them that no page holds.
    var pending: [[UInt8]]
  }
  /// The ledger is this stream's.
  private(set) var isOfLedger = true
  /// Pages of audio in the file.
  private(set) var pages: Int64 = 0

  /// - Parameters:
  ///   - read: the bytes of `audio.opus`; nil where there is none.
  ///   - size: its size.
  ///   - continuing: a page that ends the stream is taken back, and all its packets count.
  /// - Returns: nil where neither the file's head nor the ledger tells what stream it is.
  init?(
    audio read: OggReadBytes?, size: Int64, ledger: [LedgerRecord], tails: [TailContents],
    continuing: Bool = false
  ) throws(OpusFileError) {
    var kept: [Int64: [UInt8]] = [:]  // the tails' packets
    for packet in tails.flatMap(\.packets) { kept[packet.index] = packet.bytes }
    var scan = PartialPages(Self.description(ledger), tails: kept)
    if let read {
      var pages = OggPageReader(read: read)
      while !scan.isOver, let item = try pages.next() {
        if case .page(let page) = item { scan.take(page) }
      }
    }
    guard let stream = scan.stream else { return nil }
    isOfLedger = Self.description(ledger).map { $0.serial == stream.serial } ?? true
    (serial, preSkip) = (stream.serial, stream.preSkip)
    knownFrames = max(
      ledger.last?.effectiveFrame ?? 0, ((kept.keys.max() ?? -1) + 1) * Int64(packetFrames) - Int64(preSkip))
    (segments, packets, holes) = (scan.segments, scan.packets, scan.holes)
    (headIsRebuilt, isEnded, pages) = (scan.headIsRebuilt, scan.last?.isEnd ?? false, scan.audioPages)
    cutBytes = max(0, size - scan.end)
    if scan.sequence < 2 {
      // No head, or one without its tags.
      segments = [.bytes(PartialPages.headers(stream))]
      headIsRebuilt = scan.sequence == 0 && size > 0
    }
    if isEnded, !continuing, let last = scan.last {
      frames = max(0, last.granule - Int64(preSkip))
      isComplete = Self.stopFrame(ledger) == frames
      return
    }
    var tail: [[UInt8]] = []
    while !isEnded, let next = kept[packets + Int64(tail.count)] { tail.append(next) }
    // What is missing between the pages and later packets is silence: those are heard, at their time. But for the last
    // second and a half: there a power cut may have left some of the packets, and the first of them make the take.
    let firstMissing = packets + Int64(tail.count)
    if !isEnded, let newest = kept.keys.max(), newest - firstMissing >= Self.shortestBridge,
      newest - firstMissing < Self.longestBridge
    {
      while packets + Int64(tail.count) <= newest {
        let index = packets + Int64(tail.count)
        if kept[index] == nil { Hole.grow(&holes, by: index, offset: scan.end, bytes: cutBytes) }
        tail.append(kept[index] ?? OpusSilence.monoPacket)
      }
    }
    strandedPackets = kept.keys.count { $0 >= packets + Int64(tail.count) }
    var pageCount = max(2, scan.sequence)
    if tail.isEmpty, let last = scan.last, pages > 0 {
      // The end-of-stream flag needs a packet: the last page is written anew.
      tail = last.wholePackets
      packets -= Int64(tail.count)
      pageCount -= 1
      removeLast(Int64(last.size))
    }
    if case .file(let range) = segments[0], range.lowerBound == 0, segments.count == 1, !isDamaged {
      resume = Resume(kept: range.upperBound, pages: pageCount, packets: packets, pending: tail)
    }
    guard !tail.isEmpty else { return }
    let writer = OggOpusWriter(serial: serial, preSkip: preSkip, afterPages: pageCount, packets: packets)
    var end: [UInt8] = []
    for packet in tail { end += writer.add(packet.span) ?? [] }
    packets += Int64(tail.count)
    var granule = packets * Int64(packetFrames)
    // A take that had been stopped ends where it was stopped, if its padded last packet is there.
    if !continuing, let stop = Self.stopFrame(ledger), stop + Int64(preSkip) <= granule,
      stop + Int64(preSkip) > granule - Int64(packetFrames)
    {
      granule = stop + Int64(preSkip)
      isComplete = true
    }
    end += writer.finish(granule: granule)
    segments.append(.bytes(end))
    frames = max(0, granule - Int64(preSkip))
  }

  /// Ends a take without a packet: one that holds nothing but the encoder's delay, and a length of 0 frames.
  mutating func addSilence(_ description: TakeDescription?) throws(RecorderFailure) {
    do throws(OpusError) {
      let encoder = try OpusEncoder(
        EncoderSettings(
          bitrate: description?.bitrate ?? 32_000, complexity: description?.complexity ?? 10))
      var packet = [UInt8](repeating: 0, count: OpusEncoder.largestPacket)
      var room = packet.mutableSpan
      let size = try encoder.encode([Float](repeating: 0, count: packetFrames).span, into: &room)
      let writer = OggOpusWriter(serial: serial, preSkip: preSkip, afterPages: 2, packets: 0)
      _ = writer.add(packet.span.extracting(0..<size))
      segments.append(.bytes(writer.finish(granule: Int64(preSkip))))
      packets = 1
    } catch {
      throw RecorderFailure(code: 74, kind: "encoder", message: "libopus failed: \(error.text)")
    }
  }

  /// What is only appended to the file: its bytes up to `kept`, then `end`. Nil where more has to change.
  var appended: (kept: Int64, end: [UInt8])? {
    switch segments.count {
    case 1:
      if case .file(let range) = segments[0], range.lowerBound == 0 { return (range.upperBound, []) }
    case 2:
      if case .file(let range) = segments[0], range.lowerBound == 0, case .bytes(let end) = segments[1],
        !rewritesPage
      {
        return (range.upperBound, end)
      }
    default: break
    }
    return nil
  }
  private var rewritesPage = false

  private mutating func removeLast(_ size: Int64) {
    rewritesPage = true
    guard case .file(let range)? = segments.last else { return }
    segments[segments.count - 1] = .file(range.lowerBound..<(range.upperBound - size))
  }

  /// Packets that silence may stand for behind the pages: ten minutes.
  private static let longestBridge: Int64 = 30_000
  private static let shortestBridge: Int64 = 75

  /// Audio is lost in the middle, or was cut off.
  var isDamaged: Bool { !holes.isEmpty || headIsRebuilt || strandedPackets > 0 }
  var holeFrames: Int64 { holes.reduce(0) { $0 + $1.packets * Int64(packetFrames) } }

  private static func description(_ ledger: [LedgerRecord]) -> TakeDescription? {
    for record in ledger { if case .begin(let description) = record.event { return description } }
    return nil
  }
  /// Effective frames of a take whose stop, or the front end's leave, stands in the ledger, the last record.
  private static func stopFrame(_ ledger: [LedgerRecord]) -> Int64? {
    guard let last = ledger.last else { return nil }
    switch last.event {
    case .stop, .interruption(.left, _): break
    default: return nil
    }
    return last.effectiveFrame
  }

  /// The whole stream's bytes.
  func bytes(over file: OggReadBytes?) -> OggReadBytes {
    { [segments] offset, target throws(OpusFileError) in
      var start: Int64 = 0
      for segment in segments {
        switch segment {
        case .file(let range):
          if offset < start + Int64(range.count) {
            let at = offset - start
            var part = target._mutatingExtracting(
              0..<Int(min(Int64(target.byteCount), Int64(range.count) - at)))
            return try file?(range.lowerBound + at, &part) ?? 0
          }
          start += Int64(range.count)
        case .bytes(let bytes):
          if offset < start + Int64(bytes.count) {
            let at = Int(offset - start)
            let n = min(target.byteCount, bytes.count - at)
            for i in 0..<n { target.storeBytes(of: bytes[at + i], toByteOffset: i, as: UInt8.self) }
            return n
          }
          start += Int64(bytes.count)
        }
      }
      return 0
    }
  }
  /// Bytes of the whole stream.
  var size: Int64 {
    segments.reduce(0) {
      switch $1 {
      case .file(let range): $0 + Int64(range.count)
      case .bytes(let bytes): $0 + Int64(bytes.count)
      }
    }
  }
}
