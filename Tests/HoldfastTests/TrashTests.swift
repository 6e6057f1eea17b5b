import Foundation
import Holdfast
import TestSupport
import Testing

/// Discard, trash, restore, by the command.
@Suite struct TrashTests {
  private func restore(_ name: String, in folder: TempFolder, code: Int32 = 0) throws -> Fields {
    let said = try holdfast(["restore", "--json", name], folder: folder.path)
    #expect(said.code == code, "\(said)")
    #expect(
      try Judge.schemaFaults(said.outText, schema: Places.root + "/docs/schema/restore.json") == [])
    if code != 0 { #expect(said.isOneLine, "\(said)") }
    return try Fields(said.jsonLines().first ?? [:])
  }
  private func trash(_ folder: TempFolder, _ more: [String] = [], environment: [String: String?] = [:]) throws
    -> [Fields]
  {
    let said = try holdfast(["list", "--trash", "--json", folder.path] + more, environment: environment)
    #expect(said.code == 0, "\(said)")
    #expect(try Judge.schemaFaults(said.outText, schema: Places.root + "/docs/schema/trash.json") == [])
    return try said.jsonLines().map(Fields.init)
  }
  /// Records at the keyboard until x was pressed twice.
  private func discarded(paused: Bool = false, in folder: TempFolder) throws -> String {
    let live = try LiveTake(in: folder, json: false, terminal: true)
    try #require(live.process.waitFor("recording"))
    usleep(300_000)
    if paused {
      live.process.send(" ")
      try #require(live.process.waitFor("paused"))
    }
    live.process.send("xx")
    let said = live.process.wait(timeout: 20)
    #expect(said.code == 0, "\(said)")
    return said.outText
  }
  /// A sealed take that --force replaced; the take that stands there now.
  private func replaced(in folder: TempFolder) throws -> (old: Data, new: Data) {
    try expectSealed(record(["--input", "tone:440", "--max-ms", "500", "--take-id", "old"], in: folder))
    let old = try contents(folder.file("take.opus"))
    try expectSealed(
      record(["--input", "tone:300", "--max-ms", "700", "--take-id", "new", "--force"], in: folder))
    return (old, try contents(folder.file("take.opus")))
  }
  private func makeWay(in folder: TempFolder) throws {
    for ending in [".opus", ".take.json"] {
      try FileManager.default.moveItem(
        atPath: folder.file("take" + ending), toPath: folder.file("other" + ending))
    }
  }

  @Test(arguments: [false, true])
  func `x twice, another take of that name, and the first comes back whole`(paused: Bool) throws {
    let folder = try TempFolder()
    let told = try discarded(paused: paused, in: folder)
    #expect(told.contains("`holdfast restore \(folder.file("take.opus"))`"), "\(told)")
    let line = try #require(trash(folder).first)
    #expect(line.text("kind") == "discarded" && line.text("outcome") == "unfinished", "\(line)")
    #expect(line.text("name") == "take.opus" && line.text("path")?.exists == true)
    #expect((604_000_000...604_800_000).contains(line.int("remaining_ms") ?? 0))
    let length = try #require(line.int("effective_frames"))
    #expect(length >= 14_000)

    // The name is free at once, and then taken.
    try expectSealed(record(["--input", "tone:440", "--max-ms", "100"], in: folder))
    let new = try contents(folder.file("take.opus"))
    let refused = try restore("take.opus", in: folder, code: 73)
    #expect(refused.text("kind") == "exists" && refused.text("path") == "take.opus")
    #expect(try contents(folder.file("take.opus")) == new)
    #expect(try trash(folder).count == 1)
    try makeWay(in: folder)

    let back = try restore("take.opus", in: folder)
    #expect(back.text("outcome") == "unfinished" && back.int("effective_frames") == length)
    #expect(back.int("others") == 0)
    #expect(try trash(folder).isEmpty)
    let sealed = try recover([folder.file("take.opus")])
    #expect(sealed.said.code == 0 && sealed.lines.first?.int("lost_ms_max") == 0, "\(sealed.said)")
    #expect(sealed.lines.first?.text("ended_by") == "user")
    #expect(sealed.lines.first?.int("pause_count") == (paused ? 1 : 0))
    let frames = try #require(sealed.lines.first?.int("effective_frames"))
    #expect((length - 960...length).contains(frames))
    try expectWhole(folder.file("take.opus"), frames: frames)
    #expect(try holdfast(["verify", folder.file("take.opus")]).code == 0)
  }

  @Test func `a discarded take comes back and goes on`() throws {
    let folder = try TempFolder()
    _ = try discarded(in: folder)
    let before = try restore("take.opus", in: folder).int("effective_frames") ?? 0
    let said = try holdfast([
      "record", "--json", "--continue", folder.file("take.opus"), "--input",
      "file:"
        + Places.testaudio("talk.wav"),
    ])
    let take = try Recorded(said, folder, folder.file("take.opus"))
    try expectSealed(take)
    let frames = take.sealed?.int("effective_frames") ?? 0
    #expect((612_221 + before - 960...612_221 + before + 960).contains(frames), "\(before) \(frames)")
  }

  @Test func `what force replaced comes back sealed, with its manifest`() throws {
    let folder = try TempFolder()
    let (old, new) = try replaced(in: folder)
    let line = try #require(trash(folder).first)
    #expect(line.text("kind") == "replaced" && line.text("outcome") == "complete", "\(line)")
    #expect(line.int("duration_ms") == 500)
    let refused = try restore("take.opus", in: folder, code: 73)
    #expect(refused.text("message")?.contains("rename") == true)
    #expect(try contents(folder.file("take.opus")) == new)
    // A manifest alone is in the way too.
    try FileManager.default.moveItem(atPath: folder.file("take.opus"), toPath: folder.file("other.opus"))
    #expect(try restore("take.opus", in: folder, code: 73).text("path") == "take.take.json")
    try FileManager.default.moveItem(
      atPath: folder.file("take.take.json"), toPath: folder.file("other.take.json"))
    let back = try restore("take.opus", in: folder)
    #expect(back.text("outcome") == "complete" && back.int("duration_ms") == 500)
    #expect(try contents(folder.file("take.opus")) == old)
    #expect(try holdfast(["verify", folder.file("take.opus"), folder.file("other.opus")]).code == 0)
  }

  @Test func `of several the newest comes back, or the one that is named`() throws {
    let folder = try TempFolder()
    for hz in ["300", "400", "500"] {
      let ms = String(hz.dropLast(2)) + "00"
      try expectSealed(record(["--input", "tone:\(hz)", "--max-ms", ms, "--force"], in: folder))
    }
    try FileManager.default.removeItem(atPath: folder.file("take.opus"))
    try FileManager.default.removeItem(atPath: folder.file("take.take.json"))
    let entries = try trash(folder)
    #expect(entries.map { $0.int("duration_ms") } == [300, 400])
    let oldest = try #require(entries.first?.text("entry"))
    let newest = try restore("take.opus", in: folder)
    #expect(newest.int("duration_ms") == 400 && newest.int("others") == 1)
    _ = try restore(oldest, in: folder, code: 73)
    try makeWay(in: folder)
    // The entry as `list --trash` shows it, and as the event's path has it.
    #expect(try restore(".holdfast-trash/" + oldest, in: folder).int("duration_ms") == 300)
    try expectSealed(record(["--input", "tone:440", "--max-ms", "100", "--force"], in: folder))
    let entry = try #require(trash(folder).first?.text("entry"))
    try FileManager.default.removeItem(atPath: folder.file("take.opus"))
    try FileManager.default.removeItem(atPath: folder.file("take.take.json"))
    #expect(try restore(folder.file(entry), in: folder).int("duration_ms") == 300)
  }

  @Test func `a bare name is looked for in the takes folder too`() throws {
    let home = try TempFolder()
    let live = try Running(
      Places.holdfast, ["record", "--realtime", "--input", "tone:440"],
      environment: ["XDG_DATA_HOME": home.path], terminal: true)
    try #require(live.waitFor("recording"))
    usleep(200_000)
    live.send("xx")
    try #require(live.wait(timeout: 20).code == 0)
    let takes = home.file("holdfast/takes")
    let listed = try holdfast(["list", "--trash", "--json"], environment: ["XDG_DATA_HOME": home.path])
    let name = try #require(listed.jsonLines().first.map(Fields.init)?.text("name"))
    let elsewhere = try TempFolder()
    let said = try holdfast(
      ["restore", name], environment: ["XDG_DATA_HOME": home.path], folder: elsewhere.path)
    #expect(said.code == 0 && (takes + "/" + name + ".partial").exists, "\(said)")
  }

  @Test func `what there is no take of is told`() throws {
    let folder = try TempFolder()
    for name in [
      "take.opus", "take", "missing/take.opus", "20261130T172411.897Z-03f2a1", ".holdfast-trash/x",
    ] {
      _ = try restore(name, in: folder, code: 66)
    }
    for arguments in [["restore"], ["restore", "a", "b"], ["restore", ""], ["list", "--empty"]] {
      #expect(try holdfast(arguments, folder: folder.path).code == 64)
    }
    #expect(try trash(folder).isEmpty && folder.names == [])
    #expect(try holdfast(["list", "--trash", folder.file("missing")]).code == 66)
    try FileManager.default.createSymbolicLink(
      atPath: folder.file(".holdfast-trash"), withDestinationPath: folder.path)
    let said = try holdfast(["list", "--trash", folder.path])
    #expect(said.code == 74 && said.isOneLine, "\(said)")
    _ = try restore("take.opus", in: folder, code: 74)
  }

  @Test func `what recovery cut off is listed as that, and isn't a take`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 1500, in: folder)
    try change(path + ".partial/audio.opus") { $0.append(contentsOf: Array("OggS torn".utf8)) }
    #expect(try recover([path]).said.code == 0)
    let line = try #require(trash(folder).first)
    #expect(line.text("kind") == "rest" && line.text("message")?.contains("audio.cut") == true, "\(line)")
    let entry = try #require(line.text("entry"))
    _ = try restore(entry, in: folder, code: 66)
    let shown = try holdfast(["list", "--trash", folder.path])
    #expect(shown.outText.contains("recovery cut off"), "\(shown)")
  }

  @Test func `emptying deletes what is ours and leaves the rest, and the takes`() throws {
    let folder = try TempFolder()
    let new = try replaced(in: folder).new
    try FileManager.default.createDirectory(
      atPath: folder.file(".holdfast-trash/20260301T000000.000Z-0000a1"), withIntermediateDirectories: false)
    try folder.write(".holdfast-trash/20260301T000000.000Z-0000a1/readme", "theirs")
    #expect(try trash(folder).map { $0.text("kind") } == ["rest", "replaced"])
    let gone = try trash(folder, ["--empty"])
    #expect(gone.map { $0.text("name") } == ["take.opus"] && gone.allSatisfy { $0.flag("deleted") == true })
    #expect(try trash(folder).map { $0.text("kind") } == ["rest"])
    #expect(try contents(folder.file("take.opus")) == new)
    #expect(folder.file(".holdfast-trash/20260301T000000.000Z-0000a1/readme").exists)
    #expect(try trash(folder, ["--empty"]).isEmpty)
  }

  /// The environment of a process whose wall clock is `days` ahead.
  private func ahead(days: Double) throws -> [String: String?] {
    [
      "LD_PRELOAD": try Tool.preload("clock_jump"),
      "CLOCK_BASE": "\(Date().timeIntervalSince1970 + days * 86_400)",
    ]
  }
  /// As if the machine had been started anew since.
  private func forgetBoot(_ folder: TempFolder) throws {
    for name in folder.names where name.hasSuffix("/when") {
      try change(folder.file(name)) { $0 = Data("boot 0-0 1\n".utf8) }
    }
  }

  @Test func `old entries go with list and with the next take, young ones stay`() throws {
    for byRecording in [false, true] {
      let folder = try TempFolder()
      _ = try replaced(in: folder)
      try forgetBoot(folder)
      #expect(try trash(folder, environment: ahead(days: 6.9)).count == 1)
      if byRecording {
        try expectSealed(
          record(
            ["--input", "tone:440", "--max-ms", "100"], to: "b.opus", in: folder,
            environment: ahead(days: 7.1)))
      } else {
        #expect(try trash(folder, environment: ahead(days: 7.1)).isEmpty)
      }
      #expect(!folder.names.contains { $0.hasPrefix(".holdfast-trash/2") }, "\(folder.names)")
    }
  }

  @Test func `a clock that is a year ahead, or behind, empties nothing of this boot`() throws {
    let folder = try TempFolder()
    _ = try discarded(in: folder)
    for days in [366.0, -366.0, 20_000] {
      let kinds = try trash(folder, environment: ahead(days: days)).map { $0.text("kind") }
      #expect(kinds.filter { $0 == "discarded" }.count == 1, "\(days): \(kinds)")
      try expectSealed(
        record(
          ["--input", "tone:440", "--max-ms", "100", "--force"], to: "b.opus", in: folder,
          environment: ahead(days: days)))
    }
    try forgetBoot(folder)
    #expect(try trash(folder, environment: ahead(days: -366)).count >= 1)
    #expect(try restore("take.opus", in: folder).text("outcome") == "unfinished")
  }

  @Test func `an unfinished take that is left over is discarded by the library, and comes back`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 500, in: folder)
    let entry = try TakeTrash.discard(Path(path))
    #expect(!(path + ".partial").exists && entry.text.exists)
    #expect(throws: RecorderFailure.self) { try TakeTrash.discard(Path(path)) }
    let live = try LiveTake(in: folder)
    #expect {
      try TakeTrash.discard(Path(path))
    } throws: { ($0 as? RecorderFailure)?.code == 75 }
    #expect {
      try TakeTrash.restore(Path(path))
    } throws: { ($0 as? RecorderFailure)?.code == 73 }
    try expectSealed(live.stop())
    try makeWay(in: folder)
    let back = try TakeTrash.restore(Path(path))
    #expect(back.isUnfinished && back.take.durationMs >= 480)
    #expect(try recover([path]).said.code == 0)
  }
}
