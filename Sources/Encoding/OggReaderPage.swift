/// One Ogg page whose checksum holds (RFC 3533 section 6). Plain bytes: any thread.
public struct OggPage: Sendable, Equatable {
  /// Byte in the file at which its capture pattern begins.
  public var offset: Int64
  /// Header type flags as stored: 1 continued, 2 beginning of stream, 4 end of stream.
  public var flags: UInt8
  /// As stored: for Opus the 48 kHz samples up to the end of the last packet that ends here, -1 where none does.
  /// A hostile file may hold any value.
  public var granule: Int64
  public var serial: UInt32
  public var sequence: UInt32
  /// The segment table, at most 255 entries.
  public var lacing: [UInt8]
  /// At most 65 025 bytes; the sum of `lacing`.
  public var body: [UInt8]

  public init(
    offset: Int64, flags: UInt8, granule: Int64, serial: UInt32, sequence: UInt32, lacing: [UInt8],
    body: [UInt8]
  ) {
    self.offset = offset
    self.flags = flags
    self.granule = granule
    self.serial = serial
    self.sequence = sequence
    self.lacing = lacing
    self.body = body
  }

  /// Its first packet began on an earlier page.
  public var isContinued: Bool { flags & 1 != 0 }
  public var isBeginning: Bool { flags & 2 != 0 }
  public var isEnd: Bool { flags & 4 != 0 }
  /// Bytes it takes in the file, header included: at most 65 307.
  public var size: Int { 27 + lacing.count + body.count }
  /// Packets that end on it.
  public var endedPackets: Int { lacing.count { $0 < 255 } }

  /// The parts of packets it carries, in order. Only the last may go on on the next page.
  public var pieces: [OggPiece] {
    var pieces: [OggPiece] = []
    var start = 0
    var end = 0
    for (i, lace) in lacing.enumerated() {
      end = min(end + Int(lace), body.count)
      guard lace < 255 || i == lacing.count - 1 else { continue }
      pieces.append(OggPiece(range: start..<end, endsPacket: lace < 255))
      start = end
    }
    return pieces
  }
}

/// A packet, or the part of one that lies on a page.
public struct OggPiece: Sendable, Equatable {
  /// Bytes in the page's body.
  public var range: Range<Int>
  public var endsPacket: Bool
}

/// Bytes that belong to no whole page.
public struct OggSkip: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    /// Nothing that looks like a page.
    case junk
    /// Begins like a page, but its checksum doesn't hold; what the header says may be false.
    case damagedPage(OggClaim)
    /// Begins like a page, and the file ends before it does. Only the last item of a file is one.
    case cutPage(OggClaim?)
  }
  /// Byte in the file.
  public var offset: Int64
  public var bytes: Int64
  public var kind: Kind

  public init(offset: Int64, bytes: Int64, kind: Kind) {
    self.offset = offset
    self.bytes = bytes
    self.kind = kind
  }
  public var end: Int64 { offset &+ bytes }
}

/// What the header of a damaged page says; unproven.
public struct OggClaim: Sendable, Equatable {
  public var flags: UInt8
  public var granule: Int64
  public var serial: UInt32
  public var sequence: UInt32
  /// Bytes of the page as far as the segment table is at hand.
  var size: Int

  /// - Parameter bytes: from the capture pattern on.
  /// - Returns: nil with fewer than 27 bytes, or where they can't be a page header (RFC 3533 section 6).
  public init?(_ bytes: Span<UInt8>) {
    guard bytes.count >= 27, bytes[0] == 0x4F, bytes[1] == 0x67, bytes[2] == 0x67, bytes[3] == 0x53,
      bytes[4] == 0
    else { return nil }
    flags = bytes[5]
    granule = Int64(bitPattern: bytes.littleEndian(at: 6, count: 8))
    serial = UInt32(truncatingIfNeeded: bytes.littleEndian(at: 14, count: 4))
    sequence = UInt32(truncatingIfNeeded: bytes.littleEndian(at: 18, count: 4))
    size = 27 + Int(bytes[26])
    for i in 27..<min(size, bytes.count) { size += Int(bytes[i]) }
  }
}

extension Span where Element == UInt8 {
  /// The unsigned value of `count` bytes (at most 8) from `index` on, all of which must be there.
  func littleEndian(at index: Int, count: Int) -> UInt64 {
    var value: UInt64 = 0
    for i in 0..<count { value |= UInt64(self[index + i]) << UInt64(8 * i) }
    return value
  }
  /// Whether it begins with these ASCII letters.
  func begins(with text: String) -> Bool {
    let letters = text.utf8
    guard count >= letters.count else { return false }
    for (i, letter) in letters.enumerated() where self[i] != letter { return false }
    return true
  }
}
