import COgg

/// Owns one libogg stream that is being written. Keep it on one thread.
@safe final class OggStream {
  private let raw: UnsafeMutablePointer<ogg_stream_state>
  private var bytes: [UInt8] = []

  init(serial: UInt32) {
    unsafe raw = .allocate(capacity: 1)
    unsafe raw.initialize(to: ogg_stream_state())
    unsafe ogg_stream_init(raw, Int32(bitPattern: serial))
  }
  deinit {
    unsafe ogg_stream_clear(raw)
    unsafe raw.deallocate()
  }

  /// Goes on with a stream of which `pages` pages and `packets` packets, head and tags counted, are out.
  func skip(pages: Int64, packets: Int64) {
    unsafe raw.pointee.pageno = Int(pages)
    unsafe raw.pointee.b_o_s = 1  // the page that begins the stream is out
    unsafe raw.pointee.packetno = packets
  }

  func submit(_ packet: [UInt8], granule: Int64, first: Bool = false, last: Bool = false) {
    var packet = packet
    unsafe packet.withUnsafeMutableBufferPointer { buffer in
      var ogg = unsafe ogg_packet()
      unsafe ogg.packet = buffer.baseAddress
      unsafe ogg.bytes = buffer.count
      unsafe ogg.b_o_s = first ? 1 : 0
      unsafe ogg.e_o_s = last ? 1 : 0
      unsafe ogg.granulepos = granule
      unsafe ogg_stream_packetin(raw, &ogg)
    }
  }

  /// What is pending, on as few pages as hold it.
  func flush() -> [UInt8] {
    bytes.removeAll(keepingCapacity: true)
    var page = unsafe ogg_page()
    // A fill limit above any page: a page ends where the caller flushes, or where its segment table is full.
    while unsafe ogg_stream_flush_fill(raw, &page, 1 << 20) != 0 {
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: page.header, count: page.header_len))
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: page.body, count: page.body_len))
    }
    return bytes
  }
}
