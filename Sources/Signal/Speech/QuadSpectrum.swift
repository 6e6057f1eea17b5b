import Glibc

/// Powers in ten bands of four windows at once, a window in each lane: a real FFT of 512 points over 320 samples.
///
/// No lane ever meets another, so a window's bands don't depend on its neighbours.
struct QuadSpectrum {
  static let bands = 10
  /// First bin of each band, 31.25 Hz a bin: 100, 250, 450, 700, 1050, 1500, 2150, 3000, 4200, 5800 to 7600 Hz.
  private static let edges = [4, 8, 15, 23, 34, 48, 69, 96, 135, 186, 244]
  private static let size = 256  // complex points: even samples real, odd ones imaginary

  /// Powers of the four windows, shape `[band]`; full scale 1.0.
  private(set) var powers = [Four](repeating: Four(repeating: 0), count: bands)

  private var time = [Four](repeating: Four(repeating: 0), count: 320)
  private var re = [Four](repeating: Four(repeating: 0), count: size)
  private var im = [Four](repeating: Four(repeating: 0), count: size)
  private var bins = [Four](repeating: Four(repeating: 0), count: size)
  private let window: [Four]  // each value in all lanes
  private let cosines: [Float]  // of 2πk/512
  private let sines: [Float]
  private let places: [Int]  // where the FFT leaves bin k
  private let scale: Float

  init(tables: SpeechTables) {
    window = tables.window.map { Four(repeating: $0) }
    cosines = (0..<512).map { Float(cos(2 * .pi * Double($0) / 512)) }
    sines = (0..<512).map { Float(sin(2 * .pi * Double($0) / 512)) }
    places = (0..<Self.size).map { ($0 & 3) << 6 | ($0 & 12) << 2 | ($0 & 48) >> 2 | $0 >> 6 }
    let energy = tables.window.reduce(0.0) { $0 + Double($1) * Double($1) }
    scale = Float(2 / (512 * energy) / 4)  // a quarter: the bins come out twice as high
  }

  /// Measures the windows that start at `first`, 160 samples apart.
  mutating func measure(_ samples: [Float], at first: Int) {
    Self.gather(samples, at: first, window, &time)
    Self.firstStage(time, cosines, sines, &re, &im)
    Self.stage(quarter: 16, blocks: 4, cosines, sines, &re, &im)
    Self.stage(quarter: 4, blocks: 16, cosines, sines, &re, &im)
    Self.lastStage(&re, &im)
    Self.untangle(re, im, cosines, sines, places, &bins)
    Self.sum(bins, scale, &powers)
  }

  /// Turns four windows into lanes, and takes their mean out.
  private static func gather(
    _ source: [Float], at first: Int, _ window: [Four], _ time: inout [Four]
  ) {
    let (samples, shape) = (source.span, window.span)
    var target = time.mutableSpan
    var sum = Four(repeating: 0)
    var i = 0
    while i < 320 {
      let at = first &+ i
      let (a, b, c, d) = transpose(
        load(samples, at), load(samples, at &+ 160), load(samples, at &+ 320), load(samples, at &+ 480))
      unsafe target[unchecked: i] = a
      unsafe target[unchecked: i &+ 1] = b
      unsafe target[unchecked: i &+ 2] = c
      unsafe target[unchecked: i &+ 3] = d
      sum += (a + b) + (c + d)
      i &+= 4
    }
    let mean = sum * (1 / 320.0)
    for i in 0..<320 { unsafe target[unchecked: i] = (target[unchecked: i] - mean) * shape[unchecked: i] }
  }

  /// Radix 4, decimation in frequency. Of the 256 points the last 96 are zero: nothing is added for them.
  private static func firstStage(
    _ time: [Four], _ cosines: [Float], _ sines: [Float], _ real: inout [Four], _ imaginary: inout [Four]
  ) {
    let (t, cosine, sine) = (time.span, cosines.span, sines.span)
    var re = real.mutableSpan
    var im = imaginary.mutableSpan
    for n in 0..<64 {
      let (ar, ai) = unsafe (t[unchecked: 2 &* n], t[unchecked: 2 &* n &+ 1])
      let (br, bi) = unsafe (t[unchecked: 2 &* n &+ 128], t[unchecked: 2 &* n &+ 129])
      let zero = Four(repeating: 0)
      let (cr, ci) = n < 32 ? unsafe (t[unchecked: 2 &* n &+ 256], t[unchecked: 2 &* n &+ 257]) : (zero, zero)
      let (sr, si, dr, di) = (ar + cr, ai + ci, ar - cr, ai - ci)
      unsafe re[unchecked: n] = sr + br
      unsafe im[unchecked: n] = si + bi
      let k = 2 &* n  // twiddles are of 512 points
      turn(dr + bi, di - br, unsafe cosine[unchecked: k], unsafe sine[unchecked: k], &re, &im, n &+ 64)
      turn(
        sr - br, si - bi, unsafe cosine[unchecked: 2 &* k], unsafe sine[unchecked: 2 &* k], &re, &im, n &+ 128
      )
      turn(
        dr - bi, di + br, unsafe cosine[unchecked: 3 &* k], unsafe sine[unchecked: 3 &* k], &re, &im, n &+ 192
      )
    }
  }

  private static func stage(
    quarter: Int, blocks: Int, _ cosines: [Float], _ sines: [Float], _ real: inout [Four],
    _ imaginary: inout [Four]
  ) {
    let (cosine, sine) = (cosines.span, sines.span)
    var re = real.mutableSpan
    var im = imaginary.mutableSpan
    let step = 128 / quarter
    for n in 0..<quarter {
      let k = n &* step
      let (c1, s1) = unsafe (cosine[unchecked: k], sine[unchecked: k])
      let (c2, s2) = unsafe (cosine[unchecked: 2 &* k], sine[unchecked: 2 &* k])
      let (c3, s3) = unsafe (cosine[unchecked: 3 &* k], sine[unchecked: 3 &* k])
      for block in 0..<blocks {
        let i = block &* quarter &* 4 &+ n
        let (j, l, m) = (i &+ quarter, i &+ 2 &* quarter, i &+ 3 &* quarter)
        let (ar, ai) = unsafe (re[unchecked: i], im[unchecked: i])
        let (br, bi) = unsafe (re[unchecked: j], im[unchecked: j])
        let (cr, ci) = unsafe (re[unchecked: l], im[unchecked: l])
        let (dr, di) = unsafe (re[unchecked: m], im[unchecked: m])
        let (pr, pi, qr, qi) = (ar + cr, ai + ci, ar - cr, ai - ci)
        let (rr, ri, tr, ti) = (br + dr, bi + di, br - dr, bi - di)
        unsafe re[unchecked: i] = pr + rr
        unsafe im[unchecked: i] = pi + ri
        turn(qr + ti, qi - tr, c1, s1, &re, &im, j)
        turn(pr - rr, pi - ri, c2, s2, &re, &im, l)
        turn(qr - ti, qi + tr, c3, s3, &re, &im, m)
      }
    }
  }

  /// Stores (xr + i·xi)·e^(−iφ).
  @inline(__always) private static func turn(
    _ xr: Four, _ xi: Four, _ c: Float, _ s: Float, _ re: inout MutableSpan<Four>,
    _ im: inout MutableSpan<Four>, _ at: Int
  ) {
    unsafe re[unchecked: at] = xr * c + xi * s
    unsafe im[unchecked: at] = xi * c - xr * s
  }

  private static func lastStage(_ real: inout [Four], _ imaginary: inout [Four]) {
    var re = real.mutableSpan
    var im = imaginary.mutableSpan
    var i = 0
    while i < size {
      let (ar, ai) = unsafe (re[unchecked: i], im[unchecked: i])
      let (br, bi) = unsafe (re[unchecked: i &+ 1], im[unchecked: i &+ 1])
      let (cr, ci) = unsafe (re[unchecked: i &+ 2], im[unchecked: i &+ 2])
      let (dr, di) = unsafe (re[unchecked: i &+ 3], im[unchecked: i &+ 3])
      let (pr, pi, qr, qi) = (ar + cr, ai + ci, ar - cr, ai - ci)
      let (rr, ri, tr, ti) = (br + dr, bi + di, br - dr, bi - di)
      unsafe re[unchecked: i] = pr + rr
      unsafe im[unchecked: i] = pi + ri
      unsafe re[unchecked: i &+ 1] = qr + ti
      unsafe im[unchecked: i &+ 1] = qi - tr
      unsafe re[unchecked: i &+ 2] = pr - rr
      unsafe im[unchecked: i &+ 2] = pi - ri
      unsafe re[unchecked: i &+ 3] = qr - ti
      unsafe im[unchecked: i &+ 3] = qi + tr
      i &+= 4
    }
  }

  /// From the FFT of even and odd samples to the powers of the real one: |E ± T|² = |E|² + |T|² ± 2·Re(E·T̄).
  private static func untangle(
    _ real: [Four], _ imaginary: [Four], _ cosines: [Float], _ sines: [Float], _ places: [Int],
    _ result: inout [Four]
  ) {
    let (re, im, place) = (real.span, imaginary.span, places.span)
    let (cosine, sine) = (cosines.span, sines.span)
    var bins = result.mutableSpan
    for k in 4..<128 {
      let (i, j) = unsafe (place[unchecked: k], place[unchecked: 256 &- k])
      let (xr, xi) = unsafe (re[unchecked: i], im[unchecked: i])
      let (yr, yi) = unsafe (re[unchecked: j], im[unchecked: j])
      let (er, ei) = (xr + yr, xi - yi)
      let (or, oi) = (xi + yi, yr - xr)  // −i·(Z[k] − conj Z[256 − k])
      let (c, s) = unsafe (cosine[unchecked: k], sine[unchecked: k])
      let (tr, ti) = (or * c + oi * s, oi * c - or * s)
      let sum = (er * er + ei * ei) + (or * or + oi * oi)
      let cross = 2 * (er * tr + ei * ti)
      unsafe bins[unchecked: k] = sum + cross
      unsafe bins[unchecked: 256 &- k] = sum - cross
    }
    let middle = place[128]
    let (xr, xi) = (re[middle], im[middle])
    bins[128] = 4 * (xr * xr + xi * xi)
  }

  private static func sum(_ all: [Four], _ scale: Float, _ powers: inout [Four]) {
    let bins = all.span
    for band in 0..<bands {
      var sum = Four(repeating: 0)
      for k in edges[band]..<edges[band + 1] { unsafe sum += bins[unchecked: k] }
      powers[band] = most(sum * scale, Four(repeating: 0))  // rounding can leave less than nothing
    }
  }
}
