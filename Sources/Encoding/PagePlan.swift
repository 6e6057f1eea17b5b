/// Decides where pages end. Pure, so that recording, sealing and recovery cut the same stream into the same pages.
///
/// A page is closed only when the next packet exists: the last page always has a packet left to carry the
/// end-of-stream flag.
public struct PagePlan: Sendable, Equatable {
  /// A second of 20 ms packets.
  public static let packetsPerPage = 50
  /// RFC 3533 section 6: the segment table has at most 255 entries.
  public static let segmentsPerPage = 255

  /// Packets waiting for their page.
  public private(set) var packets = 0
  private var segments = 0

  public init() {}

  /// Takes the next packet.
  ///
  /// - Returns: true where the packets before it make up a page that must be closed first.
  public mutating func add(packetSize: Int) -> Bool {
    let needed = packetSize / 255 + 1
    let full = packets == Self.packetsPerPage || segments + needed > Self.segmentsPerPage
    if full { (packets, segments) = (0, 0) }
    packets += 1
    segments += needed
    return full
  }
}
