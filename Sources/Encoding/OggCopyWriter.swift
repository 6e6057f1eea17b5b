import COgg

/// Lays packets that were encoded elsewhere into new pages (RFC 3533, RFC 7845) through libogg: any head, tags and lengths.
///
/// Bytes are a function of the packets and the serial alone. Keep it on one thread.
@safe public final class OggCopyWriter {
  /// 48 kHz samples on a page before the next one begins.
  private static let pageSamples: Int64 = 48_000

  private let stream: UnsafeMutablePointer<ogg_stream_state>
  /// 48 kHz samples of the packets so far.
  public private(set) var samples: Int64 = 0
  private var onPage: Int64 = 0
  private var segments = 0
  /// The newest packet: only the next one, or the end, decides its granule and flag.
  private var held: (bytes: [UInt8], samples: Int64)?
  private var isBegun = false

  public init(serial: UInt32) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: ogg_stream_state())
    unsafe ogg_stream_init(stream, Int32(bitPattern: serial))
  }
  deinit {
    unsafe ogg_stream_clear(stream)
    unsafe stream.deallocate()
  }

  /// The pages of a header packet, which shares none. Call it for the head, then for the tags.
  public func header(_ packet: [UInt8]) -> [UInt8] {
    submit(packet, granule: 0, first: !isBegun, last: false)
    isBegun = true
    return flush()
  }

  /// Takes the next packet, which lasts `frames`.
  ///
  /// - Returns: the pages that it closed; empty mostly.
  public func add(_ packet: [UInt8], frames: Int) -> [UInt8] {
    let needed = packet.count / 255 + 1
    var pages: [UInt8] = []
    if let before = held {
      submit(before.bytes, granule: samples, first: false, last: false)
      if onPage + Int64(frames) > Self.pageSamples || segments + needed > PagePlan.segmentsPerPage {
        pages = flush()
        (onPage, segments) = (0, 0)
      }
    }
    held = (packet, Int64(frames))
    samples += Int64(frames)
    onPage += Int64(frames)
    segments += needed
    return pages
  }

  /// Closes the stream.
  ///
  /// - Parameter trim: samples of the last packet that don't count (RFC 7845 section 4.4), fewer than it has.
  /// - Returns: the last pages, with the end-of-stream flag. Empty where there was no packet.
  public func finish(trim: Int64) -> [UInt8] {
    guard let last = held else { return [] }
    held = nil
    submit(last.bytes, granule: samples - trim, first: false, last: true)
    return flush()
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
    var bytes: [UInt8] = []
    var page = unsafe ogg_page()
    // A fill limit above any page: a page ends where `add` says, or where its segment table is full.
    while unsafe ogg_stream_flush_fill(stream, &page, 1 << 20) != 0 {
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: page.header, count: page.header_len))
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: page.body, count: page.body_len))
    }
    return bytes
  }
}
