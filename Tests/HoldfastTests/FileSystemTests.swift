import Foundation
import TestSupport
import Testing

/// File systems without locks, without a rename that never replaces, without syncs: said at the start, and lived with.
@Suite struct FileSystemTests {
  private static let all = "flock@1x0=ENOLCK;renameat2@1x0=EINVAL;sync@1x0=EINVAL"

  /// A folder for takes, and the environment in which its file system lacks something.
  private func lacking(_ rules: String) throws -> (folder: TempFolder, environment: [String: String?]) {
    let folder = try TempFolder("lack")
    let logs = try TempFolder("log")
    let fault = try FaultDisk(rules, under: folder.path, log: logs.file("log"))
    return (folder, fault.environment)
  }
  private func told(_ events: [Fields]) -> [[String]] {
    events.filter { $0.text("kind") == "filesystem" }.map { $0.raw["missing"] as? [String] ?? [] }
  }
  private func notes(_ said: Finished) -> [Substring] {
    said.errText.split(separator: "\n").filter { $0.hasPrefix("note: this file system") }
  }
  private func expectValid(_ said: Finished, _ schema: String) throws {
    #expect(try Judge.schemaFaults(said.outText, schema: Places.root + "/docs/schema/\(schema).json") == [])
  }

  @Test(
    arguments: [
      ("", []), ("flock@1x0=ENOLCK", ["locks"]), ("flock@1x0=EOPNOTSUPP", ["locks"]),
      ("flock@1x0=ENOSYS", ["locks"]), ("renameat2@1x0=EINVAL", ["noreplace"]),
      ("renameat2@1x0=ENOSYS", ["noreplace"]), ("renameat2@1x0=EINVAL;linkat@1x0=EPERM", ["noreplace"]),
      ("fdatasync@1x0=EINVAL", ["sync"]), ("fsync@1x0=EINVAL", ["sync"]), ("sync@1x0=ENOSYS", ["sync"]),
      (all, ["locks", "noreplace", "sync"]),
      // An error of a sync that is there isn't a sync that is missing.
      ("fdatasync[probe]@1=EIO", []),
    ] as [(String, [String])])
  func `a take is sealed whole, and what is missing is said once, at the start`(
    rules: String, missing: [String]
  ) throws {
    let (folder, environment) = try lacking(rules)
    let take = try record(
      ["--input", "tone:440", "--realtime", "--max-ms", "700"], in: folder, environment: environment)
    try expectSealed(take, frames: 33_600)
    #expect(told(take.events) == (missing.isEmpty ? [] : [missing]))
    #expect(notes(take.said).count == (missing.isEmpty ? 0 : 1), "\(take.said)")
    try expectValid(take.said, "events")
    #expect(folder.names == ["take.opus", "take.take.json"])
    #expect(try holdfast(["verify", take.path]).code == 0)
    // And replaced, by the same means.
    let again = try record(
      ["--input", "tone:300", "--max-ms", "300", "--force"], in: folder, environment: environment)
    try expectSealed(again, frames: 14_400)
    #expect(folder.names.count { $0.hasSuffix("/take.opus") || $0.hasSuffix("/take.take.json") } == 2)
  }

  @Test func `recover and continue say it too`() throws {
    for goesOn in [false, true] {
      let (folder, environment) = try lacking(Self.all)
      let path = try killedTake(ms: 1500, in: folder)
      let said = try holdfast(
        goesOn
          ? ["record", "--json", "--continue", path, "--input", "file:" + Places.testaudio("talk.wav")]
          : ["recover", "--json", path], environment: environment)
      #expect(said.code == 0, "\(said)")
      try expectValid(said, goesOn ? "events" : "recover")
      let events = try said.jsonLines().map(Fields.init)
      #expect(told(events) == [["locks", "noreplace", "sync"]])
      #expect(notes(said).count == 1)
      if !goesOn { #expect(events.first?.text("kind") == "filesystem") }
      #expect(try holdfast(["verify", path]).code == 0)
      #expect(folder.names == ["take.opus", "take.take.json"])
    }
  }

  @Test(arguments: [false, true])
  func `without locks nobody recovers, continues or overwrites a take that is recorded`(paused: Bool) throws {
    let (folder, environment) = try lacking(Self.all)
    let live = try LiveTake(in: folder, environment: environment)
    try live.reach(ms: 200)
    if paused { try live.pause() }
    for arguments in [
      ["recover", live.path], ["record", "--continue", live.path, "--input", "tone:440"],
    ] {
      let said = try holdfast(arguments, environment: environment)
      #expect(said.code == 75, "\(said)")
    }
    let other = try holdfast(
      ["record", "--input", "tone:440", "--max-ms", "100", "-o", live.path], environment: environment)
    #expect(other.code == 73, "\(other)")
    try expectSealed(live.stop())
  }

  @Test func `without locks two recorders at one name make one take of it`() throws {
    for _ in 0..<5 {
      let (folder, environment) = try lacking(Self.all)
      let both = try (0..<2).map { _ in
        try Running(
          Places.holdfast,
          ["record", "--realtime", "--input", "tone:440", "--max-ms", "600", "-o", folder.file("take.opus")],
          environment: environment)
      }
      let codes = both.map { $0.wait(timeout: 30).code }
      #expect(codes.sorted() == [0, 73], "\(codes)")
      try expectWhole(folder.file("take.opus"), frames: 28_800)
      #expect(folder.names == ["take.opus", "take.take.json"])
    }
  }

  @Test func `without such a rename, a file that has appeared meanwhile keeps every byte`() throws {
    let (folder, environment) = try lacking("renameat2@1x0=EINVAL")
    let live = try LiveTake(in: folder, environment: environment)
    try live.reach(ms: 200)
    try folder.write("take.opus", "somebody else's")
    let said = try live.stop()
    #expect(said.sealed?.text("path") == folder.file("take-2.opus"), "\(said.said)")
    try expectWhole(folder.file("take-2.opus"))
    #expect(try contents(folder.file("take.opus")) == Data("somebody else's".utf8))
  }

  @Test func `without such a rename, recovery killed at each of its calls and run again saves the take`()
    throws
  {
    let original = try TempFolder()
    let path = try killedTake(ms: 1300, in: original)
    // Damaged between whole pages: the file is exchanged for a new one.
    try change(path + ".partial/audio.opus") { data in
      data[pageStarts(data)[2] + 40] ^= 0xFF
      data.append(contentsOf: Array("OggS torn".utf8))
    }
    func attempt(_ rule: String) throws -> (TempFolder, [FaultDisk.Step], Finished) {
      let here = try TempFolder("again")
      try FileManager.default.copyItem(atPath: original.path, toPath: here.file("takes"))
      let fault = try FaultDisk(
        "renameat2@1x0=EINVAL" + rule, under: here.file("takes"), log: here.file("log"))
      let said = try holdfast(["recover", here.file("takes/take.opus")], environment: fault.environment)
      return (here, fault.steps(), said)
    }
    let plain = try attempt("")
    #expect(plain.2.code == 0, "\(plain.2)")
    let wanted = try contents(plain.0.file("takes/take.opus"))
    #expect(plain.1.contains { $0.operation == "linkat" && $0.result == "0" })
    for step in plain.1 where step.operation != "close" && step.operation != "fstatfs" {
      for blow in ["KILL", "KILLAFTER"] {
        let (here, _, said) = try attempt(";any@\(step.number)=\(blow)")
        let there = "\(step) \(blow): \(said)"
        #expect(said.signal == SIGKILL, "\(there)")
        let fault = try FaultDisk("renameat2@1x0=EINVAL", under: here.file("takes"), log: here.file("log"))
        let again = try holdfast(["recover", here.file("takes")], environment: fault.environment)
        #expect(again.code == 0, "\(there) then \(again)")
        let takes = here.names.filter { $0.hasPrefix("takes/take") && !$0.hasSuffix("/") }
        #expect(takes == ["takes/take.opus", "takes/take.take.json"], "\(there) then \(again)")
        let found = try contents(here.file("takes/take.opus"))
        #expect(found == wanted, "\(there)")
      }
    }
  }

  @Test func `on a file system that really lacks it, a take is recorded, replaced, restored`() throws {
    let folder = try TempFolder()
    for name in ["under", "over"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    // FUSE, in a mount namespace of its own: bindfs knows no flags of a rename.
    let script = """
      bindfs "$1/under" "$1/over" || exit 99
      cd "$1/over"
      "$0" record --input tone:440 --max-ms 300 -o take.opus && "$0" record --input tone:300 --max-ms 500 -o take.opus --force
      mv take.opus new.opus; mv take.take.json new.take.json
      "$0" restore take.opus && "$0" verify take.opus new.opus; code=$?
      cd /; umount "$1/over"; exit $code
      """
    let said = try run("unshare", ["-m", "bash", "-c", script, Places.holdfast, folder.path])
    if said.code == 99 || said.errText.hasPrefix("unshare") || said.errText.contains("bindfs:") {
      try Test.cancel("no FUSE here: \(said.errText)")
    }
    #expect(said.code == 0, "\(said)")
    #expect(notes(said).count == 2 && notes(said).allSatisfy { $0.contains("(fuse)") }, "\(said)")
    // A file that FUSE hides while it is open isn't somebody else's.
    #expect(!said.errText.contains("somebody"), "\(said)")
    #expect(said.outText.contains("restored take.opus: complete, 00:00"), "\(said)")
    try expectWhole(folder.file("under/take.opus"), frames: 14_400)
    try expectWhole(folder.file("under/new.opus"), frames: 24_000)
  }
}
