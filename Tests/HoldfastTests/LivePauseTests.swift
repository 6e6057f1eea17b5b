import Foundation
import TestSupport
import Testing

/// Case B01: pauses by signal in real time. The timer never counts them, and stands still while they last.
@Suite struct LivePauseTests {
  /// What has to hold for the events of any take.
  private func expectSteady(_ take: Recorded) throws {
    var last = 0
    var paused = false
    for event in take.events {
      if event.text("event") == "state" { paused = event.text("state") == "paused" }
      guard let now = event.int("effective_ms") else { continue }
      #expect(now >= last, "\(event) after \(last)")
      if event.text("event") == "level" {
        #expect(!paused, "\(event)")
        #expect(now - last <= 34, "a jump: \(event) after \(last)")
      }
      last = now
    }
    try expectSealed(take)
    // The last level event is at most a window behind the end.
    let end = take.sealed?.int("duration_ms") ?? 0
    #expect((0...34).contains(end - (take.levels.last?.int("effective_ms") ?? 0)))
  }

  @Test func `the timer stands while paused, with the pause in the middle`() throws {
    let live = try LiveTake()
    try live.reach(ms: 300)
    try live.pause()
    let before = live.effectiveMs
    usleep(700_000)
    #expect(live.effectiveMs == before)
    try live.resume()
    try live.reach(ms: before + 200)
    let take = try live.stop()
    try expectSteady(take)
    #expect(take.sealed?.int("pause_count") == 1 && take.sealed?.text("ended_by") == "signal")
    // The wall-clock length of the pause is told apart from the take's time.
    let pause = try #require(try take.manifest().objects("pauses").first)
    #expect((pause.int("length_ms") ?? 0) >= 700)
    #expect((take.sealed?.int("duration_ms") ?? 0) < (pause.int("length_ms") ?? 0) + 500)
  }

  @Test func `a pause as the first act, a pause as the last, and three pauses`() throws {
    let first = try LiveTake()
    try first.pause()
    usleep(150_000)
    try first.resume()
    try first.reach(ms: 150)
    let begun = try first.stop()
    try expectSteady(begun)
    #expect(begun.sealed?.int("pause_count") == 1)

    let last = try LiveTake()
    try last.reach(ms: 150)
    try last.pause()
    usleep(150_000)
    let ended = try last.stop()
    try expectSteady(ended)
    #expect(ended.sealed?.int("pause_count") == 1)
    #expect(
      ended.all("state").map { $0.text("state") } == [
        "preparing", "recording", "paused", "sealing", "sealed",
      ])

    let three = try LiveTake()
    for round in 1...3 {
      try three.reach(ms: 120 * round)
      try three.pause()
      usleep(80_000)
      try three.resume()
    }
    let thrice = try three.stop()
    try expectSteady(thrice)
    #expect(thrice.sealed?.int("pause_count") == 3)
    #expect(try thrice.manifest().objects("pauses").count == 3)
  }

  @Test func `SIGUSR2 sets marks, also while paused`() throws {
    let live = try LiveTake()
    try live.reach(ms: 100)
    live.process.signal(SIGUSR2)
    try #require(live.process.waitFor("\"event\":\"mark\""))
    try live.pause()
    let paused = live.effectiveMs
    live.process.signal(SIGUSR2)
    usleep(100_000)
    try live.resume()
    try live.reach(ms: paused + 100)
    let take = try live.stop()
    try expectSteady(take)
    let marks = take.all("mark").compactMap { $0.int("at_ms") }
    #expect(marks.count == 2 && (100..<400).contains(marks.first ?? 0) && marks.last == paused)
    #expect(try take.manifest().objects("marks").compactMap { $0.int("at_ms") } == marks)
    #expect(try inspect(take.path).report.objects("marks").compactMap { $0.int("at_ms") } == marks)
  }

  /// Standard input delivers just what the test writes: the sound of the pause is known, and its absence can be heard.
  @Test func `what is said in a pause by signal isn't in the take`() throws {
    let folder = try TempFolder()
    let process = try Running(
      Places.holdfast, ["record", "--json", "--input", "-", "-o", folder.file("take.opus")], input: .pipe)
    // 44 whole periods: pieces join smoothly.
    let piece = pack(Tone.sine(4800, hz: PausedTone.kept, db: -12), .s16)
    func feed(until text: String, times: Int) throws {
      for _ in 0..<300 {
        try #require(process.send(piece))
        usleep(5000)
        let out = String(decoding: process.out, as: UTF8.self)
        if out.components(separatedBy: text).count > times { return }
      }
      Issue.record("never \(text)")
    }
    try feed(until: "\"effective_ms\":500", times: 1)
    for round in 1...3 {
      process.signal(SIGUSR1)
      try feed(until: "\"state\":\"paused\"", times: round)
      process.send(pack(Tone.sine(24_000, hz: PausedTone.paused, db: -12), .s16))
      for _ in 0..<10 { process.send(piece) }  // more than a pipe holds: what was said before is read
      process.signal(SIGUSR1)
      try feed(until: "\"state\":\"recording\"", times: round + 1)
    }
    process.send(pack(Tone.silence(4800), .s16))
    process.closeInput()
    let take = try Recorded(process.wait(timeout: 20), folder, folder.file("take.opus"))
    try expectSteady(take)
    #expect(take.sealed?.int("pause_count") == 3 && take.sealed?.text("ended_by") == "source_end")
    // Without the ends, where the tone sets in and stops at once.
    try expectNoTrace(Judge.opusdecSamples(take.path).dropFirst(960).dropLast(4800 + 960))
  }
}
