/// The net's weights, laid out as `SpeechNet` reads them.
struct SpeechWeights: Sendable {
  /// Hidden units, a multiple of 8.
  let size: Int
  /// For each eight units, for each input and then each unit's state: r, z and n of the eight.
  let gates: [SIMD8<Float>]
  /// For each eight units: r, z, n's own, n's hidden.
  let biases: [Float]
  let output: [Float]
  let bias: Float

  /// Reads little-endian floats in base64: gates, biases, output, bias.
  ///
  /// - Parameter inputs: values a hop.
  init(size: Int, inputs: Int, base64: StaticString) {
    self.size = size
    let values = Self.floats(base64)
    let gateCount = 3 * size * (inputs + size)
    precondition(values.count == gateCount + 5 * size + 1, "the weights are whole")
    gates = stride(from: 0, to: gateCount, by: 8).map { first in
      var eight = SIMD8<Float>(repeating: 0)
      for i in 0..<8 { eight[i] = values[first + i] }
      return eight
    }
    biases = Array(values[gateCount..<(gateCount + 4 * size)])
    output = Array(values[(gateCount + 4 * size)..<(gateCount + 5 * size)])
    bias = values[gateCount + 5 * size]
  }

  private static func floats(_ base64: StaticString) -> [Float] {
    var bytes: [UInt8] = []
    var (bits, held) = (UInt32(0), 0)
    base64.withUTF8Buffer { text in
      for i in 0..<text.count {
        let c = unsafe text[i]
        let six: UInt8
        switch c {
        case 65...90: six = c - 65
        case 97...122: six = c - 71
        case 48...57: six = c + 4
        case 43: six = 62
        case 47: six = 63
        default: continue  // line ends, padding
        }
        bits = bits << 6 | UInt32(six)
        held += 6
        if held >= 8 {
          held -= 8
          bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
        }
      }
    }
    var values: [Float] = []
    values.reserveCapacity(bytes.count / 4)
    for i in stride(from: 0, to: bytes.count - 3, by: 4) {
      let low = UInt32(bytes[i]) | UInt32(bytes[i + 1]) << 8
      let high = UInt32(bytes[i + 2]) | UInt32(bytes[i + 3]) << 8
      values.append(Float(bitPattern: low | high << 16))
    }
    return values
  }
}
