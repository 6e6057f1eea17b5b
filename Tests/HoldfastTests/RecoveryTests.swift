import Foundation
import TestSupport
import Testing

/// A killed take comes back as sealing would have left it.
@Suite struct RecoveryTests {
  @Test(arguments: [45, 200, 990, 1010, 2345, 6000])
  func `a killed take is sealed with every whole packet, byte for byte`(ms: Int) throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: ms, in: folder)
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && lines.count == 1, "\(said)")
    #expect(lines[0].text("event") == "sealed" && lines[0].text("outcome") == "recovered")
    let sha256 = try Judge.sha256(path)
    #expect(lines[0].text("sha256") == sha256 && lines[0].int("lost_ms_max") == 50)
    #expect(ms - (lines[0].int("duration_ms") ?? 0) <= 50, "\(said)")
    let reference = try undisturbedTake(ms: ms + 40, in: folder)
    try expectRecovered(path, like: reference)
    // Once more: nothing to do, nothing changed.
    let before = try contents(path)
    #expect(try recover([path]).said.code == 0)
    #expect(try recover([folder.path]).said.code == 0)
    #expect(try contents(path) == before)
  }

  @Test func `a recorder that was killed before its first packet leaves a take of no length`() throws {
    let folder = try TempFolder()
    let path = try takeKilledAtOnce(in: folder)
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && lines.first?.int("effective_frames") == 0, "\(said)")
    try expectWhole(path, frames: 0)
    #expect(try holdfast(["verify", path]).code == 0)
  }

  @Test func `pauses, marks, context and limits are the ledger's`() throws {
    let live = try LiveTake([
      "--input", "tone:440", "--session", "s", "--round", "3", "--min-valid-ms", "60000",
    ])
    try live.reach(ms: 200)
    live.process.signal(SIGUSR2)
    try #require(live.process.waitFor("\"event\":\"mark\""))
    try live.pause()
    try live.resume()
    try live.reach(ms: 1500)
    try live.pause()
    live.process.signal(SIGKILL)
    live.process.wait()
    let before = try inspect(live.path).report
    let (said, lines) = try recover([live.path])
    let sealed = try #require(lines.first, "\(said)")
    #expect(sealed.int("pause_count") == 2 && sealed.flag("too_short") == true)
    #expect(sealed.object("context").text("session") == "s" && sealed.object("context").int("round") == 3)
    let after = try inspect(live.path).report
    #expect(after.text("outcome") == "recovered" && after.text("measured_on") == "manifest")
    for key in ["pauses", "marks"] {
      for field in ["at_ms", "length_ms"] {
        #expect(before.objects(key).map { $0.int(field) } == after.objects(key).map { $0.int(field) })
      }
    }
    #expect(after.objects("interruptions").map { $0.text("reason") } == ["killed"])
    // The ledger's levels, and the last second measured, are what the decoded audio has.
    for (a, b) in zip(before.numbers("bars"), after.numbers("bars")) { #expect(abs(a - b) < 0.02) }
    let (x, y) = (before.object("levels"), after.object("levels"))
    #expect(abs((x.number("rms_db") ?? 0) - (y.number("rms_db") ?? 99)) < 0.1, "\(x) \(y)")
  }

  @Test func `a take that is being recorded is refused, and in a folder passed over`() throws {
    let live = try LiveTake()
    try live.reach(ms: 300)
    let (said, lines) = try recover([live.path])
    #expect(said.code == 75 && lines.first?.text("kind") == "busy", "\(said)")
    #expect(try recover([live.folder.path]).said.code == 0)
    try expectSealed(live.stop())
  }

  @Test func `a name without an unfinished take, a missing one and a folder without any`() throws {
    let folder = try TempFolder()
    #expect(try recover([folder.file("none.opus")]).said.code == 66)
    #expect(try recover([folder.path]).said.code == 0)
    #expect(try recover([], environment: ["XDG_DATA_HOME": folder.path]).said.code == 0)
    #expect(try recover([folder.path, folder.path]).said.code == 64)
  }

  @Test func `without a name all takes of the takes folder are recovered, and one bad one stops none`() throws
  {
    let folder = try TempFolder()
    let takes = folder.file("holdfast/takes")
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: true)
    for name in ["a.opus", "b.opus"] {
      let path = try killedTake(ms: 300, in: folder)
      try FileManager.default.moveItem(atPath: path + ".partial", toPath: "\(takes)/\(name).partial")
    }
    try FileManager.default.createDirectory(
      atPath: takes + "/c.opus.partial", withIntermediateDirectories: false)
    let (said, lines) = try recover([], environment: ["XDG_DATA_HOME": folder.path])
    #expect(said.code == 1 && lines.map { $0.text("event") } == ["sealed", "sealed", "error"], "\(said)")
    #expect((takes + "/a.opus").exists && (takes + "/b.opus").exists)
    #expect((takes + "/c.opus.unreadable").exists)
    let listed = try holdfast(["list", "--json", takes]).jsonLines().map(Fields.init)
    #expect(listed.map { $0.text("outcome") } == ["recovered", "recovered", "unreadable"])
  }

  @Test func `where another file has taken the name the take gets the next free one`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 500, in: folder)
    try Data("somebody else's".utf8).write(to: URL(fileURLWithPath: path))
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && lines.first?.text("path") == folder.file("take-2.opus"), "\(said)")
    #expect(try contents(path) == Data("somebody else's".utf8))
    try expectWhole(folder.file("take-2.opus"))
  }

  // MARK: what others do to it

  @Test func `a take whose lock somebody removed is still known as being recorded`() throws {
    let live = try LiveTake()
    try live.reach(ms: 300)
    try FileManager.default.removeItem(atPath: live.path + ".partial/lock")
    #expect(try recover([live.path]).said.code == 75)
    #expect(try holdfast(["record", "--input", "tone:440", "--continue", live.path]).code == 75)
    #expect(try holdfast(["list", "--json", live.folder.path]).outText.contains("\"recording\""))
    try expectSealed(live.stop())
  }

  @Test func `another take's ledger costs no page`() throws {
    let folder = try TempFolder()
    let other = try killedTake(ms: 500, in: folder, id: "other")
    try FileManager.default.moveItem(atPath: other + ".partial", toPath: folder.file("other.opus.partial"))
    let path = try killedTake(ms: 2500, in: folder)
    try FileManager.default.removeItem(atPath: path + ".partial/ledger")
    try FileManager.default.copyItem(
      atPath: folder.file("other.opus.partial/ledger"), toPath: path + ".partial/ledger")
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && (lines.first?.int("duration_ms") ?? 0) >= 2400, "\(said)")
    #expect(try holdfast(["verify", path]).code == 0)
  }

  @Test func `a damaged last page is silence where the tails go on behind it`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 3900, in: folder, settled: true)
    try change(path + ".partial/audio.opus") { data in
      let last = pageStarts(data).last ?? 0
      data[last + 300] ^= 0x11
    }
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && (lines.first?.int("duration_ms") ?? 0) >= 3850, "\(said)")
    #expect((lines.first?.int("lost_ms_max") ?? 0) >= 1000)
    try expectWhole(path, frames: lines.first?.int("effective_frames"))
    #expect(try inspect(path).report.objects("gaps").first?.int("length_ms") == 1000)
  }

  @Test func `files of somebody else's in the working folder don't hold the name`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 500, in: folder)
    try Data("hi".utf8).write(to: URL(fileURLWithPath: path + ".partial/notes.txt"))
    let said = try recover([path]).said
    #expect(said.code == 0 && said.errText.contains("trash"), "\(said)")
    #expect(!(path + ".partial").exists)
    #expect(folder.names.contains { $0.hasSuffix("notes.txt") })
    #expect(
      try holdfast(["record", "--input", "tone:440", "--max-ms", "100", "--force", "-o", path]).code == 0)
  }

  @Test func `something else under the working folder's name is told as that`() throws {
    let folder = try TempFolder()
    try Data().write(to: URL(fileURLWithPath: folder.file("take.opus.partial")))
    let said = try holdfast([
      "record", "--input", "tone:440", "--max-ms", "9", "-o", folder.file("take.opus"),
    ])
    #expect(said.code == 73 && !said.errText.contains("recover") && said.isOneLine, "\(said)")
  }

  @Test(arguments: [240, 242]) func `a take with the longest name can be set aside`(length: Int) throws {
    let folder = try TempFolder()
    let name = String(repeating: "n", count: length) + ".opus"
    try FileManager.default.createDirectory(
      atPath: folder.file(name + ".partial"), withIntermediateDirectories: false)
    #expect(try recover([folder.file(name)]).said.code == 65)
    #expect(folder.names.contains { $0.contains(".unreadable") })
  }

  @Test func `a take killed before it was started, and gone on with, verifies`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 45, in: folder)
    try change(path + ".partial/ledger") { data in
      data = data.prefix(16 + 24 + Int(data[20]) + Int(data[21]) << 8)
    }
    let said = try holdfast(
      ["record", "--continue", path, "--input", "-"], input: .bytes(pack(movingTone(4_800), .s16)))
    #expect(said.code == 0, "\(said)")
    #expect(try holdfast(["verify", path]).code == 0)
  }
}
