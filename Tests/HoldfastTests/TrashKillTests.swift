import Foundation
import TestSupport
import Testing

/// Discarding, restoring and deleting, killed or failed at each of their calls to the disk: no take is lost.
@Suite struct TrashKillTests {
  private func takes(_ folder: TempFolder) -> [String] {
    folder.names.filter { $0.hasSuffix(".opus") || $0.hasSuffix(".opus.partial/") }
  }

  @Test func `a restore of a partial take`() throws {
    let folder = try TempFolder()
    _ = try killedTake(ms: 500, in: folder)
    try FileManager.default.createDirectory(
      atPath: folder.file(".holdfast-trash/20261130T172411.897Z-03f2a1"), withIntermediateDirectories: true)
    try FileManager.default.moveItem(
      atPath: folder.file("take.opus.partial"),
      toPath: folder.file(".holdfast-trash/20261130T172411.897Z-03f2a1/take.opus.partial"))
    let audio = try contents(
      folder.file(".holdfast-trash/20261130T172411.897Z-03f2a1/take.opus.partial/audio.opus"))
    try everyCall(["restore", "take.opus"], from: folder.path) { here, said, there in
      let back = here.file("takes/take.opus.partial").exists
      if said.code == 0 { #expect(back, "\(there)") }
      let again = back ? said : try holdfast(["restore", here.file("takes/take.opus")])
      #expect(back || again.code == 0, "\(there) then \(again)")
      let found = try contents(here.file("takes/take.opus.partial/audio.opus"))
      #expect(found == audio, "\(there)")
    }
  }

  @Test func `a restore of a sealed take, and again`() throws {
    let folder = try TempFolder()
    try expectSealed(record(["--input", "tone:440", "--max-ms", "300"], in: folder))
    let entry = folder.file(".holdfast-trash/20261130T172411.897Z-03f2a1")
    try FileManager.default.createDirectory(atPath: entry, withIntermediateDirectories: true)
    for name in ["take.opus", "take.take.json"] {
      try FileManager.default.moveItem(atPath: folder.file(name), toPath: entry + "/" + name)
    }
    let audio = try contents(entry + "/take.opus")
    try everyCall(["restore", "take.opus"], from: folder.path) { here, said, there in
      let (take, manifest) = (here.file("takes/take.opus"), here.file("takes/take.take.json"))
      if said.code == 0 { #expect(take.exists && manifest.exists, "\(there)") }
      if !take.exists || !manifest.exists {
        let again = try holdfast(["restore", take])
        #expect(again.code == 0, "\(there) then \(again)")
      }
      #expect(try contents(take) == audio, "\(there)")
      #expect(try holdfast(["verify", take]).code == 0, "\(there)")
    }
  }

  @Test func `a sweep that is killed goes on the next time, and touches nothing else`() throws {
    let folder = try TempFolder()
    let old = folder.file(".holdfast-trash/20261130T172411.897Z-03f2a1")
    _ = try killedTake(ms: 300, in: folder)
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
    try FileManager.default.moveItem(
      atPath: folder.file("take.opus.partial"), toPath: old + "/take.opus.partial")
    try expectSealed(record(["--input", "tone:440", "--max-ms", "300"], in: folder))
    let audio = try contents(folder.file("take.opus"))
    let clock = [
      "LD_PRELOAD": try Tool.preload("clock_jump"),
      "CLOCK_BASE": "\(Date().timeIntervalSince1970 + 8 * 86_400)",
    ]
    try everyCall(["list", "--trash", "."], from: folder.path, environment: clock) { here, said, there in
      let again = try holdfast(["list", "--trash", here.file("takes")], environment: clock)
      #expect(again.code == 0 && again.outText.contains("empty"), "\(there) then \(again)")
      #expect(
        here.names == [
          "log", "takes/", "takes/.holdfast-trash/", "takes/take.opus", "takes/take.take.json",
        ], "\(there)")
      #expect(try contents(here.file("takes/take.opus")) == audio, "\(there)")
    }
  }

  /// Every call that discarding makes has the trash in one of its paths, or is a sync of the take's folder.
  @Test func `a discard`() throws {
    func attempt(_ rules: String) throws -> (TempFolder, [FaultDisk.Step], Finished) {
      let folder = try TempFolder("discard")
      let takes = folder.file("takes")
      try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: false)
      let fault = try FaultDisk(rules, under: takes, log: folder.file("log"))
      let live = try Running(
        Places.holdfast, ["record", "--realtime", "--input", "tone:440", "-o", takes + "/take.opus"],
        environment: fault.environment, terminal: true)
      try #require(live.waitFor("recording"))
      usleep(150_000)
      live.send("xx")
      return (folder, fault.steps(), live.wait(timeout: 20))
    }
    let plain = try attempt("")
    #expect(plain.2.code == 0, "\(plain.2)")
    let log = try String(contentsOfFile: plain.0.file("log"), encoding: .utf8).split(separator: "\n")
    let calls = log.count { $0.contains(".holdfast-trash") && !$0.contains("\tclose\t") }
    try #require(calls > 6)
    for number in 1...calls {
      for blow in blows {
        let (folder, _, said) = try attempt("any[.holdfast-trash]@\(number)=\(blow)")
        let there = "\(number) \(blow): \(said) \(folder.names)"
        let kept = folder.names.filter { $0.hasSuffix("take.opus.partial/") }
        #expect(kept.count == 1, "\(there)")
        if said.code == 74 { #expect(said.outText.contains("it stays as"), "\(there)") }
        if kept != ["takes/take.opus.partial/"] {
          #expect(try holdfast(["restore", folder.file("takes/take.opus")]).code == 0, "\(there)")
        }
        let again = try recover([folder.file("takes/take.opus")])
        #expect(again.said.code == 0 && again.lines.first?.int("duration_ms") ?? 0 > 100, "\(there)")
      }
    }
  }
}
