import Encoding
import Session
import Store

/// Follows the pages of a partial take's file. Pure.
struct PartialPages {
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
      // The file's own word: the ledger may be another take's.
      guard page.isBeginning, let head = try? OpusHead(parsing: page.body.span), head.channels == 1 else {
        return false
      }
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

  /// Pages in place of those that are missing, out of the tails; packets that these don't have either become silence.
  ///
  /// - Returns: false where the numbers can't be true.
  private mutating func fill(pages: Int64, packets lost: Int64, before page: OggPage) -> Bool {
    guard let stream, lost >= pages, lost <= pages * Int64(PagePlan.packetsPerPage)
    else { return false }
    let writer = OggOpusWriter(
      serial: stream.serial, preSkip: stream.preSkip, afterPages: sequence, packets: packets)
    var found: [[UInt8]] = []
    for index in packets..<(packets + lost) {
      if let packet = tails[index] {
        found.append(packet)
        continue
      }
      found.append(OpusSilence.monoPacket)
      PartialAudio.Hole.grow(&holes, by: index, offset: end, bytes: page.offset - end)
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
