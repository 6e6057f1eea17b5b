/// What the filters hold: the input at 48 kHz, and what becomes of it at 16 and at 4 kHz. Works in chunks of 40 ms.
///
/// A chunk can be made before it is full: what hangs on samples yet to come is then wrong, and made again. All time is
/// counted from the chunk's first frame, c; the names say the rate.
struct SpeechBand {
  static let chunk = 1_920
  /// `at16[origin16 + m]` is sample m after the chunk's start; there are 256 before it, and 635 behind.
  static let origin16 = 256
  /// `at4[origin4 + m]` is sample m after the chunk's start; there are 96 before it, and 153 behind.
  static let origin4 = 96

  private(set) var at16 = [Float](repeating: 0, count: 256 + 640)
  private(set) var at4 = [Float](repeating: 0, count: 96 + 160)
  private(set) var count = 0

  private static let history = 16
  private var input = [Float](repeating: 0, count: chunk)
  private var phase0 = [Float](repeating: 0, count: history + 640)
  private var phase1 = [Float](repeating: 0, count: history + 640)
  private var phase2 = [Float](repeating: 0, count: history + 640)
  private var quarter0 = [Float](repeating: 0, count: 176)
  private var quarter1 = [Float](repeating: 0, count: 176)
  private var quarter2 = [Float](repeating: 0, count: 176)
  private var quarter3 = [Float](repeating: 0, count: 176)
  private var raw4 = [Float](repeating: 0, count: 164)  // [3] is the sample before the 160 of this chunk
  private let third: [Four]  // each tap in all lanes
  private let quarter: [Four]

  init(tables: SpeechTables) {
    third = tables.third.map { Four(repeating: $0) }
    quarter = tables.quarter.map { Four(repeating: $0) }
  }

  var isFull: Bool { count == Self.chunk }

  /// Takes what the chunk has room for; returns how much that was.
  mutating func fill(_ samples: Span<Float>) -> Int {
    let n = min(samples.count, Self.chunk - count)
    let filled = count
    var target = input.mutableSpan
    copy(samples.extracting(0..<n), to: &target, at: filled)
    count = filled + n
    return n
  }

  /// Makes `at16` and `at4` of the chunk.
  mutating func make() {
    Self.split(input, &phase0, &phase1, &phase2)
    Self.makeAt16(phase0, phase1, phase2, third, &at16)
    Self.splitQuarters(at16, &quarter0, &quarter1, &quarter2, &quarter3)
    Self.makeAt4(quarter0, quarter1, quarter2, quarter3, quarter, &raw4)
    Self.emphasize(raw4, &at4)
  }

  /// Goes on to the next chunk.
  mutating func advance() {
    Self.keep(Self.history, &phase0)
    Self.keep(Self.history, &phase1)
    Self.keep(Self.history, &phase2)
    Self.keep(Self.origin16, &at16)
    Self.keep(Self.origin4, &at4)
    raw4[3] = raw4[163]
    count = 0
  }
  private static func keep(_ n: Int, _ samples: inout [Float]) {
    let from = samples.count - n
    var target = samples.mutableSpan
    var i = 0
    while i < n {  // up to 256 of 896: source and target don't overlap, or the source is ahead
      store(
        unsafe target.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: (from &+ i) &* 4, as: Four.self),
        &target, i)
      i &+= 4
    }
  }

  private static func split(
    _ input: [Float], _ phase0: inout [Float], _ phase1: inout [Float], _ phase2: inout [Float]
  ) {
    let source = input.span
    var p0 = phase0.mutableSpan
    var p1 = phase1.mutableSpan
    var p2 = phase2.mutableSpan
    var i = 0
    var o = history
    while i < chunk {
      let (a, b, c) = (load(source, i), load(source, i &+ 4), load(source, i &+ 8))
      store(Four(a[0], a[3], b[2], c[1]), &p0, o)
      store(Four(a[1], b[0], b[3], c[2]), &p1, o)
      store(Four(a[2], b[1], c[0], c[3]), &p2, o)
      i &+= 12
      o &+= 4
    }
  }

  /// Sample m at 16 kHz is centred on frame 3 m − 1: tap k meets frame 3 m + 15 − k. Taps k and 32 − k are equal.
  private static func makeAt16(
    _ phase0: [Float], _ phase1: [Float], _ phase2: [Float], _ third: [Four], _ at16: inout [Float]
  ) {
    let (p0, p1, p2, taps) = (phase0.span, phase1.span, phase2.span, third.span)
    var target = at16.mutableSpan
    var o = 0
    while o < 640 {  // sixteen at a time: each tap is loaded once for them, and the sums stay in registers
      let at = history &+ o
      let middle = unsafe taps[unchecked: 16]
      var a = load(p2, at &- 6) * middle
      var b = load(p2, at &- 2) * middle
      var c = load(p2, at &+ 2) * middle
      var d = load(p2, at &+ 6) * middle
      for q in 0..<11 {
        let tap = unsafe taps[unchecked: 3 &* q]
        let (early, late) = (at &- q, at &- 11 &+ q)
        a += (load(p0, early) + load(p1, late)) * tap
        b += (load(p0, early &+ 4) + load(p1, late &+ 4)) * tap
        c += (load(p0, early &+ 8) + load(p1, late &+ 8)) * tap
        d += (load(p0, early &+ 12) + load(p1, late &+ 12)) * tap
      }
      for q in 0..<5 {
        let tap = unsafe taps[unchecked: 3 &* q &+ 1]
        let (early, late) = (at &- 1 &- q, at &- 11 &+ q)
        a += (load(p2, early) + load(p2, late)) * tap
        b += (load(p2, early &+ 4) + load(p2, late &+ 4)) * tap
        c += (load(p2, early &+ 8) + load(p2, late &+ 8)) * tap
        d += (load(p2, early &+ 12) + load(p2, late &+ 12)) * tap
      }
      let to = origin16 &- 5 &+ o
      store(a, &target, to)
      store(b, &target, to &+ 4)
      store(c, &target, to &+ 8)
      store(d, &target, to &+ 12)
      o &+= 16
    }
  }

  private static func splitQuarters(
    _ at16: [Float], _ quarter0: inout [Float], _ quarter1: inout [Float], _ quarter2: inout [Float],
    _ quarter3: inout [Float]
  ) {
    let source = at16.span
    var q0 = quarter0.mutableSpan
    var q1 = quarter1.mutableSpan
    var q2 = quarter2.mutableSpan
    var q3 = quarter3.mutableSpan
    let first = origin16 - 52
    var j = 0
    while j < 172 {
      let at = first &+ j &* 4
      let (a, b, c, d) = transpose(
        load(source, at), load(source, at &+ 4), load(source, at &+ 8), load(source, at &+ 12))
      store(a, &q0, j)
      store(b, &q1, j)
      store(c, &q2, j)
      store(d, &q3, j)
      j &+= 4
    }
  }

  /// Sample m at 4 kHz is centred on sample 4 m at 16 kHz.
  private static func makeAt4(
    _ quarter0: [Float], _ quarter1: [Float], _ quarter2: [Float], _ quarter3: [Float], _ quarter: [Four],
    _ raw4: inout [Float]
  ) {
    let (q0, q1, q2, q3) = (quarter0.span, quarter1.span, quarter2.span, quarter3.span)
    let taps = quarter.span
    var raw = raw4.mutableSpan
    var o = 0
    while o < 160 {
      let at = o &+ 6
      var sum = load(q0, at) * (unsafe taps[unchecked: 24])
      var other = Four(repeating: 0)
      for a in 1..<7 {
        sum += (load(q0, at &+ a) + load(q0, at &- a)) * (unsafe taps[unchecked: 24 &- 4 &* a])
      }
      for a in 0..<6 {
        let base = 24 &- 4 &* a
        sum += (load(q1, at &+ a) + load(q3, at &- a &- 1)) * (unsafe taps[unchecked: base &- 1])
        other += (load(q2, at &+ a) + load(q2, at &- a &- 1)) * (unsafe taps[unchecked: base &- 2])
        sum += (load(q3, at &+ a) + load(q1, at &- a &- 1)) * (unsafe taps[unchecked: base &- 3])
      }
      store(sum + other, &raw, 4 &+ o)
      o &+= 4
    }
  }

  /// Raises high frequencies, since most of a voice's power lies low.
  private static func emphasize(_ raw4: [Float], _ at4: inout [Float]) {
    let made = raw4.span
    var target = at4.mutableSpan
    var o = 0
    while o < 160 {
      store(load(made, o &+ 4) - 0.8 * load(made, o &+ 3), &target, origin4 &- 7 &+ o)
      o &+= 4
    }
  }
}
