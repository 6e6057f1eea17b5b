/// The header packets of a stream, as they lie in the file.
public struct OpusHeaderPackets: Sendable, Equatable {
  public var head: [UInt8]
  /// nil where they are missing or broken. At most the first `OpusStreamPart.keptTags` bytes.
  public var tags: [UInt8]?
  /// `tags` is all of the packet.
  public var tagsAreWhole: Bool

  /// Tags to write: as they are; without the comments that weren't kept; or none, where none could be read.
  var writableTags: [UInt8] {
    let none = Array("OpusTags".utf8) + [UInt8](repeating: 0, count: 8)  // no vendor, no comments
    guard let tags else { return none }
    if tagsAreWhole { return tags }
    let bytes = tags.span
    guard bytes.count >= 16 else { return none }
    let count = 12 + Int(bytes.littleEndian(at: 8, count: 4))
    guard count + 4 <= bytes.count else { return none }
    var (at, kept) = (count + 4, 0)
    while at + 4 <= bytes.count {
      let end = at + 4 + Int(bytes.littleEndian(at: at, count: 4))
      guard end <= bytes.count else { break }
      (at, kept) = (end, kept + 1)
    }
    return Array(tags[..<count]) + (0..<4).map { UInt8(kept >> (8 * $0) & 255) } + tags[(count + 4)..<at]
  }
}

/// Writes one stream anew from the steps of the reader: the packets as they are, silence in the holes, pages numbered from
/// 0, positions counted from 0, an end.
///
/// Pure: bytes go where the caller says. Memory is a page's.
public struct OpusMender {
  private let writer: OggCopyWriter
  private let packets: OpusHeaderPackets
  private let head: OpusHead
  private let preSkip: Int64
  private var visible: Int64 = 0  // frames of the time line so far
  private var trim: Int64 = 0  // of the last packet
  /// Packets whose lengths don't hold, silence now.
  public private(set) var badPackets: Int64 = 0

  public init(_ part: OpusPart, _ packets: OpusHeaderPackets) {
    writer = OggCopyWriter(serial: part.serial)
    self.packets = packets
    head = part.head
    preSkip = Int64(part.head.preSkip)
  }

  /// 48 kHz frames that the file decodes to: once finished, as many as the reader gave. Behind a hole that is no
  /// multiple of 2.5 ms, audio lies early by less than that.
  public var frames: Int64 { max(0, writer.samples - trim - preSkip) }

  public mutating func begin<E: Error>(_ emit: ([UInt8]) throws(E) -> Void) throws(E) {
    try emit(writer.header(packets.head))
    try emit(writer.header(packets.writableTags))
  }

  public mutating func take<E: Error>(_ step: OpusStep, _ emit: ([UInt8]) throws(E) -> Void) throws(E) {
    switch step {
    case .part: break  // there is one
    case .silence(let frames): visible += frames  // filled in front of what follows, or at the end
    case .packet(let packet):
      guard packet.kept.upperBound > 0 else { break }  // behind the end
      if !packet.kept.isEmpty {
        try fill(preSkip + visible - Int64(packet.kept.lowerBound) - writer.samples, emit)
      }
      if opusPacketIsWhole(packet.bytes.span, streams: head.streams) {
        try emit(writer.add(packet.bytes, frames: packet.frames))
      } else {
        badPackets += 1
        try fill(Int64(packet.frames), emit)
      }
      visible += Int64(packet.kept.count)
    }
  }

  public mutating func finish<E: Error>(_ emit: ([UInt8]) throws(E) -> Void) throws(E) {
    // The time line may end in a hole, or earlier holes not have been multiples of the grain.
    try fill(preSkip + visible - writer.samples + OpusSilence.grain - 1, emit)
    trim = max(0, writer.samples - preSkip - visible)
    try emit(writer.finish(trim: trim))
  }

  /// Silence of at most that many samples, as near as the grain allows.
  private mutating func fill<E: Error>(_ samples: Int64, _ emit: ([UInt8]) throws(E) -> Void) throws(E) {
    var left = samples
    while left >= OpusSilence.grain {
      let silence = OpusSilence.packet(atMost: left, head)
      try emit(writer.add(silence.bytes, frames: silence.frames))
      left -= Int64(silence.frames)
    }
  }
}
