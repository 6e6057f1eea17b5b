/// What the bands are measured against: a floor under each, and the level of whoever talks.
///
/// The floors are minimum statistics over 0.75 to 1.5 s: they follow a noise that starts in the middle of a take. The
/// talker's level holds through pauses, so that a radio far behind them isn't taken for them.
struct SpeechLevels {
  typealias Bands = SIMD16<Float>  // ten are in use; the rest is 0
  private static let windowHops = 75
  private static let lowest: Float = -84

  private(set) var floor = Bands(repeating: 0)
  private(set) var talker: Float = -45
  private var smooth = Bands(repeating: 0)
  private var low = Bands(repeating: 200)
  private var before = Bands(repeating: 0)
  private var hops = 0
  private var begun = false

  /// Takes one hop's bands in dB.
  ///
  /// - Parameter loudness: of bands 1 to 8 together, dB.
  mutating func follow(_ bands: Bands, loudness: Float, periodicity: Float) {
    if !begun {
      smooth = bands
      floor = pointwiseMin(bands, Bands(repeating: -58))
      before = floor
      begun = true
    }
    smooth += (bands - smooth) * 0.45
    low = pointwiseMin(low, smooth)
    let least = pointwiseMin(low, before)
    let step = least - floor
    floor += step * Bands(repeating: 0.03).replacing(with: 0.5, where: step .< 0)
    floor = pointwiseMax(floor, Bands(repeating: Self.lowest))
    hops += 1
    if hops == Self.windowHops {
      (before, low, hops) = (low, smooth, 0)
    }
    // Unused bands are 0 and so is nothing of them above any floor: their floors are held at 0 here.
    let above = pointwiseMin(
      pointwiseMax(bands - floor - 2.5, Bands(repeating: 0)), Bands(repeating: 18))
    let sum = (above.lowHalf.sum() + above[8]) + above[9]
    if periodicity > 0.5, sum > 30, loudness > talker {
      talker += (loudness - talker) * 0.3
    } else {
      talker -= 0.03
    }
    talker = max(talker, -65)
  }
}
