import Foundation
import TestSupport
import Testing

/// The command in front of a device: whole takes through ALSA.
@Suite struct DeviceTakeTests {
  static let stops = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  /// Frames of the loop's reads, and what the capture thread did between the 10th and the 40th of them.
  private func counts(_ arguments: [String], script: String = "") throws -> [String: Int] {
    let scratch = try TempFolder()
    let card = try ScriptedCard(script: script, in: scratch)
    var environment = card.environment
    environment["LD_PRELOAD"] = try Tool.library("counts", ["-ldl"])
    environment["COUNTS_READS"] = "10:40"
    environment["COUNTS_LOG"] = scratch.file("counts")
    let live = try LiveTake(ScriptedCard.patient + arguments, environment: environment)
    try #require(live.until { scratch.file("counts").exists })
    try expectSealed(live.stop())
    let lines = try String(contentsOfFile: scratch.file("counts"), encoding: .utf8).split(separator: "\n")
    return Dictionary(
      uniqueKeysWithValues: lines.map {
        let words = $0.split(separator: " ")
        return (String(words[0]), Int(words[1]) ?? -1)
      })
  }

  @Test(arguments: [[], ["--mmap"], ["--period-ms", "40"], ["--period-ms", "7"]])
  func `the capture loop reads a period at a time, and allocates, locks and counts nothing`(
    arguments: [String]
  ) throws {
    // An overrun on the way is steady state too: its loss goes through the ring of losses.
    let found = try counts(arguments, script: "0.2 xrun 4800")
    let period = 48 * (arguments.last.flatMap { Int($0) } ?? 10)
    #expect(found["reads"] == 30 && found["frames"] == 30 * period, "\(found)")
    for name in ["our_allocations", "our_frees", "our_locks", "our_counts"] {
      #expect(found[name] == 0, "\(found)")
    }
    #expect((found["their_locks"] ?? 0) > 0, "the counters count nothing: \(found)")
  }

  /// Records from a scripted card, at once.
  private func live(_ arguments: [String] = [], json: Bool = true) throws -> (LiveTake, TempFolder) {
    let scratch = try TempFolder()
    let card = try ScriptedCard(in: scratch)
    return (
      try LiveTake(ScriptedCard.patient + arguments, environment: card.environment, json: json), scratch
    )
  }

  // MARK: case I01

  @Test(arguments: stops) func `a signal ends the take with all that the device had by then`(signal: Int32)
    throws
  {
    let (live, scratch) = try live()
    let begun = Date()  // later than the take's first frame
    usleep(300_000)
    let asked = Date()
    let take = try live.stop(signal)
    try expectSealed(take)
    #expect(take.sealed?.text("ended_by") == "signal" && take.all("gap").isEmpty)
    #expect((take.sealed?.number("duration_ms") ?? 0) >= asked.timeIntervalSince(begun) * 1000 - 1)
    #expect(take.said.wallSeconds < 20)
    _ = scratch
  }

  @Test(arguments: stops) func `a signal while the device is paused, and a second one, seal the take`(
    signal: Int32
  ) throws {
    let (live, scratch) = try live()
    try live.reach(ms: 100)
    try live.pause()
    live.process.signal(signal)
    usleep(10_000)
    let take = try live.stop(signal)
    try expectSealed(take)
    #expect(take.sealed?.int("pause_count") == 1)
    _ = scratch
  }

  @Test(arguments: stops) func `a signal while the device opens gives a take or nothing`(signal: Int32) throws
  {
    for delay: UInt32 in [5, 12, 20, 35, 50] {
      let scratch = try TempFolder()
      let card = try ScriptedCard(in: scratch)
      let live = try LiveTake(ScriptedCard.patient, environment: card.environment, begun: false)
      usleep(delay * 1000)
      live.process.signal(signal)
      let said = live.process.wait(timeout: 20)
      if live.folder.names.isEmpty {
        #expect(said.signal == signal || said.code == 0, "\(said)")
      } else {
        try expectSealed(Recorded(said, live.folder, live.path))
      }
    }
  }

  // MARK: case B01

  @Test func `paused time is nowhere in the timer: a pause first, many, and a pause last`() throws {
    let (live, scratch) = try live()
    for _ in 0..<5 {
      try live.pause()
      let before = live.effectiveMs
      usleep(120_000)
      #expect(live.effectiveMs == before)
      try live.resume()
      try live.reach(ms: before + 100)
    }
    try live.pause()
    usleep(150_000)
    let take = try live.stop()
    try expectSealed(take)
    #expect(take.sealed?.int("pause_count") == 6)
    var last = 0
    for event in take.events {
      guard let now = event.int("effective_ms") else { continue }
      #expect(now >= last && (event.text("event") != "level" || now - last <= 34), "\(event) after \(last)")
      last = now
    }
    // What the device delivered in the pauses is told apart. The last one was never over.
    let pauses = try take.manifest().objects("pauses")
    #expect(pauses.count == 6 && pauses.dropLast().allSatisfy { ($0.int("length_ms") ?? 0) >= 60 })
    // A tone without a hole but for the fades: nothing of the pauses is in it as silence.
    let samples = try Judge.opusdecSamples(take.path)
    for start in stride(from: 4_800, to: samples.count - 9_600, by: 2_400) {
      #expect(rmsDb(samples[start..<start + 2_400]) > -14)
    }
    _ = scratch
  }

  // MARK: formats

  @Test(arguments: ["U8", "S16_LE", "S24_3LE", "S24_LE", "S32_LE", "FLOAT_LE"])
  func `every format at every rate and channel count is the tone it was, as long as it was`(format: String)
    throws
  {
    let rates = [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000]
    for (rate, channels) in zip(rates, [1, 2, 8, 3, 1, 2, 8, 1, 2, 8]) {
      let scratch = try TempFolder()
      let log = scratch.file("log")
      let card = try ScriptedCard(
        Tone.sine(rate, rate: rate, hz: 1000, db: -6), rate: rate, script: "1.3 unplug",
        keys: "on_demand 1 formats \(format) rate \(rate) channels \(channels) log \"\(log)\"", in: scratch)
      let take = try record(
        ["--input", "alsa:mic", "--channel", "\(channels)", "--wait-device", "0"],
        environment: card.environment)
      // What the program had read when the device went.
      let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
      let read = try #require(lines.first { $0.contains("event unplug") }?.split(separator: " ").last)
      let frames = try Int((#require(Double(read)) * 48_000 / Double(rate)).rounded())
      try expectSealed(take, frames: frames, code: 69)
      #expect(try take.manifest().int("device_rate") == rate)
      let tolerance = format == "U8" ? 0.15 : 0.05
      // The converter's filter sets in within the first window.
      let levels = take.levels.dropFirst().compactMap { $0.number("db") }
      #expect(levels.count > 30 && levels.allSatisfy { abs($0 + 9.0103) <= tolerance }, "\(rate): \(levels)")
      let samples = try Judge.opusdecSamples(take.path)
      #expect(abs(frequency(Array(samples[4_800..<52_800])) - 1000) <= 1, "\(rate)")
    }
  }

  // MARK: overruns

  @Test func `an overrun that costs no frame is no gap; in a pause it is told with length 0`() throws {
    let scratch = try TempFolder()
    // The clock goes on while the device is started again, by less than half a frame: nothing was lost.
    let card = try ScriptedCard(script: "0.3 err EPIPE 1", keys: "on_demand 1", in: scratch)
    let take = try record(
      ["--input", "alsa:mic", "--max-ms", "1000"], environment: card.environment, timeout: 30)
    try expectSealed(take, frames: 48_000)
    #expect(take.all("gap").allSatisfy { ($0.int("frames") ?? 0) > 0 }, "\(take.all("gap"))")
    #expect(!take.said.errText.contains("lost 0 ms"))
  }

  // MARK: messages

  @Test(arguments: [
    ("EBUSY", 75, "in use by another program; close it"), ("EACCES", 77, "join the group audio"),
    ("ENODEV", 69, "`holdfast devices` lists"), ("ENOSPC", 69, "another device"),
    ("EINVAL", 69, "see `holdfast devices`"),
    ("EIO", 69, "mic"),
  ]) func `a device that can't be opened is told in a line that says what to do`(
    error: String, code: Int, words: String
  ) throws {
    let scratch = try TempFolder()
    let card = try ScriptedCard(keys: "open_error \(error)", in: scratch)
    let folder = try TempFolder()
    let said = try holdfast(
      ["record", "--input", "alsa:mic", "-o", folder.file("a.opus")], environment: card.environment)
    #expect(Int(said.code) == code && said.isOneLine && said.errText.contains(words), "\(said)")
    #expect(said.errText.contains("\"mic\"") && said.out.isEmpty && folder.names.isEmpty, "\(said)")
    for word in ["disk", "space", "Input/output"] where error != "EIO" {
      #expect(!said.errText.contains(word), "\(said)")
    }
  }
}
