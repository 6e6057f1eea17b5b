/// Tells since when nothing was heard: neither speech nor any other sound that stands out of the background.
///
/// Another sound is 120 ms at 12 dB and more above the background and above −60 dBFS, below which no bar of the waveform
/// rises. The background is the least of the last 3 to 6 s: a fan is silence, and so is what has gone on as evenly as one
/// for that long. Pure, works in steps of 40 ms, never allocates after start but for the detector's lists.
struct SilenceWatch {
  static let stepFrames = Int(SpeechDetector.grid)
  /// A sound that begins is known at most this much later: the detector's 300 ms.
  static let late: Int64 = 14_400

  private static let ratio = 15.85
  /// −72 dBFS, and with the ratio −60.
  private static let lowestFloor = 6.309_573_444_801_93e-8
  private static let windowSteps = 75
  private static let soundSteps = 3

  /// Heard so far.
  private(set) var frames: Int64 = 0
  /// Where the last sound ended: `frames` where there is one now, the start where there was none.
  var silentSince: Int64 { max(earliest, speechEnd, loudEnd) }
  /// Where the sound that there is now began; nil in silence.
  private(set) var soundStart: Int64?
  /// The newest step stands out of the background, which may become a sound.
  var isStirring: Bool { loud > 0 }

  private var speech = SpeechDetector()
  private var earliest: Int64 = 0
  private var speechStart: Int64 = 0
  private var speechEnd: Int64 = 0
  private var loudEnd: Int64 = 0
  private var loud = 0  // steps in a row that stand out
  private var low = Double.infinity  // of this window
  private var lowBefore = Double.infinity  // of the one before
  private var steps = 0

  /// Hears one step, full scale ±1.0.
  mutating func step(_ samples: Span<Float>) {
    frames += Int64(Self.stepFrames)
    var (began, ended) = (speechStart, speechEnd)
    speech.push(samples) { change in
      if change.speaking { began = change.atFrame } else { ended = change.atFrame }
    }
    speechStart = began
    speechEnd = speech.isSpeaking ? frames : ended
    let power = Self.power(samples)
    let floor = max(min(low, lowBefore), Self.lowestFloor)
    loud = floor.isFinite && power > floor * Self.ratio ? loud + 1 : 0
    follow(power)
    var start: Int64?
    if speech.isSpeaking { start = soundStart ?? speechStart }
    if loud >= Self.soundSteps {
      start = min(start ?? .max, soundStart ?? frames - Int64(loud * Self.stepFrames))
      loudEnd = frames
    }
    soundStart = start
  }

  /// Silence counts from here on.
  mutating func restart(at frame: Int64) { earliest = frame }

  private mutating func follow(_ power: Double) {
    low = min(low, power)
    steps += 1
    if steps == Self.windowSteps { (lowBefore, low, steps) = (low, power, 0) }
  }
  /// Mean square without the DC part.
  private static func power(_ samples: Span<Float>) -> Double {
    let stretch = measure(samples)
    let n = Double(samples.count)
    let mean = stretch.sum / n
    return max(0, stretch.sumOfSquares / n - mean * mean)
  }
}
