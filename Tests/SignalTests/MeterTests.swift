import Foundation
import Testing

@testable import Signal

/// Pushes `samples` through a meter in blocks of `block` and returns its windows.
private func levels(_ samples: [Float], block: Int) -> (levels: [Level], meter: Meter) {
  var meter = Meter()
  var found: [Level] = []
  var first = 0
  while first < samples.count {
    let n = min(block, samples.count - first)
    meter.push(samples.span.extracting(first..<(first + n))) { found.append($0) }
    first += n
  }
  return (found, meter)
}
private func sine(_ count: Int, _ hertz: Double, _ amplitude: Double) -> [Float] {
  (0..<count).map { Float(amplitude * sin(2 * .pi * hertz * Double($0) / 48_000)) }
}

@Test func `a full-scale sine reads -3.01 RMS and 0 peak`() {
  let (found, meter) = levels(sine(48_000, 900, 1), block: 480)  // 30 whole periods a window
  #expect(found.count == 30)
  for level in found {
    #expect(abs(level.rmsDb + 3.0103) < 0.01)
    #expect(abs(level.peakDb) < 0.001)
  }
  #expect(abs(meter.finalTotals.rmsDb + 3.0103) < 0.001)
}

@Test(arguments: [(0.5, -6.0206), (1.0, 0.0), (0.001, -60.0)])
func `a constant reads its own level, and its AC part is silence`(_ value: Double, _ db: Double) {
  let (found, meter) = levels([Float](repeating: Float(value), count: 4_800), block: 77)
  #expect(found.allSatisfy { abs($0.rmsDb - db) < 0.01 && abs($0.peakDb - db) < 0.01 })
  #expect(abs(meter.finalTotals.mean - value) < 1e-6)
  #expect(meter.finalTotals.acRmsDb < -100)
}

@Test func `silence reads the floor, and every number is finite`() {
  let (found, meter) = levels([Float](repeating: 0, count: 5_000), block: 480)
  #expect(found.allSatisfy { $0.rmsDb == -160 && $0.peakDb == -160 && $0.bar == 0 })
  #expect(meter.bars() == Array(repeating: 0, count: 34))
}

@Test(arguments: [1, 7, 160, 480, 1_600, 4_800, 100_000])
func `windows, totals and bars don't depend on the block size`(_ block: Int) {
  let samples = sine(100_003, 440, 0.3)
  let (reference, meter) = levels(samples, block: 160)
  let (found, other) = levels(samples, block: block)
  #expect(found == reference)
  #expect(other.finalTotals == meter.finalTotals)
  #expect(other.bars() == meter.bars())
}

@Test func `level events come one a full window, stamped at its end`() {
  let (found, _) = levels(sine(1_600 * 3 + 1_599, 100, 0.5), block: 333)
  #expect(found.map(\.endFrame) == [1_600, 3_200, 4_800])
}

@Test func `a short burst lies in its own bar`() {
  // 34 slots of 250 ms, bursts in 0, 5, 17 and 33 (C07 of the case list).
  var samples = [Float](repeating: 0, count: 34 * 12_000)
  for slot in [0, 5, 17, 33] {
    for i in 0..<12_000 { samples[slot * 12_000 + i] = Float(0.5 * sin(Double(i) * 0.13)) }
  }
  let bars = levels(samples, block: 4_800).meter.bars()
  for (i, bar) in bars.enumerated() { #expect((bar > 0.5) == [0, 5, 17, 33].contains(i), "bar \(i)") }
}

@Test func `bars of a take longer than the bins keep the energy where it was`() {
  var samples = [Float](repeating: 0, count: 160 * 8_192 * 4 + 77)
  let from = samples.count / 2
  for i in from..<samples.count { samples[i] = 0.25 }
  let (_, meter) = levels(samples, block: 48_000)
  #expect(meter.overview.bins.count <= Overview.capacity)
  let bars = meter.bars()
  let expected = (10 * log10(0.0625) + 60) / 60
  #expect(bars[..<16].allSatisfy { $0 < 0.3 })
  #expect(bars[18...].allSatisfy { abs($0 - expected) < 0.01 })
}

@Test func `an overview restored from its finished bins has the same bars`() throws {
  var meter = Meter()
  var bins: [Float] = []
  var samples = [Float](repeating: 0, count: 48_000)
  for second in 0..<70 {
    for i in samples.indices {
      samples[i] = Float(sin(Double(i) * 0.01 * Double(second + 1)) * Double(second % 7) / 8)
    }
    meter.push(samples.span) { _ in }
    bins += meter.takeFinishedBins()
  }
  let restored = try #require(Overview(restoring: bins, frames: 70 * 48_000))
  #expect(restored.bins == meter.overview.bins)
  #expect(restored.scale == meter.overview.scale)
  #expect(restored.bars(count: 34, frames: 70 * 48_000, rest: meter.pendingEnergy) == meter.bars())
}

@Test func `live bars are the newest 34, right-aligned`() {
  var bars = LiveBars()
  bars.push(0.5)
  #expect(bars.bars == Array(repeating: 0, count: 33) + [0.5])
  for i in 0..<40 { bars.push(Double(i)) }
  #expect(bars.bars == (6..<40).map(Double.init))
}

@Test func `one legal full-scale sample isn't clipping, a cut sine is`() {
  var one = ClipCounter(threshold: SampleFormat.s16.fullScale)
  for i in 0..<1_000 { one.add(i == 500 ? 32_767 / 32_768 : 0.5) }
  #expect(one.runs == 0)
  var cut = ClipCounter(threshold: SampleFormat.s16.fullScale)
  for i in 0..<480 { cut.add(Float(max(-1, min(32_767 / 32_768, 2 * sin(2 * .pi * Double(i) / 48))))) }
  #expect(cut.runs == 20)
  var alternating = ClipCounter(threshold: SampleFormat.s16.fullScale)
  for i in 0..<100 { alternating.add(i % 2 == 0 ? -1 : 32_767 / 32_768) }
  #expect(alternating.runs == 0)
}
