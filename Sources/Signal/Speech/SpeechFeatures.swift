/// What the net gets of each hop of 10 ms: ten bands above their floors, ten against the talker, periodicity and pitch.
struct SpeechFeatures {
  static let count = 22
  private static let hop: Int64 = 480
  /// Frames that must have been pushed before hop 0 can be measured.
  private static let reach: Int64 = 796

  private var band: SpeechBand
  private var spectrum: QuadSpectrum
  private var periodicity = Periodicity()
  private var levels = SpeechLevels()
  private var chunkStart: Int64 = 0
  /// The hop that is measured next.
  private(set) var next: Int64 = 0
  private var values = [Float](repeating: 0, count: 24)
  private var rows = [Four](repeating: Four(repeating: 0), count: 12)

  init() {
    let tables = SpeechTables()
    band = SpeechBand(tables: tables)
    spectrum = QuadSpectrum(tables: tables)
  }

  /// Frames pushed so far.
  var frames: Int64 { chunkStart + Int64(band.count) }

  /// - Parameter body: gets each hop's number and values, shape `[count]`, in order.
  mutating func push(_ samples: Span<Float>, _ body: (Int64, Span<Float>) -> Void) {
    var first = 0
    while first < samples.count {
      first += band.fill(samples.extracting(first..<samples.count))
      guard band.isFull else { return }
      measure(body)
      band.advance()
      periodicity.advance()
      chunkStart += Int64(SpeechBand.chunk)
    }
  }
  /// Measures every hop that the samples so far are enough for, without waiting for a full chunk.
  mutating func catchUp(_ body: (Int64, Span<Float>) -> Void) {
    if frames >= next * Self.hop + Self.reach { measure(body) }
  }

  private mutating func measure(_ body: (Int64, Span<Float>) -> Void) {
    band.make()
    // The first of a chunk's four windows stands for the last hop of the chunk before.
    spectrum.measure(band.at16.span, at: SpeechBand.origin16 - 240)
    periodicity.measure(band.at4.span)
    let firstHop = chunkStart / Self.hop - 1
    loudness = Four(repeating: 0)
    for b in 1..<9 { loudness += spectrum.powers[b] + 1e-9 }
    loudness = tenLog10(loudness)
    for b in 0..<QuadSpectrum.bands { rows[b] = tenLog10(spectrum.powers[b] + 1e-9) }
    for lane in 0..<4 {
      let hop = firstHop + Int64(lane)
      guard hop >= next, frames >= hop * Self.hop + Self.reach else { continue }
      next = hop + 1
      finish(lane)
      body(hop, values.span.extracting(0..<Self.count))
    }
  }
  private var loudness = Four(repeating: 0)

  private mutating func finish(_ lane: Int) {
    var bands = SpeechLevels.Bands(repeating: 0)
    for b in 0..<QuadSpectrum.bands { bands[b] = rows[b][lane] }
    let strength = periodicity.strength[lane]
    levels.follow(bands, loudness: loudness[lane], periodicity: strength)
    typealias Bands = SpeechLevels.Bands
    let floors = ((bands - levels.floor) * (1 / 12.0)).clamped(
      lowerBound: Bands(repeating: 0), upperBound: Bands(repeating: 3))
    let talkers = ((bands - levels.talker) * (1 / 20.0)).clamped(
      lowerBound: Bands(repeating: -3), upperBound: Bands(repeating: 1))
    for b in 0..<QuadSpectrum.bands {
      values[b] = floors[b]
      values[b + 10] = talkers[b]
    }
    values[20] = strength
    values[21] = strength * (periodicity.lag[lane] - 33) * (1 / 23.0)
  }
}
