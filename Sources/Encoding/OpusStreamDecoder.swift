/// Decodes an Ogg Opus file to interleaved samples at 48 kHz, on a time line that holds whatever is damaged: lost audio is
/// silence, repeated pages are dropped, the pre-skip and the end trim are taken off, the header's gain is applied.
///
/// Pulls page by page in constant memory. Keep it on one thread at a time.
public struct OpusStreamDecoder: ~Copyable {
  /// RFC 7845 section 4.6: 80 ms. Speech may need ten times as much to sound right, and 3 s to be the same bit by bit.
  public static let leastPreRoll: Int64 = 3_840

  private let preRoll: Int64
  private var reader: OpusStreamReader
  private var codec: OpusMultistreamDecoder?
  private var isStale = false  // the codec's state isn't that of the packet before
  private var decoded: [Float]  // of one packet, in the part's channels
  private var ready = 0..<0  // frames of it that are still to give out
  private var silence: Int64 = 0  // frames of it that come first
  private var target: Int64 = 0  // frame sought
  private var isDone = false

  /// Of every frame given out: the first part's. Mapping family 1 has Vorbis' order (RFC 7845 section 5.1.1.2).
  /// Later parts are fitted to it: mono is copied to all, several to one are averaged, else the first ones are taken
  /// and the rest is silent.
  public let channels: Int
  /// The first part's head.
  public let head: OpusHead
  /// Frame that the next `read` begins with.
  public private(set) var position: Int64 = 0
  /// Packets that libopus refused so far, each silence of its length now.
  public private(set) var badPackets: [OpusProblem] = []

  /// Frames given out so far, or passed by, that are silence in place of lost audio; the first 1 000 stretches.
  public private(set) var lost: [Range<Int64>] = []

  /// Reads up to the first audio.
  ///
  /// - Parameters:
  ///   - read: the file's bytes from its start.
  ///   - preRoll: frames decoded and thrown away in front of a place sought.
  /// - Throws: what `OpusStreamReader.nextStep` does; `.codec` where libopus refuses the head.
  public init(
    read: @escaping OggReadBytes, preRoll: Int64 = leastPreRoll
  ) throws(OpusFileError) {
    self.preRoll = preRoll
    var steps = OpusStreamReader(read: read)
    guard case .part(let first)? = try steps.nextStep() else {
      throw .noAudio("no part of the file can be read")
    }
    codec = try OpusMultistreamDecoder(first)
    decoded = Self.room(for: first)
    reader = steps
    head = first
    channels = first.channels
  }
  private static func room(for part: OpusHead) -> [Float] {
    [Float](repeating: 0, count: OpusPacketDecoder.longestPacket * part.channels)
  }

  /// What the file holds, complete once `read` has given 0: also the packets that couldn't be decoded.
  public var facts: OpusFileFacts? {
    guard isDone, var facts = reader.facts else { return nil }
    for problem in badPackets { facts.note(problem) }
    return facts
  }

  /// Decodes on.
  ///
  /// - Parameter samples: shape `[frame][channel]`, room for a frame or more; float ±1.0 and beyond, as decoded.
  /// - Returns: frames written to the front: as many as fit, fewer only at the end, then 0.
  /// - Throws: `.io`; `.codec` where a later part's head is refused.
  public mutating func read(into samples: inout MutableSpan<Float>) throws(OpusFileError) -> Int {
    let room = samples.count / channels
    var filled = 0
    while filled < room {
      if silence > 0 {
        let count = Int(min(silence, Int64(room - filled)))
        for i in (filled * channels)..<((filled + count) * channels) { samples[i] = 0 }
        silence -= Int64(count)
        filled += count
        position += Int64(count)
      } else if !ready.isEmpty {
        let count = min(ready.count, room - filled)
        copy(count, to: &samples, at: filled)
        filled += count
        position += Int64(count)
      } else if try !advance() {
        break
      }
    }
    return filled
  }

  /// Goes forward without decoding what lies between; `read` then begins with `frame`, exact to the sample.
  ///
  /// - Parameter frame: 48 kHz, `position` or later; behind the end, `read` gives 0. An earlier one changes nothing.
  /// - Returns: false for an earlier one: that takes a new decoder.
  /// - Throws: what `read` does.
  /// - Complexity: one pass over the pages between: about 60 ms for each hour at 32 kb/s.
  public mutating func seek(toFrame frame: Int64) throws(OpusFileError) -> Bool {
    guard frame >= position else { return false }
    target = frame
    while position < target {
      let quiet = min(silence, target - position)
      silence -= quiet
      position += quiet
      let drop = Int(min(Int64(ready.count), target - position))
      ready = (ready.lowerBound + drop)..<ready.upperBound
      position += Int64(drop)
      if silence == 0, ready.isEmpty, position < target, try !advance() { break }
    }
    return true
  }

  // MARK: Steps

  /// - Returns: false at the end.
  private mutating func advance() throws(OpusFileError) -> Bool {
    switch try reader.nextStep() {
    case nil:
      isDone = true
      return false
    case .part(let next): try begin(next)
    case .silence(let frames):
      lose(position..<(position + frames))
      silence = frames
      isStale = true
    case .packet(let packet): decode(packet)
    }
    return true
  }

  private mutating func begin(_ part: OpusHead) throws(OpusFileError) {
    codec = nil  // the old one's memory goes first
    codec = try OpusMultistreamDecoder(part)
    isStale = false
    decoded = Self.room(for: part)
  }

  private mutating func decode(_ packet: OpusPacket) {
    if packet.atFrame + Int64(packet.kept.count) <= target - preRoll {  // on the way to a place sought
      position += Int64(packet.kept.count)
      isStale = true
      return
    }
    if isStale { codec?.reset() }
    isStale = false
    ready = packet.kept
    let frames = codec?.decode(packet.bytes, into: &decoded)
    if frames == packet.frames { return }
    isStale = true
    for i in decoded.indices { decoded[i] = 0 }
    lose(packet.atFrame..<(packet.atFrame + Int64(packet.kept.count)))
    guard badPackets.count < OpusFileFacts.listed else { return }
    badPackets.append(
      OpusProblem(
        .badPacket, offset: packet.pageOffset, bytes: Int64(packet.bytes.count), atFrame: packet.atFrame,
        lengthFrames: Int64(packet.kept.count), audioAffected: true,
        "packet \(packet.index) can't be decoded; it is silence now"))
  }

  private mutating func lose(_ frames: Range<Int64>) {
    if lost.count < OpusFileFacts.listed, !frames.isEmpty { lost.append(frames) }
  }

  private mutating func copy(_ count: Int, to samples: inout MutableSpan<Float>, at frame: Int) {
    let from = codec?.channels ?? channels
    let source = ready.lowerBound * from
    let target = frame * channels
    if from == channels {
      for i in 0..<(count * channels) { samples[target + i] = decoded[source + i] }
    } else {
      for i in 0..<count {
        for channel in 0..<channels {
          samples[target + i * channels + channel] = fitted(channel, from, source + i * from)
        }
      }
    }
    ready = (ready.lowerBound + count)..<ready.upperBound
  }
  /// One channel of a frame that has another count of them.
  private func fitted(_ channel: Int, _ from: Int, _ begin: Int) -> Float {
    if from == 1 { return decoded[begin] }
    if channels == 1 {
      var sum: Float = 0
      for i in 0..<from { sum += decoded[begin + i] }
      return sum / Float(from)
    }
    return channel < from ? decoded[begin + channel] : 0
  }
}
