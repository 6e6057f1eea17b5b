/// What is wrong with a header packet: one line that names the fault.
public struct OpusHeaderFault: Error, Equatable, Sendable {
  public var text: String
}

/// The identification header of an Opus stream (RFC 7845 section 5.1).
public struct OpusHead: Sendable, Equatable {
  public var version: Int
  /// 1…255.
  public var channels: Int
  /// 48 kHz samples to drop at the start, 0…65 535.
  public var preSkip: Int
  /// Hertz of what was encoded; 0 where it isn't said. Opus decodes to 48 kHz all the same.
  public var inputSampleRate: UInt32
  /// To apply when decoding, in 1/256 dB.
  public var outputGain: Int
  /// 0 mono and stereo, 1 surround in Vorbis order, 255 channels without a meaning.
  public var mappingFamily: Int
  /// Opus packets in an Ogg packet, 1…255.
  public var streams: Int
  /// Of these, the first ones that are stereo.
  public var coupledStreams: Int
  /// One entry a channel: decoded channel, or 255 for silence.
  public var mapping: [UInt8]

  /// Reads a head packet.
  ///
  /// - Parameter bytes: the whole packet, from `OpusHead` on.
  /// - Throws: the fault, where the packet can't be played by: too short, of another major version, no channels, a
  ///   mapping that is missing or points nowhere.
  /// - Source: RFC 7845 sections 5.1 and 5.1.1. Minor versions and bytes behind the header are accepted; an unknown
  ///   family is read as 255 (section 5.1.1.4) but for 3, whose table is a matrix (RFC 8486).
  public init(parsing bytes: Span<UInt8>) throws(OpusHeaderFault) {
    guard bytes.begins(with: "OpusHead") else {
      throw OpusHeaderFault(text: "the first packet is no OpusHead")
    }
    if bytes.count > 8, bytes[8] & 0xF0 != 0 {
      throw OpusHeaderFault(text: "OpusHead has version \(bytes[8]); only versions 0 to 15 can be read")
    }
    guard bytes.count >= 19 else {
      throw OpusHeaderFault(text: "OpusHead is too short: \(bytes.count) bytes of at least 19")
    }
    version = Int(bytes[8])
    channels = Int(bytes[9])
    preSkip = Int(bytes.littleEndian(at: 10, count: 2))
    inputSampleRate = UInt32(truncatingIfNeeded: bytes.littleEndian(at: 12, count: 4))
    outputGain = Int(Int16(truncatingIfNeeded: bytes.littleEndian(at: 16, count: 2)))
    mappingFamily = Int(bytes[18])
    guard channels > 0 else { throw OpusHeaderFault(text: "OpusHead says 0 channels") }
    if mappingFamily == 0 {
      guard channels <= 2 else {
        throw OpusHeaderFault(text: "OpusHead says \(channels) channels, but mapping family 0 has 1 or 2")
      }
      (streams, coupledStreams) = (1, channels - 1)
      mapping = channels == 1 ? [0] : [0, 1]
      return
    }
    guard mappingFamily != 3 else {
      throw OpusHeaderFault(
        text: "OpusHead has mapping family 3 (ambisonics with a matrix), which can't be read")
    }
    guard mappingFamily != 1 || channels <= 8 else {
      throw OpusHeaderFault(text: "OpusHead says \(channels) channels, but mapping family 1 has 1 to 8")
    }
    guard bytes.count >= 21 + channels else {
      let has = bytes.count <= 19 ? "no mapping table" : "a mapping table that is too short"
      throw OpusHeaderFault(text: "OpusHead has mapping family \(mappingFamily) but \(has)")
    }
    streams = Int(bytes[19])
    coupledStreams = Int(bytes[20])
    mapping = (0..<channels).map { bytes[21 + $0] }
    guard streams > 0, coupledStreams <= streams, streams + coupledStreams <= 255 else {
      throw OpusHeaderFault(text: "OpusHead says \(streams) streams of which \(coupledStreams) are stereo")
    }
    if let bad = mapping.first(where: { $0 != 255 && Int($0) >= streams + coupledStreams }) {
      throw OpusHeaderFault(
        text: "OpusHead maps a channel to decoded channel \(bad), but there are \(streams + coupledStreams)")
    }
  }
}
