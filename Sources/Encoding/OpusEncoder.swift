import COpus

/// Frames one packet holds: 20 ms at 48 kHz.
public let packetFrames = 960

/// How the encoder is set. The defaults are the take format's: speech at 32 kb/s VBR, complexity 10.
public struct EncoderSettings: Sendable, Equatable {
  /// Bits per second, 6 000…510 000.
  public var bitrate: Int
  /// 0…10. In libopus 1.3.1, 8, 9 and 10 give the same bytes.
  public var complexity: Int

  public static let bitrates = 6_000...510_000

  public init(bitrate: Int = 32_000, complexity: Int = 10) {
    self.bitrate = bitrate
    self.complexity = complexity
  }
}

/// An answer of libopus other than success.
public struct OpusError: Error, Equatable, Sendable {
  public let code: Int32
  public init(code: Int32) { self.code = code }
  public var text: String { unsafe String(cString: opus_strerror(code)) }
}

/// Owns one libopus encoder: mono, 48 kHz, VOIP, VBR. Keep it on the thread that encodes.
@safe public final class OpusEncoder {
  private let raw: OpaquePointer
  /// 48 kHz samples the decoder's output lags behind: the stream's pre-skip (312 in libopus 1.3.1).
  public let preSkip: Int
  /// RFC 6716 section 3.2.1 bounds an Opus frame by 1 275 bytes; a 20 ms packet of one frame adds its TOC byte.
  public static let largestPacket = 1_276

  /// - Throws: what libopus says where it refuses the settings.
  public init(_ settings: EncoderSettings) throws(OpusError) {
    var code = OPUS_OK
    let made = unsafe opus_encoder_create(48_000, 1, OPUS_APPLICATION_VOIP, &code)
    guard let made = unsafe made else { throw OpusError(code: code) }
    var lookahead: Int32 = 0
    let codes = unsafe [
      holdfast_opus_set_bitrate(made, Int32(settings.bitrate)), holdfast_opus_set_vbr(made, 1),
      holdfast_opus_set_complexity(made, Int32(settings.complexity)),
      holdfast_opus_get_lookahead(made, &lookahead),
    ]
    if let bad = codes.first(where: { $0 != OPUS_OK }) {
      unsafe opus_encoder_destroy(made)
      throw OpusError(code: bad)
    }
    unsafe raw = made
    preSkip = Int(lookahead)
  }
  deinit { unsafe opus_encoder_destroy(raw) }

  /// Encodes one packet.
  ///
  /// - Parameters:
  ///   - samples: exactly 960 samples of one channel, ±1.0.
  ///   - packet: room for `largestPacket` bytes.
  /// - Returns: bytes of the packet.
  public func encode(_ samples: Span<Float>, into packet: inout MutableSpan<UInt8>) throws(OpusError) -> Int {
    precondition(samples.count == packetFrames && packet.count >= Self.largestPacket)
    let size = unsafe samples.withUnsafeBufferPointer { source in
      unsafe packet.withUnsafeMutableBufferPointer { target in
        guard let from = source.baseAddress, let to = target.baseAddress else { return OPUS_BAD_ARG }
        return unsafe opus_encode_float(raw, from, Int32(packetFrames), to, Int32(Self.largestPacket))
      }
    }
    guard size > 0 else { throw OpusError(code: size) }
    return Int(size)
  }

  /// The library's own words, such as `libopus 1.3.1`.
  public static var libraryVersion: String { unsafe String(cString: opus_get_version_string()) }
}
