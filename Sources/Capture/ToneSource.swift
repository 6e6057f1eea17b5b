import Glibc
import Signal

/// A sine, float32 mono at 48 kHz, as fast as it is asked for: a source whose every sample is known.
///
/// The phase is a 64 bit fraction of a turn, so hours later it is still exact; the sine itself is turned on by a
/// rotation that starts anew from the phase every 64 frames.
public final class ToneSource: Source {
  public let format = SourceFormat(sample: .float32, rate: 48_000, channels: 1)
  public let statedFrames: Int64?
  public let problems: [SourceProblem] = []

  private let amplitude: Double
  private let step: UInt64  // turns a frame, times 2^64
  private var phase: UInt64 = 0
  private var left: Int64
  private static let run = 64

  /// - Parameters:
  ///   - hertz: more than 0, below 24 000.
  ///   - peakDBFS: of the sine's peak against 1.0; its RMS lies 3.01 dB lower. -160 to 24.
  ///   - frames: its length; nil is without an end.
  /// - Throws: `unreadable` where a value is out of range.
  public init(hertz: Double, peakDBFS: Double = -12, frames: Int64? = nil) throws(SourceError) {
    guard hertz > 0, hertz < 24_000 else {
      throw .unreadable("a tone lies between 0 and 24000 Hz, not at \(hertz)")
    }
    guard peakDBFS >= -160, peakDBFS <= 24 else {
      throw .unreadable("a tone's level lies between -160 and 24 dBFS, not at \(peakDBFS)")
    }
    guard frames ?? 0 >= 0 else { throw .unreadable("a tone can't have \(frames ?? 0) frames") }
    amplitude = pow(10, peakDBFS / 20)
    step = UInt64((hertz / 48_000 * 0x1p64).rounded())
    statedFrames = frames
    left = frames ?? .max
  }

  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    let count = Int(min(left, Int64(buffer.byteCount / 4)))
    if statedFrames != nil { left -= Int64(count) }
    let turn = Double(step) * 0x1p-64 * 2 * Double.pi
    let (turnSine, turnCosine) = (sin(turn), cos(turn))
    var frame = 0
    while frame < count {
      let angle = Double(phase) * 0x1p-64 * 2 * Double.pi
      var (y, x) = (sin(angle) * amplitude, cos(angle) * amplitude)
      let end = min(count, frame + ToneSource.run)
      phase &+= step &* UInt64(end - frame)
      while frame < end {
        buffer.storeBytes(of: Float(y), toByteOffset: frame * 4, as: Float.self)
        (y, x) = (y * turnCosine + x * turnSine, x * turnCosine - y * turnSine)
        frame += 1
      }
    }
    return count
  }
}
