import Testing

@testable import Signal

/// The device's clock against the machine's, from reads that come late by chance.
@Suite struct DriftMeterTests {
  /// Reads of `frames` each from a device that is `ppm` faster than it says, each late by up to `jitterNs`.
  private func heard(
    seconds: Int, rate: Int = 48_000, frames: Int = 480, ppm: Double, jitterNs: Double, seed: UInt64 = 1,
    lossesEvery: Int? = nil
  ) -> DriftMeter {
    var meter = DriftMeter(rate: rate)
    var state = seed
    var device: Int64 = 0
    for i in 0..<(seconds * rate / frames) {
      device += Int64(frames)
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let chance = Double(state >> 33) / Double(1 << 31)
      let due = Double(device) / (Double(rate) * (1 + ppm * 1e-6)) * 1e9
      _ = meter.read(frames: frames, at: 5_000_000_000 + Int64(due + chance * jitterNs))
      if let lossesEvery, i % (lossesEvery * rate / frames) == lossesEvery * rate / frames - 1 {
        device += Int64(rate / 3)  // nobody has them
        meter.restart()
      }
    }
    return meter
  }

  @Test(
    arguments: [0, 125, -80, 1, -3_000], [(48_000, 480), (44_100, 441), (16_000, 640), (96_000, 1_000)])
  func `a drift is found within a few parts per million`(ppm: Double, format: (Int, Int)) throws {
    let meter = heard(seconds: 75, rate: format.0, frames: format.1, ppm: ppm, jitterNs: 2_000_000)
    let reading = try #require(meter.reading)
    #expect(abs(Double(reading.partsPerBillion) - ppm * 1_000) < 3_000, "\(reading)")
    #expect(abs(Double(reading.partsPerBillion) - ppm * 1_000) < 5 * Double(reading.uncertainty) + 100)
    #expect((70...75).contains(reading.seconds))
  }

  @Test func `nothing is said before a minute`() {
    #expect(heard(seconds: 60, ppm: 10, jitterNs: 0).reading == nil, "its first two seconds don't count")
    #expect(heard(seconds: 64, ppm: 10, jitterNs: 0).reading != nil)
  }

  @Test func `a loss begins another run, and the runs are taken together`() throws {
    let meter = heard(seconds: 300, ppm: 55, jitterNs: 1_000_000, lossesEvery: 20)
    let reading = try #require(meter.reading)
    #expect(abs(reading.partsPerBillion - 55_000) < 5_000, "\(reading)")
    #expect((240...280).contains(reading.seconds))
    // Runs too short to say anything count for nothing.
    #expect(heard(seconds: 300, ppm: 55, jitterNs: 0, lossesEvery: 4).reading == nil)
  }

  @Test func `absurd times end in bounds`() {
    var meter = DriftMeter(rate: 1)
    for i in 0..<100 { _ = meter.read(frames: 1, at: Int64(i) &* 9_000_000_000_000) }
    #expect(abs(meter.reading?.partsPerBillion ?? 0) <= 1_000_000_000)
    for _ in 0..<100 { _ = meter.read(frames: .max, at: .min) }
    _ = meter.reading
  }
}
