/// How one sample is laid out in memory, little-endian and interleaved.
public enum SampleFormat: UInt8, Sendable, CaseIterable {
  case u8  // unsigned, 128 is zero
  case s16
  case s24Packed  // three bytes
  case s24In32  // low three bytes of four; the top byte is ignored, as ALSA's S24_LE says
  case s32
  case float32

  public var bytes: Int {
    switch self {
    case .u8: 1
    case .s16: 2
    case .s24Packed: 3
    case .s24In32, .s32, .float32: 4
    }
  }

  /// Amplitude of the highest code: 127/128 in 8 bits, 32767/32768 in 16.
  public var fullScale: Float {
    switch self {
    case .u8: 127 / 128
    case .s16: 32_767 / 32_768
    case .s24Packed, .s24In32: 8_388_607 / 8_388_608
    case .s32, .float32: 1 - 1 / 16_777_216
    }
  }
}

/// What a source delivers: the sample layout, its rate in hertz, and how many channels are interleaved.
public struct SourceFormat: Sendable, Equatable {
  public var sample: SampleFormat
  public var rate: Int
  public var channels: Int
  public var bytesPerFrame: Int { sample.bytes * channels }

  public init(sample: SampleFormat, rate: Int, channels: Int) {
    self.sample = sample
    self.rate = rate
    self.channels = channels
  }
}

/// The rate of every take, in hertz.
public let takeRate = 48_000
