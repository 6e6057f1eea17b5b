import COgg

/// Lays Opus packets into Ogg pages (RFC 3533, RFC 7845) through libogg. One stream, mono, 20 ms packets.
///
/// Bytes are a function of the packets, the serial and the pre-skip alone. Keep it on one thread.
@safe public final class OggOpusWriter {
  private let stream: UnsafeMutablePointer<ogg_stream_state>
  private let preSkip: Int
  private var plan = PagePlan()
  /// Packets taken since the stream's start, head and tags not counted.
  public private(set) var packets: Int64 = 0
  private var pageBytes: [UInt8] = []
  /// The newest packet: only the next one, or the end, decides its granule and flag.
  private var held: [UInt8] = []
  private var hasHeld = false

  /// - Parameters:
  ///   - serial: the stream's serial number.
  ///   - preSkip: 48 kHz samples, as the encoder says.
  public init(serial: UInt32, preSkip: Int) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: ogg_stream_state())
    unsafe ogg_stream_init(stream, Int32(bitPattern: serial))
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
    unsafe stream.pointee.pageno = Int(pages)
    unsafe stream.pointee.b_o_s = 1  // the page that begins the stream is out
    unsafe stream.pointee.packetno = packets + 2
    self.packets = packets
  }
  deinit {
    unsafe ogg_stream_clear(stream)
    unsafe stream.deallocate()
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
    submit(head, granule: 0, first: true, last: false)
    var bytes = flush()
    submit(tags, granule: 0, first: false, last: false)
    bytes += flush()
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
      submit(held, granule: packets * Int64(packetFrames), first: false, last: false)
      if full { page = flush() }
    }
    held.removeAll(keepingCapacity: true)
    for i in 0..<packet.count { held.append(packet[i]) }
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
    submit(held, granule: granule, first: false, last: true)
    hasHeld = false
    return flush()
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
        submit(packet, granule: packets * Int64(packetFrames), first: false, last: false)
      }
      next += here
      bytes += flush()
    }
    return bytes
  }

  private func submit(_ bytes: [UInt8], granule: Int64, first: Bool, last: Bool) {
    var bytes = bytes
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var packet = unsafe ogg_packet()
      unsafe packet.packet = buffer.baseAddress
      unsafe packet.bytes = buffer.count
      unsafe packet.b_o_s = first ? 1 : 0
      unsafe packet.e_o_s = last ? 1 : 0
      unsafe packet.granulepos = granule
      unsafe ogg_stream_packetin(stream, &packet)
    }
  }
  private func flush() -> [UInt8] {
    pageBytes.removeAll(keepingCapacity: true)
    var page = unsafe ogg_page()
    // A fill limit above any page: what is pending goes onto one, as PagePlan counted.
    while unsafe ogg_stream_flush_fill(stream, &page, 1 << 20) != 0 {
      unsafe pageBytes.append(contentsOf: UnsafeBufferPointer(start: page.header, count: page.header_len))
      unsafe pageBytes.append(contentsOf: UnsafeBufferPointer(start: page.body, count: page.body_len))
    }
    return pageBytes
  }
}
