/// Tells that the source clips: comes with a clipped run, goes after some seconds without another.
///
/// What a clipped run is, `ClipCounter` says: three neighbours at full scale with one sign, so that a legal full-scale
/// sample is none. Pure, counts effective frames, never allocates.
public struct ClippingWatch: Sendable {
  /// Talkers clip on stressed syllables: testaudio's talk raised by 6 dB has 235 clipped runs at most 2.3 s apart, its pause
  /// of 1.4 s included. 5 s keep the warning over that.
  public static let holdFrames: Int64 = 240_000

  public private(set) var isActive = false
  private var frames: Int64
  private var lastClip: Int64 = 0

  /// - Parameter start: effective frame that comes next.
  public init(from start: Int64 = 0) { frames = start }

  /// Goes on by `count` frames.
  ///
  /// - Parameter clipped: a clipped run was found in them.
  /// - Returns: the frame at which the warning came or went, where it did.
  public mutating func push(count: Int, clipped: Bool) -> Int64? {
    let first = frames
    frames += Int64(count)
    if clipped {
      lastClip = frames
      if isActive { return nil }
      isActive = true
      return first
    }
    guard isActive, frames - lastClip >= Self.holdFrames else { return nil }
    isActive = false
    return lastClip + Self.holdFrames
  }
}
