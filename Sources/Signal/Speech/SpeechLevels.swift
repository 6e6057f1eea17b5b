/// What the bands are measured against: a floor under each, and the level of whoever talks.
///
/// The floors are minimum statistics over 0.75 to 1.5 s: they follow a noise that starts in the middle of a take. The
/// talker's level holds through pauses, so that a radio far behind them isn't taken for them.
struct SpeechLevels {
  private static let windowHops = 75

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
      floor = bands.map { least($0, Four(repeating: -58)) }
      before = floor
      begun = true
    }
    smooth = Bands.zip(smooth, bands) { $0 + ($1 - $0) * 0.45 }
    low = Bands.zip(low, smooth, least)
    floor = Bands.zip(floor, Bands.zip(low, before, least)) { old, aim in
      let step = aim - old
      let share = Four(repeating: 0.03).replacing(with: 0.5, where: step .< 0)
      return most(old + step * share, Four(repeating: -84))
    }
    hops += 1
    if hops == Self.windowHops { (before, low, hops) = (low, smooth, 0) }

    let above = Bands.zip(bands, floor) {
      least(most($0 - $1 - 2.5, Four(repeating: 0)), Four(repeating: 18))
    }
    let sum = (above.a + above.b).sum() + above.c[0] + above.c[1]  // the last two aren't bands
    if periodicity > 0.5, sum > 30, loudness > talker {
      talker += (loudness - talker) * 0.3
    } else {
      talker -= 0.03
    }
    talker = max(talker, -65)
  }
}

/// One value for each of ten bands, and two that mean nothing.
struct Bands {
  var a, b, c: Four

  @inline(__always) init(_ a: Four, _ b: Four, _ c: Four) { (self.a, self.b, self.c) = (a, b, c) }
  @inline(__always) init(repeating value: Float) {
    a = Four(repeating: value)
    (b, c) = (a, a)
  }
  @inline(__always) func map(_ f: (Four) -> Four) -> Bands { Bands(f(a), f(b), f(c)) }
  @inline(__always) static func zip(_ x: Bands, _ y: Bands, _ f: (Four, Four) -> Four) -> Bands {
    Bands(f(x.a, y.a), f(x.b, y.b), f(x.c, y.c))
  }
}
