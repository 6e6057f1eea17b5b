import Foundation
import TestSupport
import Testing

/// Issue 2, point 3: pauses. What was said is there to the frame, what was said in a pause isn't, and nobody hears the
/// joints.
@Suite struct PauseTests {
  @Test(arguments: [8000, 44_100, 48_000, 96_000], 0..<6)
  func `pauses at random frames: the length is exact and the paused sound isn't in it`(rate: Int, run: Int)
    throws
  {
    let seed = UInt64(rate + run)
    print("random pauses: seed \(seed)")
    var random = Seeded(seed)
    let frames = Int.random(in: rate...(4 * rate), using: &random)
    let pauses = randomPauses(frames, &random)
    let script = ScheduledTake(samples(frames, rate: rate, pauses: pauses), rate: rate)
    let expected = script.expected(pauses: pauses)
    let take = try script.recorded(pauses: pauses, in: TempFolder())
    try expectSealed(take, frames: expected.total)
    #expect(try Judge.opusfile(take.path)?.decoded == expected.total)
    #expect(take.sealed?.int("pause_count") == pauses.count)
    for told in [try take.manifest(), try inspect(take.path).report] {
      #expect(told.objects("pauses").map { $0.int("at_ms") } == expected.begins.map { $0 / 48 })
    }
    try expectNoTrace(Judge.opusdecSamples(take.path))
  }

  @Test func `the measure of joints hears a cut without fades`() throws {
    let tone = Tone.sine(48_000, hz: PausedTone.kept, db: -12)
    let cut = Array(tone[..<20_000] + tone[20_055...])
    #expect(!isSmooth(cut) && isSmooth(tone))
  }

  /// Two pauses and the sound between them shorter than the fades: they multiply, and nothing is lost or doubled.
  @Test func `pauses closer than their fades still count to the frame`() throws {
    let pauses = [4800..<4900, 5000..<5001, 5300..<9600]
    let script = ScheduledTake(samples(24_000, rate: 48_000, pauses: pauses), rate: 48_000)
    let take = try script.recorded(pauses: pauses, in: TempFolder())
    try expectSealed(take, frames: script.expected(pauses: pauses).total)
    #expect(take.sealed?.int("pause_count") == 3)
    try expectNoTrace(Judge.opusdecSamples(take.path))
  }

  @Test func `a pause that is never resumed ends the take, and one at the first frame begins it`() throws {
    for (pauses, total) in [([12_000..<24_001], 12_240), ([0..<12_000], 12_240), ([0..<24_001], 240)] {
      let script = ScheduledTake(Tone.sine(24_000, hz: PausedTone.kept, db: -12), rate: 48_000)
      let take = try script.recorded(pauses: pauses, in: TempFolder())
      try expectSealed(take, frames: total)
      #expect(take.sealed?.int("pause_count") == 1)
    }
  }

  // MARK: the signal

  /// A steady tone, in pauses another one from where the fade-out is through. The ends are faded, so that the only
  /// steps in it are the joints'.
  private func samples(_ frames: Int, rate: Int, pauses: [Range<Int>]) -> [Float] {
    var samples = Tone.sine(frames, rate: rate, hz: PausedTone.kept, db: -12)
    let other = Tone.sine(frames, rate: rate, hz: PausedTone.paused, db: -12)
    for pause in pauses {
      let first = pause.lowerBound + 240 * rate / 48_000 + 1
      for i in min(first, pause.upperBound, frames)..<min(pause.upperBound, frames) { samples[i] = other[i] }
    }
    for i in 0..<min(frames / 2, rate / 20) {
      let gain = Float(i) / Float(rate / 20)
      samples[i] *= gain
      samples[frames - 1 - i] *= gain
    }
    return samples
  }

  /// Pauses that don't overlap, at random frames; the last one may never be resumed.
  private func randomPauses(_ frames: Int, _ random: inout Seeded) -> [Range<Int>] {
    let count = Int.random(in: 2...10, using: &random)
    var places = Set((0..<count).map { _ in Int.random(in: 0..<frames, using: &random) }).sorted()
    if places.count % 2 == 1 { places.append(frames) }
    return stride(from: 0, to: places.count, by: 2).map { places[$0]..<places[$0 + 1] }
  }
}

/// Tones of the pause tests: one is always heard, the other only while paused.
enum PausedTone {
  static let kept = 440.0
  static let paused = 3000.0
}

/// No tenth of a second has the paused sound in it, and no joint a click.
func expectNoTrace(
  _ decoded: some RandomAccessCollection<Float>, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let decoded = Array(decoded)
  for start in stride(from: 0, to: max(1, decoded.count - 4800), by: 2400) {
    let part = decoded[start..<min(decoded.count, start + 4800)]
    let level = toneDb(part, hz: PausedTone.paused)
    #expect(level < -50, "\(level) dB at \(start)", sourceLocation: sourceLocation)
  }
  let smooth = isSmooth(decoded)
  #expect(smooth, "a click", sourceLocation: sourceLocation)
}

/// Whether neither a step nor a bend in the wave of the kept tone at −12 dBFS is larger than the tone's own and its
/// fades'. A click is both: a step by what is cut, and energy in the high band.
func isSmooth(_ samples: [Float]) -> Bool {
  let steps = zip(samples, samples.dropFirst()).map { $1 - $0 }
  let bends = zip(steps, steps.dropFirst()).map { abs($1 - $0) }
  let angle = 2 * Double.pi * PausedTone.kept / 48_000
  let steady = amplitude(-12) * angle
  return Double(steps.map(abs).max() ?? 0) < 1.3 * steady
    && Double(bends.max() ?? 0) < 0.1 * steady + 2 * steady * angle
}
