import Encoding
import Platform
import Session
import Store

/// The audio of a partial take as sealing would leave it: whole pages, the tails' packets behind them, an end.
///
/// Read-only: it plans. Pages that the file has whole stay byte for byte; a page that is missing or damaged between two
/// of them is made anew with packets that decode to concealment, so that all that follows keeps its time.
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
  /// The head or tags page was damaged, and is made anew out of the ledger.
  private(set) var headIsRebuilt = false
  /// The file has its last page, with the end-of-stream flag.
  private(set) var isEnded = false
  /// The whole end of a take that had been stopped is there: nothing is lost.
  private(set) var isComplete = false
  /// Pages of audio in the file.
  private(set) var pages: Int64 = 0

  /// - Parameters:
  ///   - read: the bytes of `audio.opus`; nil where there is none.
  ///   - size: its size.
  /// - Returns: nil where neither the file's head nor the ledger tells what stream it is.
  init?(
    audio read: OggReadBytes?, size: Int64, ledger: [LedgerRecord], tails: [TailContents]
  ) throws(OpusFileError) {
    var kept: [Int64: [UInt8]] = [:]  // the tails' packets
    for packet in tails.flatMap(\.packets) { kept[packet.index] = packet.bytes }
    var scan = Scan(Self.description(ledger), tails: kept)
    if let read {
      var pages = OggPageReader(read: read)
      while !scan.isOver, let item = try pages.next() {
        if case .page(let page) = item { scan.take(page) }
      }
    }
    guard let stream = scan.stream else { return nil }
    (serial, preSkip) = (stream.serial, stream.preSkip)
    (segments, packets, holes) = (scan.segments, scan.packets, scan.holes)
    (headIsRebuilt, isEnded, pages) = (scan.headIsRebuilt, scan.last?.isEnd ?? false, scan.audioPages)
    cutBytes = max(0, size - scan.end)
    if scan.sequence < 2 {
      // No head, or one without its tags.
      segments = [.bytes(Scan.headers(stream))]
      headIsRebuilt = scan.sequence == 0 && size > 0
    }
    if isEnded, let last = scan.last {
      frames = max(0, last.granule - Int64(preSkip))
      isComplete = Self.stopFrame(ledger) == frames
      return
    }
    var tail: [[UInt8]] = []
    while let next = kept[packets + Int64(tail.count)] { tail.append(next) }
    strandedPackets = kept.keys.count { $0 >= packets + Int64(tail.count) }
    var pageCount = max(2, scan.sequence)
    if tail.isEmpty, let last = scan.last, pages > 0 {
      // The end-of-stream flag needs a packet: the last page is written anew.
      tail = last.wholePackets
      packets -= Int64(tail.count)
      pageCount -= 1
      removeLast(Int64(last.size))
    }
    guard !tail.isEmpty else { return }
    let writer = OggOpusWriter(serial: serial, preSkip: preSkip, afterPages: pageCount, packets: packets)
    var end: [UInt8] = []
    for packet in tail { end += writer.add(packet.span) ?? [] }
    packets += Int64(tail.count)
    var granule = packets * Int64(packetFrames)
    // A take that had been stopped ends where it was stopped, if its padded last packet is there.
    if let stop = Self.stopFrame(ledger), stop + Int64(preSkip) <= granule,
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

  /// Audio is lost in the middle, or was cut off.
  var isDamaged: Bool { !holes.isEmpty || headIsRebuilt || strandedPackets > 0 }
  var holeFrames: Int64 { holes.reduce(0) { $0 + $1.packets * Int64(packetFrames) } }

  private static func description(_ ledger: [LedgerRecord]) -> TakeDescription? {
    for record in ledger { if case .begin(let description) = record.event { return description } }
    return nil
  }
  /// Effective frames of a take whose stop stands in the ledger, the last record.
  private static func stopFrame(_ ledger: [LedgerRecord]) -> Int64? {
    guard let last = ledger.last, case .stop = last.event else { return nil }
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

/// Follows the pages of a partial take's file. Pure.
private struct Scan {
  struct Stream { var serial: UInt32, preSkip: Int }
  private(set) var stream: Stream?
  private(set) var segments: [PartialAudio.Segment] = []
  private(set) var holes: [PartialAudio.Hole] = []
  private(set) var packets: Int64 = 0
  /// Pages so far, head and tags counted: the sequence number that comes next.
  private(set) var sequence: Int64 = 0
  private(set) var audioPages: Int64 = 0
  private(set) var last: OggPage?
  /// Byte of the file behind the last page taken.
  private(set) var end: Int64 = 0
  private(set) var headIsRebuilt = false
  private(set) var isOver = false

  private let tails: [Int64: [UInt8]]

  /// - Parameters:
  ///   - description: the stream as the ledger tells it.
  ///   - tails: packets by index that may stand in for those of a page that is lost.
  init(_ description: TakeDescription?, tails: [Int64: [UInt8]]) {
    self.tails = tails
    if let description { stream = Stream(serial: description.serial, preSkip: description.preSkip) }
  }

  static func headers(_ stream: Stream) -> [UInt8] {
    OggOpusWriter(serial: stream.serial, preSkip: stream.preSkip).headers()
  }

  /// - Returns: whether the page is the stream's.
  @discardableResult mutating func take(_ page: OggPage) -> Bool {
    guard !page.isContinued, page.lacing.last.map({ $0 < 255 }) ?? true else { return false }
    if page.sequence == 0, sequence == 0 {
      guard page.isBeginning, let head = try? OpusHead(parsing: page.body.span),
        stream.map({ $0.serial == page.serial }) ?? true
      else { return false }
      stream = Stream(serial: page.serial, preSkip: head.preSkip)
      return accept(page)
    }
    guard let stream, page.serial == stream.serial, !page.isBeginning else { return false }
    if page.sequence == 1 {
      guard page.body.span.starts(with: "OpusTags"), sequence < 2 else { return false }
      if sequence == 0 { rebuildHead(stream, upTo: page) } else { _ = accept(page) }
      return true
    }
    guard page.sequence >= 2, Int64(page.sequence) >= sequence, let first = firstPacket(page) else {
      return false
    }
    if sequence < 2 { rebuildHead(stream, upTo: page) }
    let missing = Int64(page.sequence) - sequence
    let lost = first - packets
    guard missing == 0 ? lost == 0 : fill(pages: missing, packets: lost, before: page) else { return false }
    packets += Int64(page.endedPackets)
    audioPages += 1
    isOver = page.isEnd
    return accept(page)
  }

  /// Index of a page's first packet, out of its granule position.
  private func firstPacket(_ page: OggPage) -> Int64? {
    let frames = Int64(packetFrames)
    guard page.granule > 0, page.granule < Int64.max / 2, page.endedPackets > 0,
      page.isEnd || page.granule % frames == 0
    else { return nil }
    let first = (page.granule + frames - 1) / frames - Int64(page.endedPackets)
    return first >= 0 ? first : nil
  }

  private mutating func accept(_ page: OggPage) -> Bool {
    let range = page.offset..<(page.offset + Int64(page.size))
    if case .file(let before)? = segments.last, before.upperBound == range.lowerBound {
      segments[segments.count - 1] = .file(before.lowerBound..<range.upperBound)
    } else {
      segments.append(.file(range))
    }
    sequence = Int64(page.sequence) + 1
    end = range.upperBound
    last = page
    return true
  }

  /// Head and tags pages out of what is known of the stream, instead of the file's.
  private mutating func rebuildHead(_ stream: Stream, upTo page: OggPage) {
    segments = [.bytes(Self.headers(stream))]
    headIsRebuilt = true
    sequence = 2
    last = nil
    if page.sequence == 1 { end = page.offset + Int64(page.size) }
  }

  /// Pages in place of those that are missing, out of the tails; packets that these don't have either become a single
  /// TOC byte, which decodes to 20 ms of concealment (RFC 6716 section 3.2.1: a frame of 0 bytes is a lost one).
  ///
  /// - Returns: false where the numbers can't be true.
  private mutating func fill(pages: Int64, packets lost: Int64, before page: OggPage) -> Bool {
    guard let stream, lost >= pages, lost <= pages * Int64(PagePlan.packetsPerPage),
      let toc = page.body.first
    else { return false }
    let writer = OggOpusWriter(
      serial: stream.serial, preSkip: stream.preSkip, afterPages: sequence, packets: packets)
    var found: [[UInt8]] = []
    for index in packets..<(packets + lost) {
      if let packet = tails[index] {
        found.append(packet)
        continue
      }
      found.append([toc & 0xFC])
      if let hole = holes.last, hole.firstPacket + hole.packets == index {
        holes[holes.count - 1].packets += 1
      } else {
        holes.append(
          PartialAudio.Hole(firstPacket: index, packets: 1, offset: end, bytes: page.offset - end))
      }
    }
    segments.append(.bytes(writer.pages(pages, of: found)))
    packets += lost
    return true
  }
}

extension OggPage {
  /// The packets of a page that begins and ends with whole ones.
  var wholePackets: [[UInt8]] {
    var packets: [[UInt8]] = []
    var packet: [UInt8] = []
    for piece in pieces {
      packet += body[piece.range]
      if piece.endsPacket {
        packets.append(packet)
        packet = []
      }
    }
    return packets
  }
}
extension Span where Element == UInt8 {
  fileprivate func starts(with text: String) -> Bool {
    let letters = Array(text.utf8)
    return count >= letters.count && letters.indices.allSatisfy { self[$0] == letters[$0] }
  }
}
