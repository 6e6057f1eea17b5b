import Foundation
import TestSupport
import Testing

/// Case I02: readers that leave, descriptors that are closed, and a terminal that is left as it was found.
@Suite struct TerminalTests {
  private let short = ["record", "--input", "tone:440", "--max-ms", "2000", "--no-ui"]
  /// Runs a shell line; `$0` is the command, `$1` the take.
  private func shell(_ line: String, _ folder: TempFolder) throws -> Finished {
    try run("bash", ["-c", line, Places.holdfast, folder.file("take.opus")])
  }
  private static let take = "\"$0\" record --input tone:440 --max-ms 2000 -o \"$1\""

  @Test func `a reader of the events that leaves changes nothing`() throws {
    let folder = try TempFolder()
    let said = try shell(
      Self.take + " --json --realtime --max-ms 700 | head -n 1; echo ${PIPESTATUS[0]}", folder)
    #expect(said.outLines.last == "0" && said.err.isEmpty, "\(said)")
    try expectWhole(folder.file("take.opus"), frames: 33_600)
  }

  @Test func `a reader of inspect that leaves gets no trace of us`() throws {
    let folder = try TempFolder()
    try expectSealed(record(["--input", "tone:440", "--max-ms", "100"], in: folder))
    let many = Array(repeating: "\"$1\"", count: 40).joined(separator: " ")
    let said = try shell("\"$0\" inspect --json \(many) | head -c 1; echo; echo ${PIPESTATUS[0]}", folder)
    #expect(["0", "141"].contains(said.outLines.last) && said.err.isEmpty, "\(said)")
  }

  @Test(arguments: [
    "<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full",
  ])
  func `closed and full descriptors never harm the take`(redirect: String) throws {
    for json in ["", " --json"] {
      let folder = try TempFolder()
      let said = try shell("\(Self.take)\(json) \(redirect)", folder)
      #expect(said.code == 0, "\(said)")
      try expectWhole(folder.file("take.opus"), frames: 96_000)
      let manifest = try Fields(file: folder.file("take.take.json"))
      #expect(try manifest.text("sha256") == Judge.sha256(folder.file("take.opus")))
    }
  }

  @Test(arguments: [">&-", "2>&-", ">&- 2>&-"]) func `an error is still an exit code with nobody to read it`(
    redirect: String
  ) throws {
    let folder = try TempFolder()
    try folder.write("take.opus", "mine")
    #expect(try shell("\(Self.take) \(redirect)", folder).code == 73)
    #expect(FileManager.default.contents(atPath: folder.file("take.opus")) == Data("mine".utf8))
  }

  @Test func `a log has no escapes and no carriage returns, and few lines`() throws {
    let folder = try TempFolder()
    let said = try shell("\(Self.take) --realtime --max-ms 600 2>&1", folder)
    #expect(said.code == 0 && said.outLines.count == 1, "\(said)")
    #expect(!said.out.contains(0x1B) && !said.out.contains(0x0D))
  }

  @Test func `a dumb terminal gets no escapes, a real one a live line`() throws {
    for (term, drawn) in [("dumb", false), ("xterm", true)] {
      let live = try LiveTake(
        ["--input", "tone:440", "--max-ms", "500"], environment: ["TERM": term], json: false, terminal: true)
      let said = live.process.wait(timeout: 20)
      #expect(said.code == 0 && said.out.contains(0x1B) == drawn, "\(said)")
      #expect(said.outText.contains("sealed") && said.outText.contains("00:00"))
      try expectWhole(live.path, frames: 24_000)
    }
  }

  @Test func `no-ui draws nothing and reads no keys`() throws {
    let live = try LiveTake(
      ["--input", "tone:440", "--max-ms", "500", "--no-ui"], json: false, terminal: true)
    live.process.send("q")
    let said = live.process.wait(timeout: 20)
    #expect(said.code == 0 && !said.out.contains(0x1B))
    try expectWhole(live.path, frames: 24_000)
  }

  @Test func `space pauses, m marks, q stops`() throws {
    let live = try LiveTake(json: false, terminal: true)
    try #require(live.process.waitFor("recording"))
    live.process.send("m")
    live.process.send(" ")
    try #require(live.process.waitFor("paused"))
    live.process.send(" ")
    usleep(200_000)
    live.process.send("q")
    #expect(live.process.wait(timeout: 20).code == 0)
    let report = try inspect(live.path).report
    #expect(report.int("pause_count") == 1 && report.objects("marks").count == 1)
    #expect(report.text("ended_by") == "user")
  }

  @Test func `x twice discards into the trash, x once does nothing`() throws {
    let live = try LiveTake(json: false, terminal: true)
    try #require(live.process.waitFor("recording"))
    live.process.send("x")
    usleep(100_000)
    live.process.send("m")  // between them: they are no pair
    live.process.send("x")
    usleep(100_000)
    #expect(live.process.isRunning)
    live.process.send("x")
    let said = live.process.wait(timeout: 20)
    #expect(said.code == 0 && said.outText.contains("trash"), "\(said)")
    let names = live.folder.names
    #expect(!names.contains { $0.hasPrefix("take") })
    #expect(
      names.contains { $0.hasPrefix(".holdfast-trash/") && $0.hasSuffix("take.opus.partial/audio.opus") })
  }

  @Test(arguments: ["q", "\u{3}", "\u{4}", "\u{1C}", "xx", "TERM"])
  func `the terminal is left as it was`(ending: String) throws {
    let folder = try TempFolder()
    let line = """
      trap : INT QUIT; stty -a >"$2/before"
      "$0" record --realtime --input tone:440 -o "$1"; echo ended $?; stty -a >"$2/after"
      """
    let process = try Running(
      "bash", ["-c", line, Places.holdfast, folder.file("take.opus"), folder.path], terminal: true)
    try #require(process.waitFor("recording"))
    usleep(100_000)
    if ending == "TERM" {
      _ = try run("pkill", ["-TERM", "-P", "\(process.pid)"])
    } else {
      process.send(ending)
    }
    let said = process.wait(timeout: 20)
    #expect(said.outText.contains("ended 0"), "\(said)")
    let (before, after) = (folder.file("before"), folder.file("after"))
    #expect(FileManager.default.contents(atPath: before) == FileManager.default.contents(atPath: after))
    #expect(FileManager.default.contents(atPath: before)?.isEmpty == false)
  }
}
