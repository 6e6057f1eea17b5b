/// How periodic 30 ms are at 71 to 400 Hz, and with which lag: normalised correlation at 4 kHz.
///
/// Windows of three hops overlap, so that each hop's products are summed once and used three times. Only a local maximum
/// over the lags counts: hum, rumble and slopes correlate highly, but without one.
struct Periodicity {
  /// Lags 59 to 8, descending as the samples ascend in memory.
  private static let lags = 52
  private static let longest = 59
  private static let hops = 6  // two before a chunk's four

  private(set) var strength = Four(repeating: 0)
  private(set) var lag = Four(repeating: 33)

  private var products = [Float](repeating: 0, count: lags * hops)
  private var energies = [Float](repeating: 0, count: lags * hops)
  private var energy = [Float](repeating: 0, count: hops)
  private var curve = [Float](repeating: 0, count: lags + 4)

  /// Measures the chunk's four windows; the first's middle hop is the last of the chunk before.
  mutating func measure(_ at4: [Float]) {
    let samples = at4.span
    for hop in 2..<Self.hops {
      let first = SpeechBand.origin4 - 20 + 40 * (hop - 2)
      let base = hop * Self.lags
      // In two halves: that many sums stay in registers.
      Self.product(samples, first, 0, &products, base)
      Self.product(samples, first, 28, &products, base)
      Self.slide(samples, first, &energies, base)
      energy[hop] = Self.power(samples, first)
    }
    for window in 0..<4 {
      let own = energy[window] + energy[window + 1] + energy[window + 2]
      Self.correlate(products, energies, window * Self.lags, own, &curve)
      (strength[window], lag[window]) = Self.peak(curve)
    }
  }
  mutating func advance() {
    for i in 0..<(2 * Self.lags) {
      products[i] = products[i + 4 * Self.lags]
      energies[i] = energies[i + 4 * Self.lags]
    }
    energy[0] = energy[4]
    energy[1] = energy[5]
  }

  private static func power(_ samples: Span<Float>, _ first: Int) -> Float {
    var sum = Four(repeating: 0)
    for n in 0..<10 {
      let v = load(samples, first &+ n &* 4)
      sum += v * v
    }
    return sum.sum()
  }

  /// Powers of the 40 samples at each lag.
  private static func slide(_ samples: Span<Float>, _ first: Int, _ energies: inout [Float], _ base: Int) {
    var target = energies.mutableSpan
    var sum = power(samples, first - longest)
    for v in 0..<lags {
      unsafe target[unchecked: base &+ v] = max(0, sum)
      let old = unsafe samples[unchecked: first &- longest &+ v]
      let new = unsafe samples[unchecked: first &- longest &+ v &+ 40]
      sum += new * new - old * old
    }
  }

  /// Products of 40 samples with those before them: 28 lags from the `offset`-th on, or the 24 that are left.
  @inline(__always) private static func product(
    _ samples: Span<Float>, _ first: Int, _ offset: Int, _ products: inout [Float], _ base: Int
  ) {
    var target = products.mutableSpan
    let zero = Four(repeating: 0)
    var (a, b, c, d, e, f, g) = (zero, zero, zero, zero, zero, zero, zero)
    for n in 0..<40 {
      let now = unsafe samples[unchecked: first &+ n]
      let at = first &+ n &- longest &+ offset
      a += load(samples, at) * now
      b += load(samples, at &+ 4) * now
      c += load(samples, at &+ 8) * now
      d += load(samples, at &+ 12) * now
      e += load(samples, at &+ 16) * now
      f += load(samples, at &+ 20) * now
      if offset == 0 { g += load(samples, at &+ 24) * now }
    }
    let o = base &+ offset
    store(a, &target, o)
    store(b, &target, o &+ 4)
    store(c, &target, o &+ 8)
    store(d, &target, o &+ 12)
    store(e, &target, o &+ 16)
    store(f, &target, o &+ 20)
    if offset == 0 { store(g, &target, o &+ 24) }
  }

  private static func correlate(
    _ products: [Float], _ energies: [Float], _ p: Int, _ own: Float, _ curve: inout [Float]
  ) {
    let (sums, powers) = (products.span, energies.span)
    let tiny: Float = 1e-9
    let q = lags
    var r = curve.mutableSpan
    var i = 0
    while i < lags {
      let at = p &+ i
      let product = load(sums, at) + load(sums, at &+ q) + load(sums, at &+ 2 &* q)
      let power = load(powers, at) + load(powers, at &+ q) + load(powers, at &+ 2 &* q)
      store(product / ((power + tiny) * (own + tiny)).squareRoot(), &r, i)
      i &+= 4
    }
  }

  /// Lags 56 to 10 stand at 3 to 49; the shorter lag wins a tie, as its multiples correlate too.
  private static func peak(_ curve: [Float]) -> (strength: Float, lag: Float) {
    let r = curve.span
    var highest = Four(repeating: 0)
    var i = 3
    while i < 50 {
      let at = min(i, 46)  // the last four overlap the ones before
      let v = load(r, at)
      let peaks = (v .>= load(r, at &- 1)) .& (v .>= load(r, at &+ 1)) .& (v .> highest)
      highest.replace(with: v, where: peaks)
      i &+= 4
    }
    let best = highest.max()
    guard best > 0 else { return (0, 10) }
    i = 49
    while unsafe i > 3 && r[unchecked: i] != best { i &-= 1 }
    return (min(1, best), Float(longest - i))
  }
}
