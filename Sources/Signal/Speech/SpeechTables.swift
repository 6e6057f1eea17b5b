import Glibc

/// Filters, window and twiddles of the speech detector, worked out once at start. All in Double, then rounded.
struct SpeechTables {
  /// 48 to 16 kHz: low-pass at 7 kHz, 33 taps.
  let third = lowPass(taps: 33, cutoff: 7_000 / 24_000.0)
  /// 16 to 4 kHz: low-pass at 1.75 kHz, 49 taps.
  let quarter = lowPass(taps: 49, cutoff: 1_750 / 8_000.0)
  /// Hann over 320 samples, without the zeros at its ends.
  let window: [Float] = (0..<320).map { Float(0.5 - 0.5 * cos(2 * .pi * Double($0 + 1) / 321)) }

  /// A window-method FIR with a Kaiser window, β = 5, and a gain of 1 at 0 Hz.
  ///
  /// - Parameter cutoff: as a share of half the sample rate.
  static func lowPass(taps: Int, cutoff: Double) -> [Float] {
    let middle = Double(taps - 1) / 2
    let raw = (0..<taps).map { n -> Double in
      let t = Double(n) - middle
      let ideal = t == 0 ? cutoff : sin(.pi * cutoff * t) / (.pi * t)
      let edge = t / middle
      return ideal * bessel(5 * max(0, 1 - edge * edge).squareRoot()) / bessel(5)
    }
    let sum = raw.reduce(0, +)
    return raw.map { Float($0 / sum) }
  }

  /// The modified Bessel function of the first kind, order 0.
  private static func bessel(_ x: Double) -> Double {
    var (term, sum, k) = (1.0, 1.0, 1.0)
    while term > sum * 1e-17 {
      term *= (x / 2) * (x / 2) / (k * k)
      sum += term
      k += 1
    }
    return sum
  }
}
