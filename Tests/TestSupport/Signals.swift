import Foundation

/// Closed-form signals: one channel, full scale ±1.0. Levels are of the peak in dBFS unless said otherwise.
public enum Tone {
  public static func sine(
    _ frames: Int, rate: Int = 48_000, hz: Double = 1000, db: Double = -6, phase: Double = 0
  ) -> [Float] {
    let step = 2 * Double.pi * hz / Double(rate)
    let peak = amplitude(db)
    return (0..<frames).map { Float(peak * sin(step * Double($0) + phase)) }
  }
  /// Half a period up, half a period down; `period` in frames.
  public static func square(_ frames: Int, period: Int = 48, db: Double = -6) -> [Float] {
    let peak = Float(amplitude(db))
    return (0..<frames).map { $0 % period < period / 2 ? peak : -peak }
  }
  /// Uniform white noise of exactly this RMS; the same seed gives the same samples.
  public static func white(_ frames: Int, rmsDb: Double = -20, seed: UInt64 = 1) -> [Float] {
    var random = Seeded(seed)
    let raw = (0..<frames).map { _ in Double(random.next() >> 11) / Double(1 << 52) - 1 }
    let rms = (raw.reduce(0) { $0 + $1 * $1 } / Double(max(1, frames))).squareRoot()
    let gain = rms > 0 ? amplitude(rmsDb) / rms : 0
    return raw.map { Float($0 * gain) }
  }
  public static func constant(_ frames: Int, _ value: Float) -> [Float] {
    Array(repeating: value, count: frames)
  }
  public static func silence(_ frames: Int) -> [Float] { constant(frames, 0) }
}

/// SplitMix64: the same numbers everywhere; tests print their seed.
public struct Seeded: RandomNumberGenerator, Sendable {
  private var state: UInt64
  public init(_ seed: UInt64) { state = seed }
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }
}

public func amplitude(_ db: Double) -> Double { pow(10, db / 20) }
/// 20·log10, not below −160.
public func decibel(_ amplitude: Double) -> Double { amplitude > 0 ? max(-160, 20 * log10(amplitude)) : -160 }

/// RMS in dBFS, DC included: a full-scale sine reads −3.01.
public func rmsDb(_ samples: some Collection<Float>) -> Double {
  guard !samples.isEmpty else { return -160 }
  return decibel((samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)).squareRoot())
}
public func peakDb(_ samples: some Collection<Float>) -> Double {
  decibel(samples.reduce(0.0) { max($0, abs(Double($1))) })
}
public func mean(_ samples: some Collection<Float>) -> Double {
  samples.isEmpty ? 0 : samples.reduce(0.0) { $0 + Double($1) } / Double(samples.count)
}
/// Peak level in dBFS of the part of `samples` at one frequency (Hann window).
public func toneDb(_ samples: some Collection<Float>, hz: Double, rate: Int = 48_000) -> Double {
  let n = samples.count
  guard n > 0 else { return -160 }
  var (re, im, weight) = (0.0, 0.0, 0.0)
  for (i, x) in samples.enumerated() {
    let w = 0.5 - 0.5 * cos(2 * .pi * (Double(i) + 0.5) / Double(n))
    let angle = 2 * .pi * hz * Double(i) / Double(rate)
    re += w * Double(x) * cos(angle)
    im += w * Double(x) * sin(angle)
    weight += w
  }
  return decibel(2 * (re * re + im * im).squareRoot() / weight)
}
/// Frequency of a lone tone in Hz, from the times of its first and last rising zero crossing; 0 if there are under two.
public func frequency(_ samples: [Float], rate: Int = 48_000) -> Double {
  var crossings = [Double]()
  for i in samples.indices.dropFirst() where samples[i - 1] < 0 && samples[i] >= 0 {
    crossings.append(Double(i) - Double(samples[i]) / Double(samples[i] - samples[i - 1]))
  }
  guard let first = crossings.first, let last = crossings.last, last > first else { return 0 }
  return Double(crossings.count - 1) * Double(rate) / (last - first)
}
