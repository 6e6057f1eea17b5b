import Foundation
import TestSupport
import Testing

/// Issue 2, point 3: the meter against calculated values, at every rate and in every sample format.
@Suite struct LevelTests {
  static let rates = [8000, 16_000, 44_100, 48_000, 96_000]

  /// A signal whose level follows from a formula.
  private struct Known {
    let name: String
    let samples: [Float]
    let rms: Double
    let peak: Double
    var dc = 0.0
  }
  /// One second each. The tone has whole periods, the noise exactly its RMS.
  private func signals(_ rate: Int) -> [Known] {
    let noise = Tone.white(rate, rmsDb: -20, seed: UInt64(rate))
    return [
      Known(
        name: "sine", samples: Tone.sine(rate, rate: rate, hz: 1000, db: -6), rms: -6 - 3.0103, peak: -6),
      Known(name: "square", samples: Tone.square(rate, period: rate / 20, db: -9), rms: -9, peak: -9),
      Known(name: "noise", samples: noise, rms: -20, peak: peakDb(noise)),
      Known(name: "dc", samples: Tone.constant(rate, -0.25), rms: -12.0412, peak: -12.0412, dc: -0.25),
      Known(name: "loud", samples: Tone.sine(rate, rate: rate, hz: 1000, db: -0.5), rms: -3.5103, peak: -0.5),
      Known(
        name: "soft", samples: Tone.sine(rate, rate: rate, hz: 1000, db: -30), rms: -33.0103, peak: -30),
    ]
  }
  private func tolerance(_ format: SampleFormat) -> Double { format == .u8 ? 0.15 : 0.05 }

  @Test(arguments: rates, SampleFormat.allCases)
  func `inspect measures what the formulas say`(rate: Int, format: SampleFormat) throws {
    let folder = try TempFolder()
    let near = tolerance(format)
    // 8 bits can't hold −30 dBFS to 0.15 dB: half a step is 12 % of its peak.
    let known = signals(rate).filter { format != .u8 || $0.name != "soft" }
    for signal in known { try Wav(signal.samples, rate: rate).write(to: folder.file(signal.name), format) }
    let said = try holdfast(["inspect", "--json"] + known.map { folder.file($0.name) })
    #expect(said.code == 0)
    for (signal, report) in zip(known, try said.jsonLines().map(Fields.init)) {
      let levels = report.object("levels")
      #expect(report.int("frames") == rate && report.int("sample_rate") == rate)
      #expect(abs((levels.number("rms_db") ?? 0) - signal.rms) < near, "\(signal.name): \(levels)")
      #expect(abs((levels.number("peak_db") ?? 0) - signal.peak) < near, "\(signal.name): \(levels)")
      #expect(abs((levels.number("dc_offset") ?? 1) - signal.dc) < 0.002, "\(signal.name): \(levels)")
      #expect(report.numbers("bars").allSatisfy { abs($0 - (signal.rms + 60) / 60) < 0.02 }, "\(signal.name)")
    }
  }

  @Test(arguments: rates, SampleFormat.allCases)
  func `live level events measure what the formulas say`(rate: Int, format: SampleFormat) throws {
    let folder = try TempFolder()
    let near = tolerance(format)
    // At another rate the resampler's filter takes noise away; the other signals pass.
    let known = signals(rate).filter { ["sine", "square", "dc", "loud"].contains($0.name) }
    try Wav(known.flatMap(\.samples), rate: rate).write(to: folder.file("in.wav"), format)
    let take = try record(["--input", "file:" + folder.file("in.wav")], in: folder)
    try expectSealed(take, frames: known.count * 48_000)
    #expect(take.levels.count == known.count * 30)
    for (index, signal) in known.enumerated() {
      let windows = take.levels[(index * 30 + 1)..<(index * 30 + 29)]  // the first and last hold a joint
      for window in windows {
        #expect(abs((window.number("db") ?? 0) - signal.rms) < near, "\(signal.name): \(window)")
        // Band-limiting makes a square wave overshoot; the others keep their peak.
        if signal.name != "square" {
          #expect(abs((window.number("peak_db") ?? 0) - signal.peak) < near, "\(signal.name): \(window)")
        }
      }
    }
  }

  @Test func `each window of white noise is measured for itself, and stamped at its end`() throws {
    let folder = try TempFolder()
    let noise = Tone.white(48_000, rmsDb: -20, seed: 7)
    try Wav(noise).write(to: folder.file("in.wav"), .f32)
    let take = try record(["--input", "file:" + folder.file("in.wav")], in: folder)
    #expect(take.levels.count == 30)
    for (index, level) in take.levels.enumerated() {
      let window = noise[(1600 * index)..<(1600 * (index + 1))]
      #expect(abs((level.number("db") ?? 0) - rmsDb(window)) < 0.006)  // two decimals
      #expect(abs((level.number("peak_db") ?? 0) - peakDb(window)) < 0.006)
      #expect(level.int("effective_ms") == 1600 * (index + 1) / 48)
      let bars = level.numbers("bars")
      #expect(bars.count == 34 && bars.prefix(33 - index).allSatisfy { $0 == 0 })
      #expect(abs((bars.last ?? 0) - (rmsDb(window) + 60) / 60) < 0.001)
    }
  }

  @Test func `no partial window gets an event`() throws {
    let folder = try TempFolder()
    try Wav(Tone.sine(3199)).write(to: folder.file("in.wav"))
    let take = try record(["--input", "file:" + folder.file("in.wav")], in: folder)
    #expect(take.levels.map { $0.int("effective_ms") } == [33])
  }

  @Test func `inspect measures each channel for itself, record takes the one it is told`() throws {
    let folder = try TempFolder()
    let (left, right) = (Tone.sine(48_000, hz: 500, db: -6), Tone.sine(48_000, hz: 2000, db: -20))
    try Wav(zip(left, right).flatMap { [$0, $1] }, channels: 2).write(to: folder.file("in.wav"), .s24)
    let report = try inspect(folder.file("in.wav")).report
    let channels = report.objects("channel_levels").compactMap { $0.number("rms_db") }
    #expect(channels.count == 2 && abs(channels[0] + 9.01) < 0.01 && abs(channels[1] + 23.01) < 0.01)
    let input = ["--input", "file:" + folder.file("in.wav")]
    let expected = [("1", -9.01, 500.0), ("2", -23.01, 2000), ("mix", -14.85, 500)]
    for (channel, rms, hz) in expected {
      let take = try record(input + ["--channel", channel], to: channel + ".opus", in: folder)
      let middle = take.levels.dropFirst().dropLast().compactMap { $0.number("db") }
      #expect(middle.allSatisfy { abs($0 - rms) < 0.05 }, "\(channel): \(middle)")
      let decoded = try Judge.opusdecSamples(take.path)
      let other = hz == 500 ? 2000.0 : 500
      #expect(toneDb(decoded, hz: hz) > toneDb(decoded, hz: other) + 12, "\(channel)")
    }
    let third = try record(input + ["--channel", "3"], to: "3.opus", in: folder)
    #expect(third.said.code == 64 && third.said.isOneLine && folder.names.contains("3.opus") == false)
  }
}
