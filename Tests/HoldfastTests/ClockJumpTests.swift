import Foundation
import TestSupport
import Testing

/// Case F08: the wall clock jumps, back and forth. Lengths come from frames and from the clock that never jumps.
@Suite struct ClockJumpTests {
  @Test(arguments: ["0.6:-3600", "0.6:86400", "0.3:-1,0.6:1"])
  func `a take over a jump has the lengths it would have had`(jump: String) throws {
    let live = try LiveTake(environment: [
      "LD_PRELOAD": Tool.preload("clock_jump"), "CLOCK_JUMP": jump,
    ])
    let begun = Date()
    try live.reach(ms: 250)
    try live.pause()
    let paused = Date()
    usleep(800_000)
    let before = live.effectiveMs
    let resumed = Date()
    try live.resume()
    try live.reach(ms: before + 300)
    let take = try live.stop()
    let outside = Date().timeIntervalSince(begun) * 1000
    try expectSealed(take)
    var last = 0
    for event in take.events {
      guard let now = event.int("effective_ms") else { continue }
      #expect(now >= last && (event.text("event") != "level" || now - last <= 34), "\(event) after \(last)")
      last = now
    }
    let duration = take.sealed?.int("duration_ms") ?? -1
    #expect(duration >= 550 && Double(duration) <= outside + 100)
    let manifest = try take.manifest()
    let length = try #require(manifest.objects("pauses").first?.int("length_ms"))
    #expect(length >= Int(resumed.timeIntervalSince(paused) * 1000) - 300 && Double(length) <= outside + 100)
    #expect(take.levels.count >= duration * 30 / 1000 - 1)
  }

  @Test func `names sort in the order of the takes over the hour that summer time gives back`() throws {
    let home = try TempFolder()
    // 2026-11-01 in Los Angeles: 01:59:58, and an hour later 01:59:58 again.
    for base in [1_793_523_598, 1_793_523_598 + 3_600] {
      let said = try holdfast(
        ["record", "--json", "--input", "tone:440", "--max-ms", "100", "--session", "\(base)"],
        environment: [
          "LD_PRELOAD": Tool.preload("clock_jump"), "CLOCK_BASE": "\(base)", "TZ": "America/Los_Angeles",
          "XDG_DATA_HOME": home.path,
        ])
      try #require(said.code == 0, "\(said)")
    }
    let takes = home.names.filter { $0.hasSuffix(".take.json") }
    try #require(takes.count == 2, "\(home.names)")
    let sessions = try takes.map { try Fields(file: home.file($0)).object("context").text("session") }
    #expect(sessions == ["1793523598", "1793527198"])
  }
}
