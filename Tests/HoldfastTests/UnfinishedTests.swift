import Foundation
import TestSupport
import Testing

/// A recorder that is killed leaves a partial take with all but the last 50 ms, and `inspect` and `list` say so.
@Suite struct UnfinishedTests {
  @Test(arguments: [200, 990, 1000, 2345, 6000]) func `inspect and list know the length of a killed take`(
    ms: Int
  ) throws {
    let folder = try TempFolder()
    _ = try killedTake(ms: ms, in: folder)
    let before = folder.names
    let (said, report) = try inspect(folder.file("take.opus"))
    #expect(said.code == 0 && report.text("outcome") == "unfinished" && report.flag("recording") == false)
    let known = try #require(report.int("duration_ms"))
    #expect((ms - 50...ms).contains(known), "\(known) of \(ms)")
    let listed = try holdfast(["list", "--json", folder.path]).jsonLines().map(Fields.init)
    #expect(listed.count == 1 && listed[0].text("outcome") == "unfinished")
    #expect(listed[0].int("duration_ms") == known && listed[0].text("path") == folder.file("take.opus"))
    #expect(try inspect(folder.file("take.opus.partial")).report.int("duration_ms") == known)
    #expect(try holdfast(["verify", folder.file("take.opus")]).code == 65)
    #expect(folder.names == before)
    // What lies there can be played, apart from the packets that no page holds yet.
    let pages = try OggPage.read(folder.file("take.opus.partial/audio.opus"))
    #expect(pages.count >= 2 + (ms - 1) / 1000 && pages.allSatisfy { !$0.isLast })
  }

  @Test func `pauses and marks of a killed take are known`() throws {
    let live = try LiveTake()
    try live.reach(ms: 100)
    live.process.signal(SIGUSR2)
    try #require(live.process.waitFor("\"event\":\"mark\""))
    try live.pause()
    try live.resume()
    try live.reach(ms: 400)
    live.process.signal(SIGKILL)
    live.process.wait()
    let report = try inspect(live.path).report
    #expect(report.int("pause_count") == 1 && report.objects("marks").count == 1)
    #expect((report.int("duration_ms") ?? 0) >= 350)
  }

  @Test func `a take being recorded can be looked at`() throws {
    let live = try LiveTake()
    try live.reach(ms: 500)
    let report = try inspect(live.path).report
    #expect(report.text("outcome") == "unfinished" && report.flag("recording") == true)
    #expect((450...10_000).contains(report.int("duration_ms") ?? 0))
    let listed = try holdfast(["list", "--json", live.folder.path]).jsonLines().map(Fields.init)
    #expect(listed.map { $0.text("outcome") } == ["recording"])
    try expectSealed(live.stop())
  }

  @Test func `a partial take without a whole packet has no audio, and that is no failure`() throws {
    let folder = try TempFolder()
    _ = try takeKilledAtOnce(in: folder)
    let (said, report) = try inspect(folder.file("take.opus"))
    #expect(said.code == 0 && report.int("effective_frames") == 0 && report.text("outcome") == "unfinished")
    #expect(report.objects("problems").map { $0.text("kind") } == ["no_audio"])
  }
}
