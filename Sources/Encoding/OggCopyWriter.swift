/// Lays packets that were encoded elsewhere into new pages (RFC 3533, RFC 7845) through libogg: any head, tags and lengths.
///
/// Bytes are a function of the packets and the serial alone. Keep it on one thread.
public final class OggCopyWriter {
  /// 48 kHz samples on a page before the next one begins.
  private static let pageSamples: Int64 = 48_000

  private let stream: OggStream
  /// 48 kHz samples of the packets so far.
  public private(set) var samples: Int64 = 0
  private var onPage: Int64 = 0
  private var segments = 0
  /// The newest packet: only the next one, or the end, decides its granule and flag.
  private var held: (bytes: [UInt8], samples: Int64)?
  private var isBegun = false

  public init(serial: UInt32) { stream = OggStream(serial: serial) }

  /// The pages of a header packet, which shares none. Call it for the head, then for the tags.
  public func header(_ packet: [UInt8]) -> [UInt8] {
    stream.submit(packet, granule: 0, first: !isBegun)
    isBegun = true
    return stream.flush()
  }

  /// Takes the next packet, which lasts `frames`.
  ///
  /// - Returns: the pages that it closed; empty mostly.
  public func add(_ packet: [UInt8], frames: Int) -> [UInt8] {
    let needed = packet.count / 255 + 1
    var pages: [UInt8] = []
    if let before = held {
      stream.submit(before.bytes, granule: samples)
      if onPage + Int64(frames) > Self.pageSamples || segments + needed > PagePlan.segmentsPerPage {
        pages = stream.flush()
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
    stream.submit(last.bytes, granule: samples - trim, last: true)
    return stream.flush()
  }
}
