/// The newest conformed frames while a recorder is armed. They stay in memory: nothing of it reaches a disk before the
/// start.
struct PreRoll {
  private var frames: [Float]
  private var next = 0
  private var count = 0

  /// - Parameter capacity: 48 kHz frames; 0 keeps nothing.
  init(capacity: Int) { frames = Array(repeating: 0, count: capacity) }

  mutating func push(_ samples: borrowing MutableSpan<Float>, _ n: Int) {
    guard !frames.isEmpty else { return }
    for i in max(0, n - frames.count)..<n {
      frames[next] = samples[i]
      next = next + 1 == frames.count ? 0 : next + 1
    }
    count = min(frames.count, count + n)
  }

  /// The newest `n` frames or as many as there are, oldest first; the buffer's memory goes with them.
  mutating func take(newest n: Int) -> [Float] {
    let n = min(n, count)
    defer { self = PreRoll(capacity: 0) }
    return (0..<n).map { frames[(next - n + $0 + 2 * frames.count) % frames.count] }
  }
}
