/// Lays Opus packets into Ogg pages (RFC 3533, RFC 7845) through libogg. One stream, mono, 20 ms packets.
///
/// Bytes are a function of the packets, the serial and the pre-skip alone. Keep it on one thread.
public final class OggOpusWriter {
  private let stream: OggStream
  private let preSkip: Int
  private var plan = PagePlan()
  /// Packets taken since the stream's start, head and tags not counted.
  public private(set) var packets: Int64 = 0
  /// The newest packet: only the next one, or the end, decides its granule and flag.
  private var held: [UInt8] = []
  private var hasHeld = false

  /// - Parameters:
  ///   - serial: the stream's serial number.
  ///   - preSkip: 48 kHz samples, as the encoder says.
  public init(serial: UInt32, preSkip: Int) {
    stream = OggStream(serial: serial)
    self.preSkip = preSkip
    held.reserveCapacity(1_276)
  }
  /// Goes on with a stream whose first pages are written.
  ///
  /// - Parameters:
  ///   - pages: pages before, head and tags counted.
  ///   - packets: audio packets in them. The next packet begins a page.
  public convenience init(serial: UInt32, preSkip: Int, afterPages pages: Int64, packets: Int64) {
    self.init(serial: serial, preSkip: preSkip)
    stream.skip(pages: pages, packets: packets + 2)
    self.packets = packets
  }

  /// The head and tags pages, each packet alone on its page. Call it once, first.
  public func headers() -> [UInt8] {
    var head = Array("OpusHead".utf8)
    head += [1, 1, UInt8(preSkip & 255), UInt8(preSkip >> 8)]  // version, channels, pre-skip
    head += [0x80, 0xBB, 0, 0, 0, 0, 0]  // 48 000 Hz, gain 0, mapping family 0
    let vendor = Array(OpusEncoder.libraryVersion.utf8)
    let comment = Array("ENCODER=holdfast".utf8)
    var tags = Array("OpusTags".utf8)
    tags += Self.littleEndian(vendor.count) + vendor + Self.littleEndian(1)
    tags += Self.littleEndian(comment.count) + comment
    stream.submit(head, granule: 0, first: true)
    var bytes = stream.flush()
    stream.submit(tags, granule: 0)
    bytes += stream.flush()
    return bytes
  }
  private static func littleEndian(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8((value >> ($0 * 8)) & 255) }
  }

  /// Takes the next packet.
  ///
  /// - Returns: the page that it closed, all of whose packets came before it; nil mostly.
  public func add(_ packet: Span<UInt8>) -> [UInt8]? {
    let full = plan.add(packetSize: packet.count)
    var page: [UInt8]?
    if hasHeld {
      stream.submit(held, granule: packets * Int64(packetFrames))
      if full { page = stream.flush() }
    }
    held.removeAll(keepingCapacity: true)
    unsafe packet.withUnsafeBufferPointer { unsafe held.append(contentsOf: $0) }
    hasHeld = true
    packets += 1
    return page
  }

  /// Closes the stream.
  ///
  /// - Parameter granule: 48 kHz samples up to the end, pre-skip included (RFC 7845 section 4.4 trims the rest).
  /// - Returns: the last page, with the end-of-stream flag. Empty where there was no packet.
  public func finish(granule: Int64) -> [UInt8] {
    guard hasHeld else { return [] }
    stream.submit(held, granule: granule, last: true)
    hasHeld = false
    return stream.flush()
  }

  /// A number of pages that is given, for recovery: in the place of pages that are lost.
  ///
  /// - Parameters:
  ///   - count: 1 or more.
  ///   - lost: their packets, `count` to 50 times as many.
  public func pages(_ count: Int64, of lost: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    var next = 0
    for page in 0..<count {
      let here = min(lost.count - next - Int(count - page - 1), PagePlan.packetsPerPage)
      for packet in lost[next..<(next + here)] {
        packets += 1
        stream.submit(packet, granule: packets * Int64(packetFrames))
      }
      next += here
      bytes += stream.flush()
    }
    return bytes
  }
}
