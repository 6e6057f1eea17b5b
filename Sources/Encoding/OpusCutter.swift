/// Cuts a stretch of one stream out of the reader's steps without encoding anew: the packets as they are, the cut's start
/// by the pre-skip and its end by the last granule position, both exact to the sample.
///
/// The file that comes out decodes to the stretch's frames; `preRoll` frames before it are in it too, within the pre-skip,
/// for a decoder to converge by. Where the stream itself begins no earlier than that, the sound is the same bit by bit.
/// Pure: bytes are returned, memory is a page's and the pre-roll's.
/// - Source: RFC 7845 sections 4.2 (pre-skip), 4.4 (end trimming) and 4.6 (80 ms before a place sought).
public struct OpusCutter {
  /// Why the stretch can't be had; frames of the file.
  public enum Fault: Error, Equatable {
    /// Audio in it is missing or damaged.
    case lost(Range<Int64>)
    /// It goes over from one stream of a chain into the next.
    case chained(atFrame: Int64)
  }
  /// 48 kHz frames of packets before the stretch, at least, where there are as many. RFC 7845 asks for 3 840, with which
  /// the first 80 ms of speech can be far off; this is what its 16 bits hold whatever the packets' length.
  public static let preRoll = 48_000

  private let range: Range<Int64>
  private let writer: OggCopyWriter
  private var lead: [(bytes: [UInt8], frames: Int)] = []
  private var leadFrames = 0
  private var skip: Int64?  // once it has begun
  private var streams = 1
  /// Frame of the file behind the last step.
  public private(set) var position: Int64 = 0
  /// The end of the stretch has been written; no step more is needed.
  public private(set) var isFinished = false
  /// Audio before the stretch was lost.
  public private(set) var hasLossBefore = false

  /// - Parameters:
  ///   - range: 48 kHz frames of the decoded file, not empty; `Int64.max` at its end is the file's.
  ///   - serial: the new stream's.
  public init(_ range: Range<Int64>, serial: UInt32) {
    self.range = range
    writer = OggCopyWriter(serial: serial)
  }

  /// Frames of the stretch so far.
  public var frames: Int64 { skip == nil ? 0 : min(position, range.upperBound) - range.lowerBound }

  /// Takes the reader's next step.
  ///
  /// - Parameter headers: the reader's, of the part that the step belongs to.
  /// - Returns: the pages that it gave; empty mostly.
  public mutating func take(_ step: OpusStep, _ headers: OpusHeaderPackets?) throws(Fault) -> [UInt8] {
    switch step {
    case .part(let head):
      guard skip == nil else { throw .chained(atFrame: position) }
      streams = head.streams
      forgetLead()
      return []
    case .silence(let frames):
      try lose(position..<(position + frames))
      position += frames
      return []
    case .packet(let packet):
      guard packet.kept.upperBound > 0 else { return [] }  // behind the end
      let begin = packet.atFrame
      position = begin + Int64(packet.kept.count)
      guard opusPacketIsWhole(packet.bytes.span, streams: streams) else {
        try lose(begin..<position)
        return []
      }
      if skip != nil { return add(packet.bytes, packet.frames) }
      guard position > range.lowerBound else {
        keep(packet)
        return []
      }
      return try open(packet, headers)
    }
  }

  /// Ends the stretch where the file ends. Empty where `frames` is 0, or it is finished.
  public mutating func finish() -> [UInt8] {
    guard let skip, !isFinished else { return [] }
    isFinished = true
    return writer.finish(trim: writer.samples - skip - frames)
  }

  private mutating func open(_ packet: OpusPacket, _ headers: OpusHeaderPackets?) throws(Fault) -> [UInt8] {
    guard var head = headers?.head, head.count >= 19, let tags = headers?.writableTags else {
      throw .lost(range)
    }
    let skip = leadFrames + packet.kept.lowerBound + Int(range.lowerBound - packet.atFrame)
    self.skip = Int64(skip)
    (head[10], head[11]) = (UInt8(skip & 255), UInt8(skip >> 8 & 255))
    var pages = writer.header(head) + writer.header(tags)
    for before in lead { pages += writer.add(before.bytes, frames: before.frames) }
    forgetLead()
    return pages + add(packet.bytes, packet.frames)
  }
  private mutating func add(_ bytes: [UInt8], _ frames: Int) -> [UInt8] {
    let pages = writer.add(bytes, frames: frames)
    return position >= range.upperBound ? pages + finish() : pages
  }

  private mutating func keep(_ packet: OpusPacket) {
    lead.append((packet.bytes, packet.frames))
    leadFrames += packet.frames
    while let first = lead.first, leadFrames - first.frames >= Self.preRoll {
      leadFrames -= first.frames
      lead.removeFirst()
    }
  }
  private mutating func forgetLead() { (lead, leadFrames) = ([], 0) }

  /// What comes behind a hole has nothing to converge by.
  private mutating func lose(_ lost: Range<Int64>) throws(Fault) {
    guard !lost.overlaps(range) else { throw .lost(lost) }
    hasLossBefore = true
    forgetLead()
  }
}
