import Foundation
import TestSupport
import Testing

@testable import Signal

/// What a detector makes of `samples`, cut into calls of `block` frames, with edges where asked for.
private func hear(
  _ samples: [Float], block: Int = 4_800, edges: [Int] = [], minPauseMs: Int64 = 250
) -> (speech: [Range<Int64>], pauses: [Range<Int64>], changes: [SpeechChange], delays: [Int64]) {
  var detector = SpeechDetector(minPauseMs: minPauseMs)
  var changes: [SpeechChange] = []
  var delays: [Int64] = []
  var first = 0
  var left = edges[...]
  while first < samples.count {
    if left.first == first {
      detector.edge { changes.append($0) }
      left.removeFirst()
    }
    let n = min(block, samples.count - first, (left.first ?? samples.count) - first)
    let end = Int64(first + n)
    detector.push(samples.span.extracting(first..<(first + n))) {
      changes.append($0)
      delays.append(end - $0.atFrame)
    }
    first += n
  }
  detector.finish { changes.append($0) }
  return (detector.speech, detector.pauses, changes, delays)
}
private func talk() throws -> [Float] { try Wav(reading: Places.testaudio("talk.wav")).samples }

/// Noise by arithmetic, −1 to 1.
private func noise(_ count: Int) -> [Double] {
  var seed: UInt32 = 1
  return (0..<count).map { _ in
    seed = seed &* 1_664_525 &+ 1_013_904_223
    return Double(seed) / 2_147_483_648 - 1
  }
}
private func sine(_ count: Int, _ hertz: Double, _ amplitude: Double) -> [Float] {
  (0..<count).map { Float(amplitude * sin(2 * .pi * hertz * Double($0) / 48_000)) }
}

@Suite struct SpeechDetectorTests {
  /// `talk.wav`: where speech is and isn't, by construction.
  static let spoken: [Range<Int64>] = [
    24_000..<132_051, 175_251..<307_062, 374_262..<487_071, 515_871..<588_221,
  ]

  @Test func `speech between zeros is found where it is`() throws {
    let found = hear(try talk())
    let first = try #require(found.speech.first)
    let last = try #require(found.speech.last)
    #expect(abs(first.lowerBound - 24_000) <= 60 * 48)
    #expect(abs(last.upperBound - 588_221) <= 100 * 48)
    for (before, after) in zip(Self.spoken, Self.spoken.dropFirst()) {
      #expect(
        found.pauses.contains {
          abs($0.lowerBound - before.upperBound) <= 100 * 48
            && abs($0.upperBound - after.lowerBound) <= 60 * 48
        }, "\(found.pauses)")
    }
  }

  @Test(arguments: [1, 64, 480, 1_000, 1_920, 48_000])
  func `runs, pauses and changes don't depend on the block size`(_ block: Int) throws {
    let samples = Array(try talk()[..<400_003])
    let one = hear(samples)
    let other = hear(samples, block: block)
    #expect(one.speech == other.speech && one.pauses == other.pauses && one.changes == other.changes)
    #expect(!one.speech.isEmpty)
  }

  @Test func `pauses lie between runs, and changes tell both`() throws {
    let found = hear(try talk())
    #expect(found.pauses.count == found.speech.count - 1)
    for (i, pause) in found.pauses.enumerated() {
      #expect(pause == found.speech[i].upperBound..<found.speech[i + 1].lowerBound)
      #expect(pause.count >= 12_000)
    }
    #expect(
      found.changes
        == found.speech.flatMap {
          [
            SpeechChange(speaking: true, atFrame: $0.lowerBound),
            SpeechChange(speaking: false, atFrame: $0.upperBound),
          ]
        })
    #expect(found.speech.allSatisfy { $0.lowerBound % 480 == 0 })
  }

  @Test func `a start is known within 300 ms, an end within 300 ms of having been a pause`() throws {
    let found = hear(try talk(), block: 48)
    for (change, delay) in zip(found.changes, found.delays) {
      #expect(delay <= (change.speaking ? 300 : 550) * 48, "\(change) after \(delay / 48) ms")
    }
  }

  @Test(arguments: [130_001, 200_000, 240_123])
  func `no pause spans an edge, and the run ends there`(_ edge: Int) throws {
    let found = hear(try talk(), edges: [edge])
    #expect(found.pauses.allSatisfy { !($0.lowerBound < edge && Int64(edge) < $0.upperBound) })
    #expect(found.speech.allSatisfy { !($0.lowerBound < edge && Int64(edge) < $0.upperBound) })
    #expect(!found.pauses.contains { $0.lowerBound == edge || $0.upperBound == edge })
    let blocks = hear(try talk(), block: 77, edges: [edge])
    #expect(blocks.speech == found.speech && blocks.pauses == found.pauses)
  }

  @Test func `a run that is open at the end ends at the very last frame`() throws {
    let found = hear(Array(try talk()[..<100_007]))
    #expect(found.speech.last?.upperBound == 100_007)
    #expect(found.changes.last == SpeechChange(speaking: false, atFrame: 100_007))
  }

  /// Case D04: the net wants to hear 140 ms more than there are.
  @Test(arguments: [100, 150, 300]) func `a word that begins just before the end is found`(_ ms: Int) throws {
    let quiet = noise(96_007).map { Float($0 * 3e-4) }
    let word = Array(try talk()[24_400..<(24_400 + 48 * ms)])
    let found = hear(quiet + word).speech
    #expect(found.count == 1 && found.last?.upperBound == Int64(quiet.count + word.count), "\(found)")
    #expect(abs((found.first?.lowerBound ?? 0) - Int64(quiet.count)) <= 4_800)
    #expect(hear(quiet).speech.isEmpty)
  }
  @Test func `a pause that begins just before the end is one`() throws {
    let talk = try talk()
    let found = hear(Array(talk[..<(132_051 + 4_800)]) + noise(100).map { Float($0 * 1e-4) })
    #expect(abs((found.speech.last?.upperBound ?? 0) - 132_051) <= 3_360, "\(found.speech)")
  }

  @Test func `a longer minimum makes fewer pauses`() throws {
    let samples = try talk()
    let some = hear(samples, minPauseMs: 1_000)
    #expect(some.pauses.count < hear(samples).pauses.count)
    #expect(some.pauses.allSatisfy { $0.count >= 48_000 })
  }

  @Test func `what isn't speech isn't called it`() {
    let count = 48_000 * 8
    #expect(hear([Float](repeating: 0, count: count)).speech.isEmpty)
    #expect(hear([Float](repeating: 0.2, count: count)).speech.isEmpty)
    #expect(hear(noise(count).map { Float($0 * 0.1) }).speech.isEmpty)
    #expect(hear(noise(count).map { Float($0 * 1e-4) }).speech.isEmpty)
    for hertz in [50.0, 440, 1_000, 5_000] {
      let found = hear(sine(count, hertz, 0.25)).speech.reduce(0) { $0 + $1.count }
      #expect(found <= 48_000, "\(hertz) Hz: \(found) frames")  // at most its beginning
    }
  }

  @Test func `the same speech at any level is the same speech`() throws {
    let samples = try talk()
    let loud = hear(samples)
    for gain in [0.5, 0.1, 0.02] as [Float] {
      let soft = hear(samples.map { $0 * gain })
      #expect(soft.pauses.count == loud.pauses.count, "\(gain)")
    }
  }

  @Test func `nothing at all is a valid take`() {
    #expect(hear([]).speech.isEmpty)
    #expect(hear([0.5]).speech.isEmpty)
  }

  /// What benchmarks/hearing/export.py wrote beside the weights.
  private struct Golden: Decodable {
    var inputs: [[Float]]
    var logits: [Float]
  }
  @Test func `features and net agree with the reference in Python`() throws {
    let golden = try JSONDecoder().decode(
      Golden.self, from: Data(contentsOf: URL(fileURLWithPath: Places.testaudio("speech_golden.json"))))
    let hiss = noise(96_000)
    let samples = (0..<96_000).map { i -> Float in
      let t = Double(i) / 48_000
      let voice = (1..<30).reduce(0.0) { sum, h in
        let hertz = 140 * Double(h)
        let formant = exp(-pow((hertz - 700) / 900, 2))
        return sum + sin(2 * .pi * hertz * t + Double(h * h)) / Double(h) * formant
      }
      let syllable = max(0, sin(2 * .pi * 2 * t)).squareRoot() * 0.1
      return Float(((voice * syllable + hiss[i] * 0.002) * 32_768).rounded(.toNearestOrEven) / 32_768)
    }
    var features = SpeechFeatures()
    var net = SpeechNet(weights: .trained)
    var worst: (input: Float, logit: Float) = (0, 0)
    var hops = 0
    features.push(samples.span) { hop, values in
      net.step(values)
      hops += 1
      if hop % 10 == 5 {
        for i in 0..<values.count {
          worst.input = max(worst.input, abs(values[i] - golden.inputs[Int(hop) / 10][i]))
        }
      }
      worst.logit = max(worst.logit, abs(net.logit - golden.logits[Int(hop)]))
    }
    #expect(hops >= 195)
    #expect(worst.input < 0.02, "\(worst)")
    #expect(worst.logit < 0.1, "\(worst)")
  }
}

@Suite struct PracticeFiguresTests {
  @Test func `figures of a practised minute`() {
    let figures = PracticeFigures(
      speech: [48_000..<480_000, 528_000..<960_000, 1_104_000..<2_400_000],
      pauses: [480_000..<528_000, 960_000..<1_104_000], frames: 2_880_000)
    #expect(figures.speechMs == 45_000 && abs(figures.speechShare - 0.75) < 1e-9)
    #expect(figures.leadMs == 1_000 && figures.tailMs == 10_000)
    #expect(figures.pauses == 2 && figures.longestMs == 3_000 && figures.medianMs == 1_000)
    #expect(figures.totalMs == 4_000 && abs(figures.pausesPerMinute - 2 / 0.75) < 1e-9)
  }
  @Test func `nobody spoke`() {
    let figures = PracticeFigures(speech: [], pauses: [], frames: 96_000)
    #expect(
      figures.speechMs == 0 && figures.speechShare == 0 && figures.leadMs == 2_000 && figures.tailMs == 0)
    #expect(figures.pauses == 0 && figures.pausesPerMinute == 0)
    #expect(PracticeFigures(speech: [], pauses: [], frames: 0).speechShare == 0)
  }
}
