import Testing

@testable import Capture

@Suite struct LossMeterTests {
  /// Feeds `reads` periods of 480 at 48 kHz, each `shift` nanoseconds late, and returns what was found.
  private func feed(
    _ meter: inout LossMeter, reads: Int, position: inout Int64, time: inout Int64, ppm: Double = 0,
    late: (Int) -> Int64 = { _ in 0 }
  ) -> [(frames: Int64, uncertainty: Int64, LossMeter.Cause)] {
    var found: [(frames: Int64, uncertainty: Int64, LossMeter.Cause)] = []
    for i in 0..<reads {
      position += 480
      time += Int64(10_000_000 * (1 + ppm / 1e6))
      if let loss = meter.note(position: position, time: time + late(i), waited: true) { found.append(loss) }
    }
    return found
  }

  @Test(arguments: [0.0, 80, -80, 5_000, -5_000]) func `no loss is found where only the clocks differ`(
    ppm: Double
  ) {
    var meter = LossMeter(rate: 48_000, period: 480)
    var (position, time): (Int64, Int64) = (0, 1_000_000)
    #expect(feed(&meter, reads: 20_000, position: &position, time: &time, ppm: ppm).isEmpty)
  }

  @Test(arguments: [0, 1, 480, 4_800, 96_000] as [Int64]) func `an overrun is measured to the frame`(
    lost: Int64
  ) {
    var meter = LossMeter(rate: 48_000, period: 480)
    var (position, time): (Int64, Int64) = (0, 1_000_000)
    #expect(feed(&meter, reads: 500, position: &position, time: &time, ppm: 80).isEmpty)
    meter.overrun()
    time += lost * 1_000_000_000 / 48_000
    let found = feed(&meter, reads: 500, position: &position, time: &time, ppm: 80)
    #expect(found.count == 1 && abs((found.first?.frames ?? -9) - lost) <= 1 && found.first?.2 == .overrun)
    #expect((found.first?.uncertainty ?? 99) <= 2)
  }

  @Test func `late calls widen the uncertainty, not the loss by more than it says`() throws {
    var meter = LossMeter(rate: 48_000, period: 480)
    var (position, time): (Int64, Int64) = (0, 1_000_000)
    let late: (Int) -> Int64 = { $0 % 7 == 3 ? 4_000_000 : Int64($0 % 5) * 200_000 }
    _ = feed(&meter, reads: 400, position: &position, time: &time, late: late)
    meter.overrun()
    time += 100_000_000
    let loss = try #require(
      feed(&meter, reads: 1, position: &position, time: &time, late: { _ in 4_000_000 }).first)
    #expect(abs(loss.frames - 4_800) <= loss.uncertainty && loss.uncertainty >= 150)
  }

  @Test func `an overrun before the first frame is no loss`() {
    var meter = LossMeter(rate: 48_000, period: 480)
    meter.overrun()
    var (position, time): (Int64, Int64) = (0, 1_000_000)
    #expect(feed(&meter, reads: 100, position: &position, time: &time).isEmpty)
  }

  @Test func `frames lost without an error are found, once`() throws {
    var meter = LossMeter(rate: 48_000, period: 480)
    var (position, time): (Int64, Int64) = (0, 1_000_000)
    _ = feed(&meter, reads: 500, position: &position, time: &time)
    time += 3_000_000_000
    let found = feed(&meter, reads: 500, position: &position, time: &time)
    #expect(found.count == 1)
    let loss = try #require(found.first)
    #expect(loss.2 == .silent && abs(loss.frames - 144_000) <= loss.uncertainty)
  }

  @Test func `frames that only come late are no loss`() {
    var meter = LossMeter(rate: 48_000, period: 480)
    var (position, time): (Int64, Int64) = (0, 1_000_000)
    _ = feed(&meter, reads: 500, position: &position, time: &time)
    time += 3_000_000_000
    for _ in 0..<300 {  // all at once
      position += 480
      time += 50_000
      #expect(meter.note(position: position, time: time, waited: false) == nil)
    }
    time -= 300 * 50_000
    #expect(feed(&meter, reads: 500, position: &position, time: &time).isEmpty)
  }

  @Test func `rates of no device don't trap`() {
    for rate in [0, 1, Int(Int32.max)] {
      var meter = LossMeter(rate: rate, period: 0)
      for i in 0..<5 { _ = meter.note(position: Int64(i) * 1_000_000, time: Int64(i) << 50, waited: true) }
    }
  }
}
