import COpus

/// The duration of an Opus packet by its first bytes (RFC 6716 section 3.1), through libopus.
///
/// - Returns: 48 kHz frames, 120…5 760 (120 ms); nil where the packet can't be one. Of a packet with several streams
///   the first tells it, as all are equally long (RFC 7845 section 3).
public func opusPacketFrames(_ packet: Span<UInt8>) -> Int? {
  guard packet.count > 0, let size = Int32(exactly: packet.count) else { return nil }
  let frames = unsafe packet.withUnsafeBufferPointer { buffer in
    guard let base = buffer.baseAddress else { return Int32(0) }
    return unsafe opus_packet_get_nb_samples(base, size, 48_000)
  }
  return (1...5_760).contains(frames) ? Int(frames) : nil
}

/// One audio packet and its place.
public struct OpusPacket: Sendable, Equatable {
  /// Among the file's audio packets, from 0; those that can't be packets aren't counted.
  public var index: Int64
  /// As stored.
  public var bytes: [UInt8]
  /// 48 kHz frames it lasts.
  public var frames: Int
  /// Of these, what belongs to the decoded file: less than all at the pre-skip and at the end trim.
  public var kept: Range<Int>
  /// Frame of the decoded file at which `kept` begins.
  public var atFrame: Int64
  /// Granule position of its end, before any trim, by the stream's own count.
  public var granule: Int64
  /// Byte of the page on which it ends.
  public var pageOffset: Int64
}

/// What a file's time line consists of, in order.
public enum OpusStep: Sendable, Equatable {
  /// A part begins: a decoder starts afresh. Nothing of the part before follows.
  case part(OpusHead)
  case packet(OpusPacket)
  /// Frames of silence in place of lost audio, for the time line to hold; 1 or more.
  case silence(frames: Int64)
}

/// Puts packets together from the pages of one stream (RFC 3533 section 5).
///
/// Holds at most `limit` bytes, whatever lies in the file.
struct OggPacketAssembler {
  private enum State {
    case idle
    case gathering([UInt8])
    case discarding  // the rest of a packet whose start is lost or that is too long
  }
  struct Result: Equatable {
    /// Packets that end on the page.
    var packets: [[UInt8]] = []
    /// Packets of which a part is missing or that are too long.
    var broken = 0
  }
  let limit: Int
  private var state = State.idle

  init(limit: Int) { self.limit = limit }

  /// Pages are missing before the next one, so an unfinished packet stays unfinished.
  mutating func lose() { state = .discarding }
  var isGathering: Bool {
    if case .gathering = state { true } else { false }
  }

  /// - Parameter first: index of the piece to begin with; with another than 0 nothing continues.
  mutating func take(_ page: OggPage, from first: Int = 0) -> Result {
    var result = Result()
    for (index, piece) in page.pieces.enumerated() where index >= first {
      let continues = index == 0 && page.isContinued
      var bytes: [UInt8] = []
      switch (state, continues) {
      case (.gathering(let begun), true): bytes = begun
      case (.gathering, false): result.broken += 1
      case (.discarding, true):
        if piece.endsPacket { state = .idle }
        continue
      case (.idle, true):
        result.broken += 1
        state = piece.endsPacket ? .idle : .discarding
        continue
      case (.idle, false), (.discarding, false): break
      }
      state = .idle  // gives up the second reference to `begun`: it grows in place
      guard bytes.count + piece.range.count <= limit else {
        result.broken += 1
        if !piece.endsPacket { state = .discarding }
        continue
      }
      bytes += page.body[piece.range]
      if piece.endsPacket { result.packets.append(bytes) } else { state = .gathering(bytes) }
    }
    return result
  }
}
