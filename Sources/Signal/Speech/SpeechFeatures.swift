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
  private let first: Int64
  /// The hop that is measured next.
  private(set) var next: Int64 = 0
  /// Of the newest hop: `count` of them count.
  private(set) var values = [Float](repeating: 0, count: 24)
  private var loudness = Four(repeating: 0)
  private var rows = [Four](repeating: Four(repeating: 0), count: 12)

  /// - Parameter start: frame that the first sample is: a multiple of 1 920.
  init(from start: Int64 = 0) {
    precondition(start >= 0 && start % Int64(SpeechBand.chunk) == 0)
    chunkStart = start
    first = start / Self.hop
    next = first
    let tables = SpeechTables()
    band = SpeechBand(tables: tables)
    spectrum = QuadSpectrum(tables: tables)
  }

  /// Some hop has been measured.
  var hasBegun: Bool { next > first }
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
    spectrum.measure(band.at16, at: SpeechBand.origin16 - 240)
    periodicity.measure(band.at4)
    let firstHop = chunkStart / Self.hop - 1
    turn()
    for lane in 0..<4 {
      let hop = firstHop + Int64(lane)
      guard hop >= next, frames >= hop * Self.hop + Self.reach else { continue }
      next = hop + 1
      finish(lane)
      body(hop, values.span.extracting(0..<Self.count))
    }
  }
  /// From lanes of windows to a row of bands for each window.
  private mutating func turn() {
    let powers = spectrum.powers
    var sum = Four(repeating: 0)
    for b in 1..<9 { sum += powers[b] + 1e-9 }
    loudness = tenLog10(sum)
    for group in 0..<3 {
      let b = group * 4
      let none = Four(repeating: 1)
      let (p, q) = (tenLog10(powers[b] + 1e-9), tenLog10(powers[b + 1] + 1e-9))
      let r = group < 2 ? tenLog10(powers[b + 2] + 1e-9) : none
      let s = group < 2 ? tenLog10(powers[b + 3] + 1e-9) : none
      (rows[group], rows[group + 3], rows[group + 6], rows[group + 9]) = transpose(p, q, r, s)
    }
  }

  private mutating func finish(_ lane: Int) {
    let bands = Bands(rows[lane * 3], rows[lane * 3 + 1], rows[lane * 3 + 2])
    let strength = periodicity.strength[lane]
    levels.follow(bands, loudness: loudness[lane], periodicity: strength)
    let talker = levels.talker
    let above = Bands.zip(bands, levels.floor) {
      least(most(($0 - $1) * (1 / 12.0), Four(repeating: 0)), Four(repeating: 3))
    }
    let relative = bands.map {
      least(most(($0 - talker) * (1 / 20.0), Four(repeating: -3)), Four(repeating: 1))
    }
    let pitch = strength * (periodicity.lag[lane] - 33) * (1 / 23.0)
    var target = values.mutableSpan
    store(above.a, &target, 0)
    store(above.b, &target, 4)
    store(above.c, &target, 8)  // what isn't a band is written over
    store(relative.a, &target, 10)
    store(relative.b, &target, 14)
    store(relative.c, &target, 18)
    target[20] = strength
    target[21] = pitch
  }
}
