/// What a WAVE `fmt ` chunk says about the samples, checked.
public struct WavFormat: Sendable, Equatable {
  public enum Encoding: Sendable, Equatable {
    case u8, s16, s24, s32, float32, float64, alaw, ulaw
    case imaADPCM, microsoftADPCM, gsm
  }
  public let encoding: Encoding
  public let channels: Int
  public let rate: Int
  /// Bytes of one frame; of one packed block for the ADPCM and GSM codecs.
  public let blockSize: Int
  /// The chunk as it stands, for the codecs whose decoder wants it.
  public let chunk: [UInt8]

  public var isPacked: Bool {
    switch encoding {
    case .imaADPCM, .microsoftADPCM, .gsm: true
    case .u8, .s16, .s24, .s32, .float32, .float64, .alaw, .ulaw: false
    }
  }

  /// Reads the chunk's body.
  ///
  /// - Parameter oddities: gets a line for each field that is wrong but not needed.
  /// - Throws: `unreadable`, naming the field.
  init(chunk: [UInt8], offset: Int64, oddities: inout [SourceProblem]) throws(SourceError) {
    guard chunk.count >= 16 else {
      throw .unreadable("its fmt chunk has \(chunk.count) bytes, at least 16 are needed")
    }
    var tag = chunk.u16(0)
    channels = Int(chunk.u16(2))
    rate = Int(chunk.u32(4))
    let statedBlock = Int(chunk.u16(12))
    let bits = Int(chunk.u16(14))
    try SourceLimits.check(rate: rate, channels: channels)
    self.chunk = chunk
    if tag == 0xFFFE {
      guard chunk.count >= 40 else { throw .unreadable("its extensible fmt chunk lacks the sub-format") }
      tag = chunk.u16(24)  // the first field of the sub-format's GUID
    }

    switch tag {
    case 1, 3, 6, 7: break
    case 2, 0x11, 0x31:
      guard statedBlock > 0 else { throw .unreadable("it states a block size of 0") }
      encoding = tag == 2 ? .microsoftADPCM : tag == 0x11 ? .imaADPCM : .gsm
      blockSize = statedBlock
      return
    default:
      throw .unreadable("its codec, \(WavFormat.name(tag)), isn't supported inside WAV; convert it first")
    }

    let least = (bits + 7) / 8
    // Samples may lie in a wider container; the block size tells.
    let stated = statedBlock / channels
    let width = statedBlock % channels == 0 && stated >= max(least, 1) && stated <= 8 ? stated : least
    switch (tag, width) {
    case _ where bits == 0: throw .unreadable("it states 0 bits a sample")
    case (1, 1) where bits == 8: encoding = .u8
    case (1, 2) where bits > 8: encoding = .s16
    case (1, 3) where bits > 8: encoding = .s24
    case (1, 4) where bits > 8: encoding = .s32
    case (3, 4) where bits == 32: encoding = .float32
    case (3, 8) where bits == 64: encoding = .float64
    case (6, 1) where bits == 8: encoding = .alaw
    case (7, 1) where bits == 8: encoding = .ulaw
    default: throw .unreadable("\(bits) bits a sample in \(width) bytes isn't a known sample format")
    }
    blockSize = width * channels
    if blockSize != statedBlock {
      oddities.append(
        SourceProblem(
          kind: "block_size", offset: offset + 12, bytes: 2,
          message: "the header states \(statedBlock) bytes a frame; \(blockSize) were taken"))
    }
    if bits != width * 8 {
      oddities.append(
        SourceProblem(
          kind: "sample_bits", offset: offset + 14, bytes: 2,
          message: "\(bits) bits a sample in \(width) bytes were read as left-justified"))
    }
  }

  private static func name(_ tag: UInt16) -> String {
    switch tag {
    case 0x55: "MP3 (tag 0x0055)"
    case 0x50: "MPEG (tag 0x0050)"
    case 0x161, 0x162: "Windows Media (tag 0x\(String(tag, radix: 16)))"
    case 0xFF, 0x1610: "AAC (tag 0x\(String(tag, radix: 16)))"
    default:
      "tag 0x" + String(repeating: "0", count: 4 - String(tag, radix: 16).count) + String(tag, radix: 16)
    }
  }
}

extension [UInt8] {
  // Little-endian fields; the caller has checked that they are there.
  func u16(_ at: Int) -> UInt16 { UInt16(self[at]) | UInt16(self[at + 1]) << 8 }
  func u32(_ at: Int) -> UInt32 { UInt32(u16(at)) | UInt32(u16(at + 2)) << 16 }
  func u64(_ at: Int) -> UInt64 { UInt64(u32(at)) | UInt64(u32(at + 4)) << 32 }
  func holds(_ text: StaticString, at: Int = 0) -> Bool {
    let length = text.utf8CodeUnitCount
    guard at >= 0, count - at >= length else { return false }
    return unsafe UnsafeBufferPointer(start: text.utf8Start, count: length).elementsEqual(
      self[at..<(at + length)])
  }
}
