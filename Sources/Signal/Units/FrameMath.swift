/// 48 kHz frames that an unbroken run of `frames` device frames becomes: round(n·48000/rate), half up.
///
/// - Parameters:
///   - frames: 0 or more; exact up to 2^63 / 96 000.
///   - rate: hertz, 1 or more.
public func takeFrames(deviceFrames frames: Int64, rate: Int) -> Int64 {
  let rate = Int64(rate)
  let whole = (frames / rate) &* Int64(takeRate)
  let rest = ((frames % rate) * Int64(takeRate) * 2 + rate) / (2 * rate)
  return whole &+ rest
}

/// Milliseconds of effective time, floored: 48 frames each.
public func milliseconds(frames: Int64) -> Int64 { frames / Int64(takeRate / 1000) }
