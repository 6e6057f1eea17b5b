import CEbur128
import Signal

/// Measures decoded audio of any rate and channel count: levels a channel, bars, silences, speech, loudness.
///
/// Pure but for libebur128's memory. Constant memory however long the audio.
@safe final class AudioMeasure {
  let rate: Int
  let channels: Int
  private var meters: [Meter]
  private var clips: [ClipCounter]
  private var silence: NoSignalDetector
  private var hum: HumMeter
  private let speech: SpeechMeasure
  private let loudness: UnsafeMutablePointer<ebur128_state>?
  private var plane: [Float]
  private var mono: [Float]
  private(set) var frames: Int64 = 0
  private(set) var notFinite: Int64 = 0
  /// Frames that one call may bring.
  let block: Int

  /// - Parameters:
  ///   - fullScale: amplitude from which a sample is at full scale.
  ///   - speech: hears all channels mixed.
  init(rate: Int, channels: Int, fullScale: Float, speech: SpeechMeasure) {
    self.speech = speech
    self.rate = rate
    self.channels = channels
    block = max(64, min(4_800, 262_144 / channels))
    meters = Array(repeating: Meter(), count: channels)
    clips = Array(repeating: ClipCounter(threshold: fullScale), count: channels)
    silence = NoSignalDetector(rate: rate)
    hum = HumMeter(rate: rate)
    plane = Array(repeating: 0, count: block)
    mono = Array(repeating: 0, count: block)
    unsafe loudness =
      channels <= 64 && (16...2_822_400).contains(rate)
      ? ebur128_init(UInt32(channels), UInt(rate), Int32(EBUR128_MODE_I.rawValue)) : nil
  }
  deinit {
    var state = unsafe loudness
    if unsafe state != nil { unsafe ebur128_destroy(&state) }
  }

  /// Takes interleaved samples, shape `[frame][channel]`; NaN and infinities count as 0 and are set to it.
  ///
  /// - Parameter count: frames, at most `block`.
  func push(_ samples: inout [Float], count: Int) {
    for i in 0..<(count * channels) where !samples[i].isFinite {
      samples[i] = 0
      notFinite += 1
    }
    for i in 0..<count { mono[i] = 0 }
    for channel in 0..<channels {
      for i in 0..<count {
        let v = samples[i * channels + channel]
        plane[i] = v
        mono[i] += v
        clips[channel].add(v)
      }
      meters[channel].push(plane.span.extracting(0..<count)) { _ in }
    }
    if channels > 1 {
      for i in 0..<count { mono[i] *= 1 / Float(channels) }
    }
    speech.push(mono.span.extracting(0..<count))
    hum.push(mono.span.extracting(0..<count))
    // A signal in any channel is a signal: the loudest decides, as one channel's noise can't cancel another's here.
    if channels > 1 {
      for i in 0..<count {
        var largest: Float = 0
        for channel in 0..<channels where abs(samples[i * channels + channel]) > abs(largest) {
          largest = samples[i * channels + channel]
        }
        mono[i] = largest
      }
    }
    silence.push(mono.span.extracting(0..<count))
    if let state = unsafe loudness {
      _ = unsafe samples.withUnsafeBufferPointer {
        unsafe ebur128_add_frames_float(state, $0.baseAddress, count)
      }
    }
    frames += Int64(count)
  }

  struct Result {
    var levels: [LevelTotals]
    var clippedRuns: [Int64]
    var noiseFloorDb: Double
    var loudness: Double
    var hum: Hum?
    var bars: [Double]
    var silences: [Range<Int64>]
    var speech: SpeechFigures
    var frames: Int64
    var notFinite: Int64
  }

  func finish() -> Result {
    silence.finish(at: frames)
    var overview = Overview()
    var rest = 0.0
    for (i, meter) in meters.enumerated() {
      if i == 0 { overview = meter.overview } else { overview.merge(meter.overview) }
      rest += meter.pendingEnergy - meter.overview.pending
    }
    if channels > 1 { overview.divide(by: channels) }
    rest /= Double(max(1, channels))
    let totals = meters.map(\.finalTotals)
    let dc = totals.reduce(0) { $0 + $1.mean * $1.mean } / Double(max(1, channels))
    let whole = totals.reduce(0) { $0 + $1.meanSquare } / Double(max(1, channels))
    let quiet = overview.quietMeanSquare(rate: rate) ?? whole
    var lufs = levelFloor
    if let state = unsafe loudness, unsafe ebur128_loudness_global(state, &lufs) != 0 || !lufs.isFinite {
      lufs = levelFloor
    }
    return Result(
      levels: totals, clippedRuns: clips.map(\.runs),
      noiseFloorDb: noiseFloor(quietMeanSquare: quiet, meanSquared: dc),
      loudness: max(levelFloor, lufs), hum: hum.hum,
      bars: overview.bars(count: 34, frames: frames, rest: rest),
      silences: silence.stretches, speech: speech.finish(), frames: frames, notFinite: notFinite)
  }
}
