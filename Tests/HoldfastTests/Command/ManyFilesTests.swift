import Foundation
import TestSupport
import Testing

/// Several files at once, lists of files, and what is shown meanwhile.
@Suite struct ManyFilesTests {
  private let folder: TempFolder
  init() throws {
    folder = try TempFolder("many")
    for (i, seconds) in [3, 0, 1, 2, 0].enumerated() {
      try Wav(Tone.sine(48_000 * seconds + 480, db: -20)).write(to: folder.file("\(i).wav"))
    }
    try folder.write("bad.wav", "no audio\n")
  }
  private var names: [String] { ["0.wav", "bad.wav", "1.wav", "2.wav", "missing.wav", "3.wav", "4.wav"] }

  @Test(arguments: ["inspect", "verify"])
  func `any number of jobs gives the same, in the order of the arguments`(
    command: String
  ) throws {
    let alone = try holdfast([command, "--jobs", "1", "--json"] + names, folder: folder.path)
    let lines = alone.outLines
    #expect(alone.code == 66 && lines.count == names.count, "\(alone)")
    #expect(try alone.jsonLines().map { $0["path"] as? String } == names)
    for jobs in ["2", "3", "16"] {
      let several = try holdfast([command, "-j", jobs, "--json"] + names, folder: folder.path)
      #expect(several.out == alone.out && several.err == alone.err && several.code == alone.code)
    }
    let text = try holdfast([command, "-j1"] + names, folder: folder.path)
    #expect(try holdfast([command, "--jobs=7"] + names, folder: folder.path).out == text.out)
    for jobs in ["0", "-1", "x", "1025"] {
      #expect(try holdfast([command, "--jobs", jobs] + names, folder: folder.path).code == 64)
    }
  }

  @Test func `names come from a list: lines, objects, NUL, behind the operands`() throws {
    let odd = ["a\nb.wav", "{c.wav", " d .wav", "-e.wav"]
    for name in odd {
      try FileManager.default.copyItem(atPath: folder.file("4.wav"), toPath: folder.file(name))
    }
    func paths(_ arguments: [String], _ list: String) throws -> [String?] {
      let said = try holdfast(
        ["inspect", "--json", "--files-from"] + arguments, input: .bytes(Data(list.utf8)), folder: folder.path
      )
      #expect(said.code == 0, "\(said)")
      return try said.jsonLines().map { $0["path"] as? String }
    }
    #expect(
      try paths(["-", "4.wav"], "0.wav\n\n -\n".replacing(" -", with: "1.wav")) == [
        "4.wav", "0.wav", "1.wav",
      ])
    #expect(
      try paths(["-"], "0.wav\n{\"path\":\"{c.wav\",\"x\":[1]}\n d .wav\n-e.wav") == [
        "0.wav", "{c.wav", " d .wav", "-e.wav",
      ])
    #expect(try paths(["-"], "{\"path\":\"x\",\"path_hex\":\"610a622e776176\"}\n") == ["a\nb.wav"])
    #expect(try paths(["-", "--null"], odd.joined(separator: "\0") + "\0") == odd)
    #expect(try paths(["-", "-0"], "") == [])
    try folder.write("list", "3.wav\n2.wav\n")
    #expect(try paths(["list"], "") == ["3.wav", "2.wav"])
    // What one command says is what the next takes.
    let takes = try TempFolder()
    for name in ["x.opus", "y.opus"] {
      _ = try record(["--input", "tone:440", "--max-ms", "50"], to: name, in: takes)
    }
    let listed = try holdfast(["list", "--json", takes.path]).out
    let verified = try holdfast(["verify", "--files-from", "-", "--json"], input: .bytes(listed))
    #expect(try verified.code == 0 && verified.jsonLines().count == 2, "\(verified)")
    let inspected = try holdfast(["inspect", "--files-from", "-", "--json"], input: .bytes(verified.out))
    #expect(try inspected.code == 0 && inspected.jsonLines().count == 2)
  }

  @Test func `a line that names no file is an error of its own`() throws {
    for (line, words) in [
      ("{\"path\":3}", "no path"), ("{\"event\":\"error\"}", "no path"), ("{oops", "no JSON object"),
      ("{\"path_hex\":\"+1\"}", "path_hex"), ("{\"path_hex\":\"abc\"}", "path_hex"), ("a\0b", "--null"),
    ] {
      let list = "4.wav\n\(line)\n2.wav\n"
      let said = try holdfast(
        ["inspect", "--json", "--files-from", "-"], input: .bytes(Data(list.utf8)), folder: folder.path)
      #expect(
        said.code == 64 && said.isOneLine && said.errText.contains("-:2: ") && said.errText.contains(words),
        "\(said)")
      #expect(said.outLines.count == 3)
    }
    for arguments in [["--files-from", "nosuch"], ["--null"], ["--files-from", "-", "-"], ["-", "-"]] {
      let said = try holdfast(["inspect"] + arguments, folder: folder.path)
      #expect(said.code == 64 && said.isOneLine, "\(arguments): \(said)")
    }
    #expect(try holdfast(["inspect", "--files-from", "."], folder: folder.path).code == 74)
  }

  @Test func `a list is worked on as it comes`() throws {
    let process = try Running(
      Places.holdfast, ["inspect", "--json", "--files-from", "-"], input: .pipe, folder: folder.path)
    for name in ["4.wav", "2.wav", "0.wav"] {
      process.send(name + "\n")
      try #require(process.waitFor("\"path\":\"\(name)\""))
    }
    #expect(process.isRunning)
    process.closeInput()
    #expect(process.wait().code == 0)
  }

  @Test func `a thousand files, memory stays small`() throws {
    let list = (0..<1_000).map { _ in "4.wav\n" }.joined()
    let said = try holdfast(
      ["inspect", "--json", "--jobs", "4", "--files-from", "-"], input: .bytes(Data(list.utf8)),
      folder: folder.path)
    #expect(said.code == 0 && said.outLines.count == 1_000)
    #expect(Set(said.outLines).count == 1 && said.peakMemory < 100_000_000)
  }

  @Test func `a reader that leaves ends the work`() throws {
    let script = "yes 0.wav | \"$0\" inspect --json --files-from - | head -n 2 | wc -l; echo ${PIPESTATUS[1]}"
    let said = try run("bash", ["-c", script, Places.holdfast], folder: folder.path)
    #expect(said.outLines == ["2", "0"] && !said.timedOut, "\(said)")
  }

  // MARK: progress

  @Test func `a bar on a terminal, gone at the end, nothing of it in the output`() throws {
    #expect(mkfifo(folder.file("slow"), 0o600) == 0)
    let process = try Running(
      "bash", ["-c", "exec \"$0\" inspect 4.wav slow >out", Places.holdfast],
      environment: ["TERM": "xterm", "LC_ALL": "C.UTF-8"], folder: folder.path, terminal: true)
    try #require(process.waitFor("inspect  "))
    try #require(process.waitFor("50 %, 1 of 2"))
    let wav = try Data(contentsOf: URL(fileURLWithPath: folder.file("2.wav")))
    try #require(FileHandle(forWritingAtPath: folder.file("slow"))).write(contentsOf: wav)
    let said = process.wait()
    #expect(said.code == 0 && said.outText.contains("█") && said.outText.hasSuffix("\r\u{1B}[K"), "\(said)")
    let out = try String(contentsOfFile: folder.file("out"), encoding: .utf8)
    #expect(!out.contains("\u{1B}") && out.contains("NAME\n") && !out.contains("█░"))
  }
  @Test func `export has a bar too, and json nothing`() throws {
    #expect(mkfifo(folder.file("slow"), 0o600) == 0)
    for json in [false, true] {
      let process = try Running(
        "bash",
        ["-c", "exec \"$0\" export slow -o out.flac --force \(json ? "--json" : "")", Places.holdfast],
        environment: ["TERM": "xterm"], folder: folder.path, terminal: true)
      if json { usleep(1_000_000) } else { try #require(process.waitFor("export  ")) }
      let wav = try Data(contentsOf: URL(fileURLWithPath: folder.file("2.wav")))
      try #require(FileHandle(forWritingAtPath: folder.file("slow"))).write(contentsOf: wav)
      let said = process.wait()
      #expect(
        said.code == 0 && said.out.contains(0x1B) == !json && said.outText.contains("exported"), "\(said)")
    }
  }
  @Test func `plain lines elsewhere, after a while, and nothing with json`() throws {
    #expect(mkfifo(folder.file("slow"), 0o600) == 0)
    for json in [[], ["--json"]] {
      let process = try Running(Places.holdfast, ["verify", "slow"] + json, folder: folder.path)
      usleep(6_000_000)
      #expect(String(decoding: process.err, as: UTF8.self) == (json.isEmpty ? "verify: 0 %\n" : ""))
      try #require(FileHandle(forWritingAtPath: folder.file("slow"))).write(contentsOf: Data("x".utf8))
      #expect(process.wait().code == 65)
    }
    // What is quick has none.
    let said = try holdfast(["inspect", "0.wav", "4.wav"], folder: folder.path)
    #expect(said.err.isEmpty)
  }
}
