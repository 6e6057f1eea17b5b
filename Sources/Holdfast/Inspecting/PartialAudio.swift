import Encoding
import Platform
import Session
import Store

/// The audio of a partial take as sealing would leave it: whole pages, the tails' packets behind them, an end.
///
/// Read-only. The last page is made in memory.
struct PartialAudio {
  /// Bytes of `audio.opus` that stay as they are.
  var keptBytes: Int64
  /// The pages that follow them.
  var end: [UInt8]
  /// Packets in all.
  var packets: Int64
  var preSkip: Int
  var frames: Int64

  /// - Returns: nil where there is no whole packet, or no head to go by.
  init?(audio read: @escaping OggReadBytes, contents: PartialContents) throws(OpusFileError) {
    var pages = OggPageReader(read: read)
    var head: OpusHead?
    var serial: UInt32 = 0
    var kept: Int64 = 0
    var count: Int64 = 0
    var packets: Int64 = 0
    var last: OggPage?
    // Whole, successive pages of one stream; the first thing that isn't one ends what the disk is trusted for.
    while case .page(let page)? = try pages.next() {
      guard page.sequence == UInt32(truncatingIfNeeded: count), count == 0 || page.serial == serial,
        !page.isContinued, page.lacing.last.map({ $0 < 255 }) ?? true
      else { break }
      if count == 0 {
        head = try? OpusHead(parsing: page.body.span)
        serial = page.serial
      }
      if count >= 2 { packets += Int64(page.endedPackets) }
      kept = page.offset + Int64(page.size)
      count += 1
      last = page
      if page.isEnd { break }
    }
    guard let head, count >= 2, let last else { return nil }
    if last.isEnd {  // sealing had written its last page
      (keptBytes, end, self.packets, preSkip) = (kept, [], packets, head.preSkip)
      frames = max(0, last.granule - Int64(head.preSkip))
      return
    }
    var tail = Self.tail(contents.tails, from: packets)
    if tail.isEmpty, count > 2 {  // the end-of-stream flag needs a packet: the last page's are written anew
      kept = last.offset
      count -= 1
      packets -= Int64(last.endedPackets)
      var packet: [UInt8] = []
      for piece in last.pieces {
        packet += last.body[piece.range]
        if piece.endsPacket {
          tail.append(packet)
          packet = []
        }
      }
    }
    guard !tail.isEmpty else { return nil }
    let writer = OggOpusWriter(serial: serial, preSkip: head.preSkip, afterPages: count, packets: packets)
    var end: [UInt8] = []
    for packet in tail { end += writer.add(packet.span) ?? [] }
    self.packets = packets + Int64(tail.count)
    let granule = self.packets * Int64(packetFrames)
    end += writer.finish(granule: granule)
    (keptBytes, self.end, preSkip) = (kept, end, head.preSkip)
    frames = max(0, granule - Int64(head.preSkip))
  }

  /// The packets from `first` on that follow on one another, out of both tails.
  private static func tail(_ tails: [TailContents], from first: Int64) -> [[UInt8]] {
    var found: [Int64: [UInt8]] = [:]
    for tail in tails {
      for packet in tail.packets where packet.index >= first { found[packet.index] = packet.bytes }
    }
    var packets: [[UInt8]] = []
    while let next = found[first + Int64(packets.count)] { packets.append(next) }
    return packets
  }

  /// The whole stream's bytes: those kept of the file, then the end.
  func bytes(over file: @escaping OggReadBytes) -> OggReadBytes {
    { [keptBytes, end] offset, target throws(OpusFileError) in
      if offset < keptBytes {
        let room = Int(min(Int64(target.byteCount), keptBytes - offset))
        var part = target._mutatingExtracting(0..<room)
        return try file(offset, &part)
      }
      let start = Int(min(offset - keptBytes, Int64(end.count)))
      let n = min(target.byteCount, end.count - start)
      for i in 0..<n { target.storeBytes(of: end[start + i], toByteOffset: i, as: UInt8.self) }
      return n
    }
  }
}
