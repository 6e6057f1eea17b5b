import Foundation
import TestSupport
import Testing

@testable import Signal

@Suite struct HumTests {
  private func hum(_ samples: [Float], rate: Int = 48_000, block: Int = 4_800) -> Hum? {
    var meter = HumMeter(rate: rate)
    for first in stride(from: 0, to: samples.count, by: block) {
      meter.push(samples.span.extracting(first..<min(samples.count, first + block)))
    }
    return meter.hum
  }
  /// Fundamental at `db` RMS and harmonics each 6 dB lower.
  private func mains(_ seconds: Int, _ hertz: Double, db: Double, rate: Int = 48_000) -> [Float] {
    var sum = [Float](repeating: 0, count: seconds * rate)
    for harmonic in 1...6 {
      let part = Tone.sine(
        sum.count, rate: rate, hz: hertz * Double(harmonic), db: db + 3.01 - 6 * Double(harmonic - 1),
        phase: Double(harmonic))
      for i in sum.indices { sum[i] += part[i] }
    }
    return sum
  }
  private func sum(_ a: [Float], _ b: [Float]) -> [Float] { zip(a, b).map { $0 + $1 } }
  private func talk() throws -> [Float] { try Wav(reading: Places.testaudio("talk.wav")).samples }

  @Test(arguments: [8_000, 16_000, 44_100, 48_000, 96_000], [50.0, 59.8])
  func `hum has its frequency and its level, at every rate`(_ rate: Int, _ hertz: Double) throws {
    let found = try #require(hum(mains(6, hertz, db: -50, rate: rate), rate: rate))
    #expect(found.hertz == Int(hertz.rounded()))
    #expect(abs(found.db - -48.8) < 1.2, "\(found)")  // the six together: 1.25 dB above the first
  }

  @Test(arguments: [-40.0, -55, -65])
  func `under a talk too`(_ db: Double) throws {
    let samples = sum(try talk(), mains(13, 50.2, db: db))
    let found = try #require(hum(samples))
    #expect(found.hertz == 50 && abs(found.db - (db + 1.25)) < 2.5, "\(found)")
  }
  @Test func `and in a room's noise`() throws {
    let noise = Tone.white(48_000 * 12, rmsDb: -50)
    #expect(hum(sum(noise, mains(12, 60, db: -55)))?.hertz == 60)
  }
  @Test func `harmonics alone are hum, as a high-pass leaves them`() {
    var samples = Tone.sine(48_000 * 5, hz: 100, db: -50)
    samples = sum(samples, Tone.sine(48_000 * 5, hz: 150, db: -50))
    #expect(hum(samples)?.hertz == 50)
  }

  @Test func `speech, noise, a constant and tones are none`() throws {
    #expect(hum(try talk()) == nil)
    for seed in 1...8 as ClosedRange<UInt64> {
      #expect(hum(Tone.white(48_000 * 6, rmsDb: -30, seed: seed)) == nil)
    }
    #expect(hum(Tone.constant(48_000 * 4, 0.5)) == nil)
    #expect(hum(Tone.silence(48_000 * 4)) == nil)
    for hertz in [100.0, 110, 300, 440, 1_000] {
      #expect(hum(Tone.sine(48_000 * 4, hz: hertz)) == nil, "\(hertz)")
    }
  }
  @Test func `what stops halfway isn't hum, nor is too little to tell`() {
    #expect(hum(mains(6, 50, db: -40) + Tone.silence(48_000 * 6)) == nil)
    #expect(hum(Array(mains(6, 50, db: -40).prefix(90_000))) == nil)
    #expect(hum(mains(6, 50, db: -40, rate: 700), rate: 700) == nil)
    #expect(hum([]) == nil)
    #expect(hum(mains(6, 50, db: -95)) == nil)
  }
  @Test func `the same however it is cut`() throws {
    let samples = sum(try talk(), mains(13, 50, db: -50))
    #expect(hum(samples, block: 37) == hum(samples))
  }
}
