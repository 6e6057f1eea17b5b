import Glibc

/// Mains hum: 50 or 60 Hz and its harmonics, as long as they sound through the whole take.
public struct Hum: Sendable, Equatable {
  /// 50 or 60.
  public var hertz: Int
  /// RMS of fundamental and harmonics together, dBFS; a full-scale sine reads −3.01.
  public var db: Double
}

/// Measures mains hum, whatever is said over it.
///
/// Half-second windows at some 1 kHz are looked at around the first six harmonics. Hum is steady and speech isn't: each
/// line counts with the tenth of the windows where it is weakest, and only where it then stands 10 dB above what lies 7 Hz
/// beside it. One such line besides the fundamental could be a tone: it takes the fundamental, or two. Mains may be off by
/// 0.5 Hz: a Hann window of that length is 2.2 dB down at the sixth harmonic then. Pure, constant memory.
public struct HumMeter: Sendable {
  private static let harmonics = 6
  private static let beside = 7.0
  private static let leastWindows = 4
  private static let standsOut = 10.0
  /// What is lower isn't there: 16 bits have their own noise at −98 dBFS.
  private static let lowest = -90.0

  private struct Line: Sendable {
    var coefficient: Double
    var gain: Double  // makes power of what Goertzel's algorithm gives
    var s1 = 0.0
    var s2 = 0.0
    /// Windows by whole dB below 0 dBFS.
    var counts = [Int32](repeating: 0, count: 161)

    /// The level that a tenth of the windows don't reach, dBFS.
    func quietTenth(of windows: Int) -> Double {
      var left = windows / 10
      for (below, count) in counts.enumerated().reversed() {
        if left < Int(count) { return -Double(below) }
        left -= Int(count)
      }
      return 0
    }
  }
  /// For 50 Hz, then for 60: each harmonic, what lies below it, what lies above.
  private var lines: [Line] = []
  private let factor: Int
  private var sum = 0.0
  private var summed = 0
  private let window: [Double]
  private var at = 0
  private var windows = 0

  /// - Parameter rate: hertz; below 800 nothing is measured.
  public init(rate: Int) {
    factor = max(1, (rate + 500) / 1_000)
    let slow = Double(rate) / Double(factor)
    let count = Int(slow / 2)
    window = (0..<count).map { 0.5 - 0.5 * cos(2 * .pi * (Double($0) + 0.5) / Double(count)) }
    guard slow >= 800 else { return }
    for base in [50.0, 60.0] {
      for harmonic in 1...Self.harmonics {
        for offset in [0, -Self.beside, Self.beside] {
          let hertz = base * Double(harmonic) + offset
          // Sums of `factor` samples let less of higher frequencies through.
          let x = Double.pi * hertz / Double(rate)
          let droop = factor > 1 ? sin(x * Double(factor)) / (Double(factor) * sin(x)) : 1
          let weight = Double(count) / 2 * droop  // Hann's mean is a half
          lines.append(Line(coefficient: 2 * cos(2 * .pi * hertz / slow), gain: 2 / (weight * weight)))
        }
      }
    }
  }

  /// - Parameter samples: one channel, full scale ±1.0, all finite.
  public mutating func push(_ samples: Span<Float>) {
    guard !lines.isEmpty else { return }
    for i in 0..<samples.count {
      sum += Double(samples[i])
      summed += 1
      guard summed == factor else { continue }
      add(sum / Double(factor))
      (sum, summed) = (0, 0)
    }
  }
  private mutating func add(_ value: Double) {
    let v = value * window[at]
    for i in lines.indices {
      let s = v + lines[i].coefficient * lines[i].s1 - lines[i].s2
      lines[i].s2 = lines[i].s1
      lines[i].s1 = s
    }
    at += 1
    guard at == window.count else { return }
    at = 0
    windows += 1
    for i in lines.indices {
      let line = lines[i]
      let power = line.s1 * line.s1 + line.s2 * line.s2 - line.coefficient * line.s1 * line.s2
      let db = decibels(meanSquare: max(0, power * line.gain))
      lines[i].counts[min(160, max(0, Int(-db.rounded())))] += 1
      (lines[i].s1, lines[i].s2) = (0, 0)
    }
  }

  /// The stronger of both; nil where there is none, or too little audio to tell.
  public var hum: Hum? {
    guard windows >= Self.leastWindows, !lines.isEmpty else { return nil }
    let found = [50, 60].enumerated().compactMap { i, base in hum(base, firstLine: i * 3 * Self.harmonics) }
    return found.max { $0.db < $1.db }
  }
  private func hum(_ base: Int, firstLine: Int) -> Hum? {
    var power = 0.0
    var count = 0
    var hasFundamental = false
    for harmonic in 1...Self.harmonics {
      let i = firstLine + 3 * (harmonic - 1)
      let level = lines[i].quietTenth(of: windows)
      let beside = max(lines[i + 1].quietTenth(of: windows), lines[i + 2].quietTenth(of: windows))
      guard level > Self.lowest, level - beside >= Self.standsOut else { continue }
      power += meanSquare(decibels: level)
      if base * harmonic != 300 { count += 1 }  // both have that one
      if harmonic == 1 { hasFundamental = true }
    }
    return hasFundamental || count >= 2 ? Hum(hertz: base, db: decibels(meanSquare: power)) : nil
  }
  private func meanSquare(decibels: Double) -> Double { pow(10, decibels / 10) }
}
