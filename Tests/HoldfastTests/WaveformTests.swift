import Foundation
import TestSupport
import Testing

/// Cases C01 to C04 and C07: floors, full scale, heights and places of bars.
@Suite struct WaveformTests {
  private func file(_ name: String) throws -> String { try Cases.folder("C") + "/" + name }
  private func taken(_ name: String) throws -> Recorded {
    try record(["--input", "file:" + file(name)])
  }
  private func mean(_ bars: [Double]) -> Double { bars.reduce(0, +) / Double(max(1, bars.count)) }

  @Test(arguments: [
    "zeros_s16", "zeros_f32", "one_lsb", "nan_inf_f32", "empty_data", "first_half_zero",
  ]) func `C01: whatever the input, levels are finite and bars are 34`(name: String) throws {
    let (said, report) = try inspect(file("C01/\(name).wav"))
    let take = try taken("C01/\(name).wav")
    try expectSealed(take, frames: name == "empty_data" ? 0 : 96_000)
    #expect(said.code == 0)
    for text in [said.outText, take.said.outText] {
      for word in ["null", "nan", "inf", "1e999"] { #expect(!text.contains(":\(word)"), "\(text)") }
    }
    let manifest = try take.manifest()
    for fields in [report, manifest] + take.levels {
      let bars = fields.numbers("bars")
      #expect(bars.count == 34 && bars.allSatisfy { (0...1).contains($0) })
    }
    for levels in [report.object("levels"), manifest.object("levels")] {
      for key in ["rms_db", "peak_db", "ac_rms_db", "noise_floor_db"] {
        #expect((-160...0).contains(levels.number(key) ?? 1), "\(key): \(levels)")
      }
    }
  }

  @Test(arguments: ["zeros_s16", "zeros_f32", "empty_data"]) func `C01: zeros are at the floor`(name: String)
    throws
  {
    let report = try inspect(file("C01/\(name).wav")).report
    let take = try taken("C01/\(name).wav")
    #expect(report.object("levels").number("rms_db") == -160)
    #expect(report.object("levels").number("peak_db") == -160)
    #expect(report.numbers("bars") == Array(repeating: 0, count: 34))
    #expect(try take.manifest().numbers("bars") == Array(repeating: 0, count: 34))
    #expect(take.levels.allSatisfy { $0.number("db") == -160 && $0.numbers("bars").allSatisfy { $0 == 0 } })
  }

  @Test func `C01: one LSB is told from nothing, and half a file of zeros leaves half the bars`() throws {
    let lsb = try inspect(file("C01/one_lsb.wav")).report.object("levels")
    #expect(
      abs((lsb.number("peak_db") ?? 0) + 90.31) < 0.05 && abs((lsb.number("rms_db") ?? 0) + 93.32) < 0.05)
    let bars = try inspect(file("C01/first_half_zero.wav")).report.numbers("bars")
    #expect(bars.prefix(17).allSatisfy { $0 == 0 } && bars.suffix(17).allSatisfy { abs($0 - 0.616) < 0.01 })
  }

  @Test func `C01: NaN and infinity count as 0, are reported, and poison nothing after them`() throws {
    let truth = try #require(try Cases.truth("C")["C01/nan_inf_f32.wav"])
    let report = try inspect(file("C01/nan_inf_f32.wav")).report
    let problem = try #require(report.objects("problems").first { $0.text("kind") == "not_finite" })
    #expect(problem.text("message")?.contains("\(truth["bad_samples"] ?? "")") == true)
    #expect(abs((report.object("levels").number("peak_db") ?? 0) + 20) < 0.05)
    #expect(report.numbers("bars").allSatisfy { abs($0 - 0.616) < 0.01 })
    let take = try taken("C01/nan_inf_f32.wav")
    #expect(
      try take.manifest().object("levels").int("not_finite_samples") == truth["bad_samples"] as? Int)
    #expect(take.levels.allSatisfy { abs(($0.number("db") ?? 0) + 23.01) < 0.05 })
    #expect(try inspect(take.path).report.objects("problems").contains { $0.text("kind") == "not_finite" })
  }

  @Test func `C02: bars rise with the level of speech and stick at neither end`() throws {
    let levels = [-50, -40, -30, -20]
    let files = levels.map { "C02/speech_\($0).wav" } + ["C02/noise_-80.wav"]
    for bars in [
      try files.map { try inspect(file($0)).report.numbers("bars") },
      try files.map { try taken($0).manifest().numbers("bars") },
      try files.map { try taken($0).levels.last?.numbers("bars") ?? [] },
    ] {
      let heights = bars.prefix(4).map(mean)
      for (low, high) in zip(heights, heights.dropFirst()) { #expect(high - low > 0.05) }
      #expect(bars[3].contains { $0 > 0.6 } && !bars[3].allSatisfy { $0 > 0.99 })
      #expect(bars[4].allSatisfy { $0 < 0.02 })
    }
  }

  @Test(arguments: [
    ("sine_fs_s16", -3.01, 0.0, 0.01), ("sine_fs_s24", -3.01, 0, 0.01), ("sine_fs_u8", -3.08, -0.07, 0.1),
    ("square_fs", 0, 0, 0.01), ("min_int", 0, 0, 0.01),
  ]) func `C03: full scale reads 0 at the peak, and never more`(
    name: String, rms: Double, peak: Double, near: Double
  ) throws {
    let levels = try inspect(file("C03/\(name).wav")).report.object("levels")
    #expect(
      abs((levels.number("rms_db") ?? 1) - rms) < near && abs((levels.number("peak_db") ?? 1) - peak) < near)
    #expect((levels.number("peak_db") ?? 1) <= 0)
    let take = try taken("C03/\(name).wav")
    try expectSealed(take, frames: 48_000)
    // A window holds no whole number of periods: 0.05 dB is what the meter promises.
    #expect(take.levels.allSatisfy { abs(($0.number("db") ?? 1) - rms) < max(near, 0.05) })
    #expect(take.levels.allSatisfy { ($0.number("peak_db") ?? 1) <= 0 })
  }

  @Test func `C03: one full-scale sample is no clipping, a sine cut at full scale is`() throws {
    let one = try inspect(file("C03/one_fs_sample.wav")).report.object("levels")
    #expect(one.int("clipped_runs") == 0 && (one.number("peak_db") ?? 1) > -0.01)
    #expect(try taken("C03/one_fs_sample.wav").manifest().object("levels").int("clipped_runs") == 0)
    let cut = try inspect(file("C03/clipped_run.wav")).report.object("levels")
    #expect(cut.int("clipped_runs") == 2000)  // both halves of 1000 periods
    #expect(try taken("C03/clipped_run.wav").manifest().object("levels").int("clipped_runs") == 2000)
  }

  @Test func `C04: 8 bits are unsigned and 128 is zero`() throws {
    let silent = try inspect(file("C04/silence_u8.wav")).report.object("levels")
    #expect(silent.number("peak_db") == -160 && silent.number("dc_offset") == 0)
    let sine = try inspect(file("C04/sine_-6_u8.wav")).report
    #expect(abs((sine.object("levels").number("peak_db") ?? 0) + 6) < 0.2)
    let odd = try inspect(file("C04/odd_frames_u8.wav")).report
    #expect(odd.int("frames") == 8001 && odd.objects("problems").isEmpty)
    try expectSealed(try taken("C04/odd_frames_u8.wav"), frames: 48_006)
    let take = try taken("C04/silence_u8.wav")
    #expect(take.levels.allSatisfy { $0.number("db") == -160 })
  }

  /// Tone bursts in these of 34 slots of 250 ms.
  private static let slots = [0, 5, 17, 33]
  private func high(_ bars: [Double]) -> [Int] { bars.indices.filter { bars[$0] > 0.5 } }

  @Test func `C07: bars stand where the sound is, from inspect and from a take`() throws {
    let report = try inspect(file("C07/slots.wav")).report
    #expect(high(report.numbers("bars")) == Self.slots)
    let take = try taken("C07/slots.wav")
    try expectSealed(take, frames: 408_000)
    #expect(high(try take.manifest().numbers("bars")) == Self.slots)
    let raw = try record(
      ["--input", "-"], input: .bytes(pack(Wav(reading: file("C07/slots.wav")).samples, .s16)))
    #expect(high(try raw.manifest().numbers("bars")) == Self.slots)
    // Read without its manifest, a take's bars come from its own sound.
    let alone = take.folder.file("alone.opus")
    try FileManager.default.moveItem(atPath: take.path, toPath: alone)
    #expect(high(try inspect(alone).report.numbers("bars")) == Self.slots)
  }

  @Test func `C07: live bars are the newest 34 windows, right-aligned`() throws {
    let take = try taken("C07/slots.wav")
    // 7.5 windows a slot: one that is half in a burst is high too.
    func sounds(_ window: Int) -> Bool {
      Self.slots.contains(1600 * window / 12_000) || Self.slots.contains((1600 * window + 1599) / 12_000)
    }
    for (index, level) in take.levels.enumerated() {
      let bars = level.numbers("bars")
      let expected = (0..<34).filter { index - 33 + $0 >= 0 && sounds(index - 33 + $0) }
      #expect(high(bars) == expected, "window \(index)")
    }
  }

  @Test func `C07: paused time takes no bar`() throws {
    for _ in 1...2 {  // the second take of one process is as the first
      let take = try pausedSlots()
      #expect(take.sealed?.int("pause_count") == 1)
      try expectSealed(take, frames: 408_000)
      #expect(high(try take.manifest().numbers("bars")) == Self.slots)
      #expect(high(try inspect(take.path).report.numbers("bars")) == Self.slots)
    }
  }

  /// The slots with 2 s of another sound in a pause after slot 17. Its fade-out is the slot's own last 5 ms.
  private func pausedSlots() throws -> Recorded {
    let slots = try Wav(reading: file("C07/slots.wav")).samples
    let folder = try TempFolder("slots")
    let joint = 18 * 12_000
    let samples = slots[..<joint] + Tone.sine(96_000, hz: 2000, db: -3) + slots[joint...]
    return try ScheduledTake(Array(samples), rate: 48_000).recorded(
      pauses: [(joint - 240)..<(joint + 96_000)], in: folder)
  }
}
