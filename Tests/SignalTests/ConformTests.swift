import Foundation
import Testing

@testable import Signal

/// Packs samples the way a device of that format hands them over.
func pack(_ samples: [Double], _ format: SampleFormat) -> [UInt8] {
  var bytes: [UInt8] = []
  func put<T: FixedWidthInteger>(_ value: T, _ count: Int) {
    for i in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> T(8 * i))) }
  }
  for v in samples {
    switch format {
    case .u8: bytes.append(UInt8(max(0, min(255, Int((v * 128).rounded()) + 128))))
    case .s16: put(Int32(max(-32_768, min(32_767, (v * 32_768).rounded()))), 2)
    case .s24Packed: put(Int32(max(-8_388_608, min(8_388_607, (v * 8_388_608).rounded()))), 3)
    case .s24In32:  // a junk top byte, which must be ignored
      let value = Int32(max(-8_388_608, min(8_388_607, (v * 8_388_608).rounded())))
      put(value, 3)
      bytes.append(UInt8.random(in: 0...255))
    case .s32: put(Int64(max(-2_147_483_648, min(2_147_483_647, (v * 2_147_483_648).rounded()))), 4)
    case .float32: put(Float(v).bitPattern, 4)
    }
  }
  return bytes
}

/// Conforms `bytes`, handed over in blocks of `block` frames.
func conform(
  _ bytes: [UInt8], _ format: SourceFormat, choice: ChannelChoice = .channel(1), block: Int = 480
) throws -> (samples: [Float], faults: SampleFaults) {
  let conformer = try Conformer(format: format, choice: choice)
  var out: [Float] = []
  let frames = bytes.count / format.bytesPerFrame
  var first = 0
  while first < frames {
    let n = min(block, frames - first)
    let part = Array(bytes[(first * format.bytesPerFrame)..<((first + n) * format.bytesPerFrame)])
    conformer.push(part.span.bytes, count: n) { span, count in for i in 0..<count { out.append(span[i]) } }
    first += n
  }
  conformer.finish { span, count in for i in 0..<count { out.append(span[i]) } }
  return (out, conformer.faults)
}

private let rates = [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 96_000, 192_000]

@Test(arguments: rates, [0, 1, 2, 100, 7_919])
func `a run of n device frames gives round(n * 48000 / rate)`(_ rate: Int, _ frames: Int) throws {
  let format = SourceFormat(sample: .s16, rate: rate, channels: 1)
  let (samples, _) = try conform([UInt8](repeating: 0, count: frames * 2), format)
  #expect(samples.count == Int((Double(frames) * 48_000 / Double(rate)).rounded()))
}

@Test(arguments: SampleFormat.allCases, [8_000, 16_000, 44_100, 48_000, 96_000])
func `a sine has its calculated level in every format and at every rate`(_ sample: SampleFormat, _ rate: Int)
  throws
{
  let input = (0..<rate).map { 0.5 * sin(2 * .pi * 1000 * Double($0) / Double(rate)) }
  let (samples, _) = try conform(pack(input, sample), SourceFormat(sample: sample, rate: rate, channels: 1))
  var meter = Meter()
  var peaks: [Double] = []
  var levels: [Double] = []
  meter.push(samples.span) {
    levels.append($0.rmsDb)
    peaks.append($0.peakDb)
  }
  let tolerance = sample == .u8 ? 0.15 : 0.05
  #expect(levels.count == 30)
  for db in levels[1..<29] { #expect(abs(db + 9.0309) < tolerance) }
  for db in peaks[1..<29] { #expect(abs(db + 6.0206) < tolerance) }
}

@Test(arguments: SampleFormat.allCases)
func `DC keeps its value in every format`(_ sample: SampleFormat) throws {
  let (samples, _) = try conform(
    pack([Double](repeating: -0.25, count: 4_800), sample),
    SourceFormat(sample: sample, rate: 48_000, channels: 1))
  #expect(samples.allSatisfy { abs($0 + 0.25) < 0.005 })
}

@Test(arguments: [8_000, 16_000, 44_100, 96_000], SampleFormat.allCases)
func `white noise below the pass band keeps its level`(_ rate: Int, _ sample: SampleFormat) throws {
  // Noise that both rates can carry: a sum of sines with random phases up to 3.2 kHz, so its level is known exactly.
  var generator = SplitMix(state: 7)
  let tones = (1...64).map { (Double($0) * 50, Double.random(in: 0..<(2 * .pi), using: &generator)) }
  let amplitude = 0.02
  let input = (0..<rate).map { n in
    tones.reduce(0.0) { $0 + amplitude * sin(2 * .pi * $1.0 * Double(n) / Double(rate) + $1.1) }
  }
  let (samples, _) = try conform(pack(input, sample), SourceFormat(sample: sample, rate: rate, channels: 1))
  let middle = samples[4_800..<43_200]  // whole periods, away from the filter's ends
  let rms = 10 * log10(middle.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(middle.count))
  #expect(abs(rms - 10 * log10(64 * amplitude * amplitude / 2)) < (sample == .u8 ? 0.15 : 0.05))
}

@Test(arguments: rates)
func `clicks 5 ms from either end survive`(_ rate: Int) throws {
  let frames = rate * 3
  var input = [Double](repeating: 0, count: frames)
  let at = rate * 5 / 1000
  input[at] = 0.9
  input[frames - 1 - at] = 0.9
  let (samples, _) = try conform(pack(input, .s16), SourceFormat(sample: .s16, rate: rate, channels: 1))
  let loudest = { (range: Range<Int>) in range.max { abs(samples[$0]) < abs(samples[$1]) } ?? -1 }
  #expect(abs(loudest(0..<samples.count / 2) - 240) <= 48)
  #expect(abs(loudest(samples.count / 2..<samples.count) - (samples.count - 1 - 240)) <= 48)
}

@Test(arguments: [8_000, 44_100, 48_000])
func `the block size changes nothing`(_ rate: Int) throws {
  var generator = SplitMix(state: 3)
  let input = (0..<20_011).map { _ in Double.random(in: -0.9...0.9, using: &generator) }
  let bytes = pack(input, .s16)
  let format = SourceFormat(sample: .s16, rate: rate, channels: 1)
  let reference = try conform(bytes, format, block: 480).samples
  for block in [1, 64, 1_000, 20_011] {
    #expect(try conform(bytes, format, block: block).samples == reference)
  }
}

@Test func `NaN and infinities count as 0, too large floats as full scale, and both are counted`() throws {
  let values: [Float] = [0.5, .nan, .infinity, -.infinity, 1.5, -2, 1, -1, 0.25]
  let bytes = values.flatMap { v in (0..<4).map { UInt8(truncatingIfNeeded: v.bitPattern >> UInt32(8 * $0)) }
  }
  let (samples, faults) = try conform(bytes, SourceFormat(sample: .float32, rate: 48_000, channels: 1))
  #expect(samples == [0.5, 0, 0, 0, 1, -1, 1, -1, 0.25])
  #expect(faults.notFinite == 3)
  #expect(faults.over == 2)
}

@Test func `a channel is picked, or all are mixed to their mean`() throws {
  let bytes = pack([0.5, -0.25, 0.5, -0.25], .s16)
  let format = SourceFormat(sample: .s16, rate: 48_000, channels: 2)
  #expect(try conform(bytes, format).samples == [0.5, 0.5])
  #expect(try conform(bytes, format, choice: .channel(2)).samples == [-0.25, -0.25])
  #expect(try conform(bytes, format, choice: .mix).samples == [0.125, 0.125])
  #expect(throws: ConformError.channel(3, of: 2)) { try conform(bytes, format, choice: .channel(3)) }
}

@Test(arguments: [1, 100, 20_000_000])
func `rates that can't be converted are refused`(_ rate: Int) {
  #expect(throws: ConformError.rate(rate)) {
    try conform([], SourceFormat(sample: .s16, rate: rate, channels: 1))
  }
}

struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
