// Loads and stores of four samples at a time, and functions that the standard library has no vectors for.
// Four, since that is the width every x86-64 and every arm64 has.

typealias Four = SIMD4<Float>

@inline(__always) func load(_ source: Span<Float>, _ index: Int) -> Four {
  unsafe source.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index &* 4, as: Four.self)
}
@inline(__always) func store(_ value: Four, _ target: inout MutableSpan<Float>, _ index: Int) {
  var bytes = unsafe target.mutableBytes
  unsafe bytes.storeBytes(of: value, toUncheckedByteOffset: index &* 4, as: Four.self)
}

@inline(__always) func least(_ a: Four, _ b: Four) -> Four { a.replacing(with: b, where: b .< a) }
@inline(__always) func most(_ a: Four, _ b: Four) -> Four { a.replacing(with: b, where: b .> a) }

/// Turns four vectors' rows into columns.
@inline(__always) func transpose(_ a: Four, _ b: Four, _ c: Four, _ d: Four) -> (Four, Four, Four, Four) {
  (
    Four(a[0], b[0], c[0], d[0]), Four(a[1], b[1], c[1], d[1]), Four(a[2], b[2], c[2], d[2]),
    Four(a[3], b[3], c[3], d[3])
  )
}

/// 10·log₁₀ to within 0.001 dB, of positive and finite values.
@inline(__always) func tenLog10(_ v: Four) -> Four {
  let bits = SIMD4<Int32>(truncatingIfNeeded: unsafe unsafeBitCast(v, to: SIMD4<UInt32>.self))
  let exponent = Four((bits &>> 23) &- 127)
  let mantissa = unsafe unsafeBitCast((bits & 0x7f_ffff) | 0x3f80_0000, to: Four.self)
  // ln of the mantissa over √½…√2 as an odd series in (m − 1)/(m + 1).
  let high = mantissa .> 1.414_213_5
  let m = mantissa.replacing(with: mantissa * 0.5, where: high)
  let e = exponent.replacing(with: exponent + 1, where: high)
  let s = (m - 1) / (m + 1)
  let q = s * s
  let ln = s * (2 + q * (0.666_666_7 + q * (0.4 + q * 0.285_714_3)))
  return (e * 0.693_147_2 + ln) * 4.342_944_8
}

/// tanh to within 3e-7, by the continued fraction to the seventh term.
@inline(__always) func tanh(_ v: Four) -> Four {
  let x = least(most(v, Four(repeating: -4.97)), Four(repeating: 4.97))
  let q = x * x
  let above = x * (135_135 + q * (17_325 + q * (378 + q)))
  let below = 135_135 + q * (62_370 + q * (3_150 + q * 28))
  return above / below
}
@inline(__always) func sigmoid(_ v: Four) -> Four { 0.5 + 0.5 * tanh(v * 0.5) }
