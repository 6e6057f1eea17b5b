import COpus

/// Owns one libopus decoder for a single mono stream, 48 kHz. Keep it on one thread at a time.
@safe public struct OpusPacketDecoder: ~Copyable {
  /// Frames that the longest packet decodes to: 120 ms (RFC 6716 section 2.1.4).
  public static let longestPacket = 5_760

  private let raw: OpaquePointer

  /// - Throws: `.codec` where libopus can't make one.
  public init() throws(OpusFileError) {
    var code = OPUS_OK
    guard let made = unsafe opus_decoder_create(48_000, 1, &code) else { throw .codec(code) }
    unsafe raw = made
  }
  deinit { unsafe opus_decoder_destroy(raw) }

  /// Forgets what came before, as at a stream's start. The next 80 ms take to converge (RFC 7845 section 4.6).
  public mutating func reset() { _ = unsafe holdfast_opus_decoder_reset(raw) }

  /// Decodes the next packet.
  ///
  /// - Parameters:
  ///   - packet: not empty; a stereo packet is mixed down.
  ///   - samples: one channel, ±1.0, room for the packet's duration; `longestPacket` is always enough.
  /// - Returns: samples written to the front.
  /// - Throws: `.codec` where it is no valid packet or the room too small.
  public mutating func decode(
    _ packet: Span<UInt8>, into samples: inout MutableSpan<Float>
  ) throws(OpusFileError) -> Int {
    guard let size = Int32(exactly: packet.count), let room = Int32(exactly: samples.count), size > 0 else {
      throw .codec(OPUS_BAD_ARG)
    }
    let frames = unsafe packet.withUnsafeBufferPointer { source in
      unsafe samples.withUnsafeMutableBufferPointer { target in
        // Without packet bytes libopus would conceal a loss instead.
        guard let from = source.baseAddress, let to = target.baseAddress else { return OPUS_BAD_ARG }
        return unsafe opus_decode_float(raw, from, size, to, room, 0)
      }
    }
    guard frames >= 0 else { throw .codec(frames) }
    return Int(frames)
  }
}

/// Owns one libopus multistream decoder as a stream's head asks for it, 48 kHz, its output gain set.
@safe struct OpusMultistreamDecoder: ~Copyable {
  private let raw: OpaquePointer
  let channels: Int

  /// - Throws: `.codec` where libopus refuses the head.
  init(_ head: OpusHead) throws(OpusFileError) {
    var code = OPUS_OK
    let made: OpaquePointer? = unsafe head.mapping.withUnsafeBufferPointer { mapping in
      guard let table = mapping.baseAddress else { return nil }
      return unsafe opus_multistream_decoder_create(
        48_000, Int32(head.channels), Int32(head.streams), Int32(head.coupledStreams), table, &code)
    }
    guard let made = unsafe made else { throw .codec(code) }
    code = unsafe holdfast_opus_ms_set_gain(made, Int32(head.outputGain))
    guard code == OPUS_OK else {
      unsafe opus_multistream_decoder_destroy(made)
      throw .codec(code)
    }
    unsafe raw = made
    channels = head.channels
  }
  deinit { unsafe opus_multistream_decoder_destroy(raw) }

  mutating func reset() { _ = unsafe holdfast_opus_ms_reset(raw) }

  /// - Parameter samples: interleaved, room for `OpusPacketDecoder.longestPacket` frames.
  /// - Returns: frames written; nil where the packet can't be decoded.
  mutating func decode(_ packet: [UInt8], into samples: inout [Float]) -> Int? {
    guard let size = Int32(exactly: packet.count), size > 0,
      samples.count >= OpusPacketDecoder.longestPacket * channels
    else { return nil }
    let frames = unsafe packet.withUnsafeBufferPointer { source in
      unsafe samples.withUnsafeMutableBufferPointer { target in
        guard let from = source.baseAddress, let to = target.baseAddress else { return OPUS_BAD_ARG }
        return unsafe opus_multistream_decode_float(
          raw, from, size, to, Int32(OpusPacketDecoder.longestPacket), 0)
      }
    }
    return frames >= 0 ? Int(frames) : nil
  }
}
