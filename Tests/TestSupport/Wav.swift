import Foundation

/// How a sample is stored.
public enum SampleFormat: String, Sendable, CaseIterable {
  case u8, s16, s24, s32, f32, f64
  public var bytes: Int {
    switch self {
    case .u8: 1
    case .s16: 2
    case .s24: 3
    case .s32, .f32: 4
    case .f64: 8
    }
  }
  var isFloat: Bool { self == .f32 || self == .f64 }
}

/// A WAV file in memory. Samples are interleaved, full scale ±1.0.
public struct Wav: Sendable {
  public var rate: Int
  public var channels: Int
  public var samples: [Float]
  public var frames: Int { channels == 0 ? 0 : samples.count / channels }

  public init(_ samples: [Float], rate: Int = 48_000, channels: Int = 1) {
    (self.samples, self.rate, self.channels) = (samples, rate, channels)
  }

  /// One channel's samples, `index` from 0.
  public func channel(_ index: Int) -> [Float] {
    stride(from: index, to: samples.count, by: channels).map { samples[$0] }
  }

  /// Reads integer and float WAV, also WAVE_FORMAT_EXTENSIBLE; a data size beyond the end is taken as up to the end.
  public init(reading path: String) throws {
    let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    func number(_ at: Int, _ bytes: Int) -> Int {
      (0..<bytes).reduce(0) { $0 | Int(data[at + $1]) << (8 * $1) }
    }
    func tag(_ at: Int) -> String { String(decoding: data[at..<at + 4], as: UTF8.self) }
    guard data.count >= 12, tag(0) == "RIFF", tag(8) == "WAVE" else { throw Failure("\(path): no WAV") }
    var at = 12
    var layout: (format: SampleFormat, channels: Int, rate: Int)?
    while at + 8 <= data.count {
      let size = min(number(at + 4, 4), data.count - at - 8)
      let body = at + 8
      if tag(at) == "fmt ", size >= 16 {
        let code = number(body, 2) == 0xFFFE && size >= 26 ? number(body + 24, 2) : number(body, 2)
        let formats: [Int: SampleFormat] =
          code == 3 ? [32: .f32, 64: .f64] : code == 1 ? [8: .u8, 16: .s16, 24: .s24, 32: .s32] : [:]
        guard let format = formats[number(body + 14, 2)] else { throw Failure("\(path): format \(code)") }
        layout = (format, number(body + 2, 2), number(body + 4, 4))
      } else if tag(at) == "data", let layout {
        self.init(
          unpack(data[body..<body + size], layout.format), rate: layout.rate, channels: layout.channels)
        return
      }
      at = body + size + size % 2
    }
    throw Failure("\(path): no data")
  }

  /// The file's bytes; values beyond full scale are clipped in integer formats.
  public func bytes(_ format: SampleFormat = .s16) -> Data {
    func little(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> (8 * $0) & 0xFF) } }
    let body = pack(samples, format)
    let block = channels * format.bytes
    var out = Data("RIFF".utf8)
    out += little(36 + body.count + body.count % 2, 4) + Array("WAVEfmt ".utf8) + little(16, 4)
    out += little(format.isFloat ? 3 : 1, 2) + little(channels, 2) + little(rate, 4) + little(rate * block, 4)
    out += little(block, 2) + little(8 * format.bytes, 2) + Array("data".utf8) + little(body.count, 4)
    out += body
    if body.count % 2 == 1 { out.append(0) }
    return out
  }

  public func write(to path: String, _ format: SampleFormat = .s16) throws {
    try bytes(format).write(to: URL(fileURLWithPath: path))
  }
}

/// Samples as raw little-endian bytes: what `holdfast record --input -` reads.
public func pack(_ samples: [Float], _ format: SampleFormat) -> Data {
  var out = [UInt8]()
  out.reserveCapacity(samples.count * format.bytes)
  func put(_ value: UInt64, _ bytes: Int) {
    for i in 0..<bytes { out.append(UInt8(truncatingIfNeeded: value >> (8 * i))) }
  }
  for x in samples {
    switch format {
    case .f32: put(UInt64(x.bitPattern), 4)
    case .f64: put(Double(x).bitPattern, 8)
    case .u8, .s16, .s24, .s32:
      let full = Double(1 << (8 * format.bytes - 1))
      let scaled = (x.isNaN ? 0 : Double(x)) * full
      let value = Int(min(full - 1, max(-full, scaled.rounded())))
      put(UInt64(bitPattern: Int64(value + (format == .u8 ? 128 : 0))), format.bytes)
    }
  }
  return Data(out)
}

/// The other way: raw little-endian bytes as samples; bytes that make no whole sample are left out.
public func unpack(_ data: some Collection<UInt8>, _ format: SampleFormat) -> [Float] {
  let bytes = Array(data)
  let size = format.bytes
  var out = [Float]()
  out.reserveCapacity(bytes.count / size)
  var at = 0
  while at + size <= bytes.count {
    var raw: UInt64 = 0
    for i in 0..<size { raw |= UInt64(bytes[at + i]) << (8 * i) }
    switch format {
    case .f32: out.append(Float(bitPattern: UInt32(raw)))
    case .f64: out.append(Float(Double(bitPattern: raw)))
    case .u8: out.append(Float(Int(raw) - 128) / 128)
    case .s16, .s24, .s32:
      let signed = Int64(bitPattern: raw << (64 - 8 * size)) >> (64 - 8 * size)
      out.append(Float(Double(signed) / Double(1 << (8 * size - 1))))
    }
    at += size
  }
  return out
}
