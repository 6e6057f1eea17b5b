import Foundation
import TestSupport
import Testing

/// Issue 10, "To show" 2 and 3: every odd file through every command that reads files, and output that can't be written.
@Suite struct EveryCaseTests {
  /// Exit codes that a file may bring about.
  private static let codes: Set<Int32> = [0, 64, 65, 66, 73]

  /// The files of a group, with their bytes' digest.
  private func files(_ group: Character) throws -> [String: String] {
    let folder = try Cases.folder(group)
    let names = FileManager.default.subpaths(atPath: folder) ?? []
    var files: [String: String] = [:]
    for name in names where name.contains("/") {
      var isFolder: ObjCBool = false
      let path = folder + "/" + name
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
        continue
      }
      files[path] = try Judge.sha256(path)
    }
    return files
  }
  /// It ended by itself, in time, with a code of the contract, and said only lines of its own on standard error.
  private func expectOrderly(
    _ said: Finished, _ what: String, warns: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      said.signal == nil && !said.timedOut && Self.codes.contains(said.code), "\(what): \(said)",
      sourceLocation: sourceLocation)
    #expect(said.peakMemory < 200_000_000, "\(what): \(said.peakMemory)", sourceLocation: sourceLocation)
    // What `record` warns of while it hears it is no error.
    for line in said.errText.split(separator: "\n") where !warns {
      #expect(
        line.hasPrefix("holdfast: ") || line.hasPrefix("note: "), "\(what): \(line)",
        sourceLocation: sourceLocation)
    }
    if said.code != 0 {
      #expect(!said.err.isEmpty || !said.out.isEmpty, "\(what)", sourceLocation: sourceLocation)
    }
    let controls = (said.outText + said.errText).unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" }
    #expect(!controls, "\(what): \(said)", sourceLocation: sourceLocation)
  }

  @Test(arguments: ["C", "E", "G", "I"] as [Character]) func `each file through each command`(
    group: Character
  ) throws {
    let all = try files(group)
    #expect(all.count >= 9)
    let scratch = try TempFolder("every")
    var exported = 0
    for path in all.keys.sorted() {
      let looked = try inspect(path)
      expectOrderly(looked.said, "inspect \(path)")
      let card = try holdfast(["inspect", "--", path])
      expectOrderly(card, "inspect \(path)")
      #expect(card.code == looked.said.code)
      let verified = try holdfast(["verify", "--json", "--", path])
      expectOrderly(verified, "verify \(path)")
      #expect(verified.code != 0)  // none of them is a take
      let table = try holdfast(["inspect", "-j2", "--", path, path])
      expectOrderly(table, "inspect \(path) twice")
      #expect(table.code == card.code)

      let wav = scratch.file("out.wav")
      let made = try holdfast(["export", "--json", "-o", wav, "--", path])
      expectOrderly(made, "export \(path)")
      #expect(wav.exists == (made.code == 0), "\(made)")
      if made.code == 0 {
        exported += 1
        let frames = try #require(made.jsonLines().first.map(Fields.init)?.int("frames"))
        #expect(looked.said.code == 65 || frames == looked.report.int("frames"), "\(path)")
        try FileManager.default.removeItem(atPath: wav)
      } else if looked.said.code == 0 {
        // Nothing but an empty stretch is refused of what is whole.
        #expect(looked.report.int("frames") == 0, "\(path): \(made)")
      }
      let heard = scratch.file("heard.wav")
      let played = try holdfast(["play", "--json", "--output", "file:" + heard, "--", path])
      expectOrderly(played, "play \(path)")
      try? FileManager.default.removeItem(atPath: heard)
      let taken = try holdfast([
        "record", "--json", "--input", "file:" + path, "-o", scratch.file("t.opus"), "--force",
      ])
      expectOrderly(taken, "record \(path)", warns: true)
      #expect(scratch.names.allSatisfy { !$0.hasPrefix(".holdfast-export") })
    }
    #expect(exported >= 3)

    // What is repaired is made beside a copy; of the copies themselves none changes.
    for path in all.keys.sorted() {
      let copy = scratch.file("copy.opus")
      try? FileManager.default.removeItem(atPath: copy)
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      let said = try holdfast(["recover", copy])
      expectOrderly(said, "recover \(path)")
      #expect(try Judge.sha256(copy) == all[path])
      let repaired = scratch.file("copy.recovered.opus")
      #expect(repaired.exists == said.outText.contains("repaired"), "\(path): \(said)")
      if repaired.exists {
        #expect(try inspect(repaired).said.code == 0, "\(path)")
        try FileManager.default.removeItem(atPath: repaired)
      }
    }
    for (path, digest) in all { #expect(try Judge.sha256(path) == digest, "\(path)") }
  }

  /// Case I04 by the bytes of the names: a shell's glob, and the objects that come of it.
  @Test func `names of any bytes go through lists and objects`() throws {
    let folder = try Cases.folder("I") + "/I04"
    let script = "printf '%s\\0' * | \"$0\" inspect --files-from - --null --json"
    let said = try run("bash", ["-c", script, Places.holdfast], environment: ["LC_ALL": "C"], folder: folder)
    let reports = try said.jsonLines().map(Fields.init)
    #expect(said.code == 0 && said.err.isEmpty && reports.count == 11, "\(said)")
    #expect(reports.compactMap { $0.text("path_hex") } == ["626164ff627974652e776176"])
    // What it said of them names them again, byte for byte.
    let again = try holdfast(
      ["inspect", "--files-from", "-", "--json"], input: .bytes(said.out), folder: folder)
    #expect(again.out == said.out && again.code == 0)
    let all = try run(
      "bash", ["-c", "\"$0\" inspect -- *; \"$0\" verify -- *", Places.holdfast], folder: folder)
    let rows = all.outLines.filter { $0.hasPrefix("00:") }
    #expect(rows.count == 22 && rows.allSatisfy { $0.hasSuffix(".wav") || $0.hasSuffix(".wav ") }, "\(all)")
  }

  // MARK: output that can't be written

  /// A folder with a take, a partial take and something in the trash.
  private func takes() throws -> TempFolder {
    let folder = try TempFolder("takes")
    for _ in 0..<2 {
      _ = try record(["--input", "tone:440", "--max-ms", "50", "--force"], in: folder)
    }
    let live = try LiveTake(in: folder, to: "dead.opus")
    try live.reach(ms: 100)
    live.process.signal(SIGKILL)
    live.process.wait()
    return folder
  }
  private static let commands = [
    "inspect take.opus", "inspect take.opus take.opus", "inspect --json take.opus", "verify take.opus",
    "verify --json take.opus", "list .", "list --json .", "list --trash .", "devices", "devices --json",
    "help record",
    "help --man", "--version", "export take.opus -o a.wav --force",
    "export --json take.opus -o a.wav --force",
    "play take.opus --output file:$RANDOM.wav", "play --json take.opus --output file:$RANDOM.wav",
  ]
  private func shell(_ line: String, _ folder: TempFolder, timeout: Double = 30) throws -> Finished {
    try run("bash", ["-c", line, Places.holdfast], folder: folder.path, timeout: timeout)
  }

  @Test func `closed, full and deserted outputs`() throws {
    let folder = try takes()
    for command in Self.commands {
      for redirect in [">&-", "2>&-", ">&- 2>&-", "<&-", "2>/dev/full"] {
        let said = try shell("\"$0\" \(command) \(redirect)", folder)
        #expect(said.code == 0 && said.err.isEmpty, "\(command) \(redirect): \(said)")
      }
      let left = try shell("\"$0\" \(command) | head -n 1; echo ${PIPESTATUS[0]}", folder)
      #expect(left.outLines.last == "0" && left.err.isEmpty, "\(command): \(left)")
      let none = try shell("\"$0\" \(command) | true; echo ${PIPESTATUS[0]}", folder)
      #expect(none.outLines.last == "0" && none.err.isEmpty, "\(command): \(none)")
      let full = try shell("\"$0\" \(command) >/dev/full", folder)
      let prints = try !shell("\"$0\" \(command)", folder).out.isEmpty
      #expect(full.code == (prints ? 74 : 0) && (!prints || full.isOneLine), "\(command): \(full)")
    }
    // What is done is done, whoever hears of it.
    let recovered = try shell("\"$0\" recover dead.opus >&-", folder)
    #expect(recovered.code == 0 && folder.file("dead.opus").exists)
    let restored = try shell(
      "\"$0\" list --trash . >&- && mv take.opus x.opus && mv take.take.json x.take.json && \"$0\" restore take.opus | true",
      folder)
    #expect(restored.code == 0 && folder.file("take.opus").exists, "\(restored)")
  }

  @Test func `a full pipe is waited for, also one that doesn't block`() throws {
    let folder = try takes()
    let many = Array(repeating: "take.opus", count: 200).joined(separator: " ")
    let whole = try shell("\"$0\" inspect --json \(many)", folder)
    #expect(whole.code == 0 && whole.out.count > 200_000)
    let slow = try shell("\"$0\" inspect --json \(many) | (sleep 1; cat)", folder)
    #expect(slow.out == whole.out && slow.err.isEmpty)
    let flags =
      "import fcntl, os, sys; fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK); os.execv(sys.argv[1], sys.argv[1:])"
    let nonblocking = try shell(
      "python3 -c '\(flags)' \"$0\" inspect --json \(many) | (sleep 1; cat)", folder)
    #expect(nonblocking.out == whole.out && nonblocking.err.isEmpty)
  }

  /// A log of people's lines has neither escapes nor carriage returns, whatever the variables say.
  @Test func `a log is plain text`() throws {
    let folder = try takes()
    for command in Self.commands where !command.contains("--man") {
      for variables in [["TERM": "xterm"], ["TERM": "dumb"], ["NO_COLOR": "1"], ["LC_ALL": "C"]] {
        let said = try run(
          "bash", ["-c", "\"$0\" \(command) 2>&1", Places.holdfast], environment: variables,
          folder: folder.path)
        #expect(said.code == 0 && !said.out.contains(0x1B) && !said.out.contains(0x0D), "\(command): \(said)")
      }
    }
  }
  @Test func `the version names the libraries, a line each`() throws {
    let lines = try holdfast(["--version"]).outLines
    #expect(
      lines.count == 6 && lines[0].hasPrefix("holdfast ")
        && lines.dropFirst().allSatisfy { $0.hasPrefix("  ") })
  }
}
