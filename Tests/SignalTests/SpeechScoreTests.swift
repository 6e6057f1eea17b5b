import Foundation
import TestSupport
import Testing

@testable import Signal

/// What was said in a clip made for the purpose, and what the detector made of it: the rules of benchmarks/hearing/score.py.
///
/// Frames of 10 ms count outside 50 ms of every true edge. True pauses of 300 ms and more have to be found, ones of 200 to
/// 300 ms may be; a pause that is reported hits where it overlaps by half.
private struct Score: CustomStringConvertible {
  var (hits, missed, wrong) = (0, 0, 0)
  var (frames, wrongFrames) = (0, 0)
  var (starts, ends): ([Int64], [Int64]) = ([], [])

  var pauseF1: Double { 2 * Double(hits) / Double(max(1, 2 * hits + missed + wrong)) }
  var frameError: Double { Double(wrongFrames) / Double(max(1, frames)) }
  var description: String {
    func median(_ list: [Int64]) -> Int64 { list.isEmpty ? 0 : list.map(abs).sorted()[list.count / 2] / 48 }
    return
      "F1 \(pauseF1) (\(hits) hit, \(missed) missed, \(wrong) wrong), \(frameError * 100) % of \(frames) frames wrong, edges off by \(median(starts)) and \(median(ends)) ms"
  }

  mutating func add(_ found: SpeechDetector, _ spoken: [Range<Int64>], total: Int64) {
    let gaps = zip(spoken, spoken.dropFirst()).map { $0.upperBound..<$1.lowerBound }
    var open = found.pauses.filter { pause in gaps.contains { pause.overlaps($0) } }
    for gap in gaps where gap.count >= 9_600 {
      let best = open.indices.max { share(open[$0], gap) < share(open[$1], gap) }
      if let best, share(open[best], gap) >= 0.5 {
        let pause = open.remove(at: best)
        guard gap.count >= 14_400 else { continue }
        hits += 1
        starts.append(pause.lowerBound - gap.lowerBound)
        ends.append(pause.upperBound - gap.upperBound)
      } else if gap.count >= 14_400 {
        missed += 1
      }
    }
    wrong += open.count
    for hop in 0..<(total / 480) {
      let (from, to) = (hop * 480, hop * 480 + 480)
      let edges = spoken.flatMap { [$0.lowerBound, $0.upperBound] }
      if edges.contains(where: { from < $0 + 2_400 && $0 - 2_400 < to }) { continue }
      if gaps.contains(where: { $0.count < 12_000 && $0.contains(from) }) { continue }
      let truth = spoken.contains { $0.contains(from) }
      frames += 1
      if truth != found.speech.contains(where: { $0.contains(from + 240) }) { wrongFrames += 1 }
    }
  }
  private func share(_ a: Range<Int64>, _ b: Range<Int64>) -> Double {
    let both = Double(a.clamped(to: b).count)
    return both / (Double(a.count + b.count) - both)
  }
}

@Suite struct SpeechScoreTests {
  /// The nine phrases of testaudio's four voices, in English and German, each whole and at 48 kHz; RMS 0.1.
  private static let phrases: [[Float]] = {
    do {
      let talk = try Wav(reading: Places.testaudio("talk.wav"))
      let rede = try Wav(reading: Places.testaudio("rede_16000.wav"))
      let both = try Wav(reading: Places.testaudio("dialogue_44100_stereo.wav"))
      let parts: [(Wav, Int, [Range<Int>])] = [
        (talk, 0, [24_000..<132_051, 175_251..<307_062, 374_262..<487_071, 515_871..<588_221]),
        (rede, 0, [6_400..<18_766, 28_366..<48_398, 65_998..<83_841]),
        (both, 0, [8_820..<38_770]), (both, 1, [54_205..<85_927]),
      ]
      return try parts.flatMap { wav, channel, ranges in
        try ranges.map { try atTakeRate(Array(wav.channel(channel)[$0]), rate: wav.rate) }
      }
    } catch {
      Issue.record("\(error)")
      return []
    }
  }()
  private static func atTakeRate(_ samples: [Float], rate: Int) throws -> [Float] {
    let conformer = try Conformer(
      format: SourceFormat(sample: .float32, rate: rate, channels: 1), choice: .channel(1))
    var made: [Float] = []
    conformer.push(samples.span.bytes, count: samples.count) { span, count in
      for i in 0..<count { made.append(span[i]) }
    }
    conformer.finish { span, count in for i in 0..<count { made.append(span[i]) } }
    let gain = Float(0.1 / amplitude(rmsDb(made)))
    return made.map { $0 * gain }
  }

  /// Twelve phrases with known pauses between them.
  private func compose(_ random: inout Seeded) -> (samples: [Float], spoken: [Range<Int64>]) {
    let pauses = [150, 250, 350, 400, 500, 700, 900, 1_200, 2_000, 3_000]
    var samples = Tone.silence(48 * [300, 900, 1_500].randomElement(using: &random)!)
    var spoken: [Range<Int64>] = []
    for _ in 0..<12 {
      let phrase = Self.phrases.randomElement(using: &random) ?? []
      let gain = Float(amplitude(Double.random(in: -2...2, using: &random)))
      spoken.append(Int64(samples.count)..<Int64(samples.count + phrase.count))
      samples += phrase.map { $0 * gain }
      samples += Tone.silence(48 * pauses.randomElement(using: &random)!)
    }
    samples += Tone.silence(48_000)
    return (samples, spoken)
  }
  private func noise(_ kind: String, _ count: Int, db: Double, seed: UInt64) -> [Float] {
    let white = Tone.white(count, rmsDb: 0, seed: seed)
    var made = white
    switch kind {
    case "fan":  // white through a low-pass of one pole at some 500 Hz
      var state: Float = 0
      made = white.map {
        state += ($0 - state) * 0.065
        return state
      }
    case "hum":
      made = zip(white, 0..<count).map { v, i in
        let t = Double(i) / 48_000
        return 0.05 * v + Float(sin(2 * .pi * 50 * t) + 0.5 * sin(2 * .pi * 150 * t))
      }
    case "gusts":  // goes up and down by 10 dB within seconds
      made = zip(white, 0..<count).map { $0 * Float(amplitude(5 * sin(Double($1) / 48_000 * 1.7))) }
    default: break
    }
    let gain = Float(amplitude(db) / amplitude(rmsDb(made)))
    return made.map { $0 * gain }
  }
  private func score(_ kind: String, snr: Double, level: Double = -20, seeds: ClosedRange<UInt64> = 1...3)
    -> Score
  {
    var score = Score()
    for seed in seeds {
      var random = Seeded(seed)
      let (clean, spoken) = compose(&random)
      let around = noise(kind, clean.count, db: level - snr, seed: seed + 100)
      let gain = Float(amplitude(level + 20))
      var detector = SpeechDetector()
      let mixed = zip(clean, around).map { max(-1, min(1, $0 * gain + $1)) }
      detector.push(mixed.span)
      detector.finish()
      score.add(detector, spoken, total: Int64(clean.count))
    }
    return score
  }

  @Test(
    arguments: [
      ("white", 60.0, -20.0), ("white", 30, -20), ("white", 20, -20), ("white", 30, -45), ("fan", 30, -20),
      ("fan", 20, -20), ("fan", 10, -20), ("hum", 20, -20), ("hum", 10, -30), ("gusts", 25, -20),
    ])
  func `pauses and frames of testaudio's voices`(_ kind: String, _ snr: Double, _ level: Double) {
    let score = score(kind, snr: snr, level: level)
    print("speech in \(kind), \(snr) dB, at \(level) dBFS: \(score)")
    #expect(score.pauseF1 >= 0.98 && score.frameError <= 0.015, "\(score)")
  }
  @Test(arguments: [("white", 5.0), ("fan", 5), ("gusts", 10)])
  func `in loud noise`(_ kind: String, _ snr: Double) {
    let score = score(kind, snr: snr)
    print("speech in \(kind), \(snr) dB: \(score)")
    #expect(score.pauseF1 >= 0.92 && score.frameError <= 0.025, "\(score)")
  }
}
