/// A recurrent net of one GRU layer: how likely it is that someone spoke `lookAhead` hops ago.
///
/// The gates follow PyTorch: r, z, n, the hidden bias of n inside r's product.
struct SpeechNet {
  /// Hops between a hop and the output that speaks of it.
  static let lookAhead = 14
  private static let lanes = 8

  /// Above 0 for speech; ln of the odds.
  private(set) var logit: Float = 0
  private var state: [Float]
  private var fresh: [Float]
  private let weights: SpeechWeights

  init(weights: SpeechWeights) {
    self.weights = weights
    state = Array(repeating: 0, count: weights.size)
    fresh = state
  }

  /// - Parameter inputs: shape `[SpeechFeatures.count]`.
  mutating func step(_ inputs: Span<Float>) {
    logit = Self.step(
      inputs, weights.gates, weights.biases, weights.output, state, &fresh)
    logit += weights.bias
    swap(&state, &fresh)
  }

  private static func step(
    _ inputs: Span<Float>, _ gates: [SIMD8<Float>], _ constants: [Float], _ output: [Float], _ state: [Float],
    _ next: inout [Float]
  ) -> Float {
    let (w, biases, outputs, old) = (gates.span, constants.span, output.span, state.span)
    var new = next.mutableSpan
    var at = 0
    var sum = SIMD8<Float>(repeating: 0)
    for group in 0..<(old.count / lanes) {
      let b = group &* 4 &* lanes
      var r = load8(biases, b)
      var z = load8(biases, b &+ 8)
      var x = load8(biases, b &+ 16)
      var h = load8(biases, b &+ 24)
      for i in 0..<inputs.count {
        let v = unsafe inputs[unchecked: i]
        r += (unsafe w[unchecked: at]) * v
        z += (unsafe w[unchecked: at &+ 1]) * v
        x += (unsafe w[unchecked: at &+ 2]) * v
        at &+= 3
      }
      for i in 0..<old.count {
        let v = unsafe old[unchecked: i]
        r += (unsafe w[unchecked: at]) * v
        z += (unsafe w[unchecked: at &+ 1]) * v
        h += (unsafe w[unchecked: at &+ 2]) * v
        at &+= 3
      }
      let o = group &* lanes
      let low = unit(r.lowHalf, z.lowHalf, x.lowHalf, h.lowHalf, load(old, o))
      let high = unit(r.highHalf, z.highHalf, x.highHalf, h.highHalf, load(old, o &+ 4))
      store(low, &new, o)
      store(high, &new, o &+ 4)
      sum += SIMD8(lowHalf: low, highHalf: high) * load8(outputs, o)
    }
    return sum.sum()
  }

  @inline(__always) private static func unit(_ r: Four, _ z: Four, _ x: Four, _ h: Four, _ old: Four) -> Four
  {
    let new = tanh(x + sigmoid(r) * h)
    return new + sigmoid(z) * (old - new)
  }
  @inline(__always) private static func load8(_ source: Span<Float>, _ index: Int) -> SIMD8<Float> {
    unsafe source.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index &* 4, as: SIMD8<Float>.self)
  }
}
