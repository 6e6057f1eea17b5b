import Foundation
import TestSupport
import Testing

/// A recovery, and a sealing, that is killed or meets an error at any of its calls is done again.
@Suite struct RecoveryBlowTests {
  @Test func `recovery killed at each of its calls and run again gives the same bytes`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 2300, in: folder)
    // Torn, so that it has everything to do.
    try change(path + ".partial/audio.opus") { $0.append(contentsOf: Array("OggS torn".utf8)) }
    let original = path + ".partial"
    func attempt(_ rules: String, _ name: String) throws -> (
      folder: TempFolder, steps: [FaultDisk.Step], said: Finished
    ) {
      let here = try TempFolder("again")
      try FileManager.default.createDirectory(atPath: here.file("takes"), withIntermediateDirectories: false)
      try FileManager.default.copyItem(atPath: original, toPath: here.file("takes/take.opus.partial"))
      let fault = try FaultDisk(rules, under: here.file("takes"), log: here.file("log"))
      let said = try holdfast(
        ["recover", "--json", here.file("takes/take.opus")], environment: fault.environment)
      return (here, fault.steps(), said)
    }
    let plain = try attempt("", "plain")
    #expect(plain.said.code == 0, "\(plain.said)")
    let wanted = try contents(plain.folder.file("takes/take.opus"))
    try #require(plain.steps.count > 25)
    for step in plain.steps where step.operation != "close" && step.operation != "statvfs" {
      for blow in ["KILL", "KILLAFTER", "EIO", "ENOSPC"] {
        let hit = try attempt("any@\(step.number)=\(blow)", "")
        let there = "\(step) \(blow): \(hit.said)"
        let take = hit.folder.file("takes/take.opus")
        if blow.hasPrefix("KILL") { #expect(hit.said.signal == SIGKILL, "\(there)") }
        #expect(take.exists || (take + ".partial").exists, "\(there)")
        let again = try holdfast(["recover", "--json", hit.folder.file("takes")])
        #expect(again.code == 0, "\(there) then \(again)")
        #expect(try contents(take) == wanted, "\(there)")
        #expect((take.dropping(".opus") + ".take.json").exists, "\(there)")
        #expect(!(take + ".partial").exists, "\(there) then \(again)")
        #expect(try holdfast(["verify", take]).code == 0, "\(there)")
      }
    }
  }

  @Test func `a recorder killed at any call of its sealing is recovered to the very take`() throws {
    let command = ["record", "--json", "--input", "tone:440", "--max-ms", "500", "--take-id", "seal"]
    func attempt(_ rules: String) throws -> (folder: TempFolder, steps: [FaultDisk.Step], said: Finished) {
      let here = try TempFolder("seal")
      try FileManager.default.createDirectory(atPath: here.file("takes"), withIntermediateDirectories: false)
      let fault = try FaultDisk(rules, under: here.file("takes"), log: here.file("log"))
      let said = try holdfast(command + ["-o", here.file("takes/take.opus")], environment: fault.environment)
      return (here, fault.steps(), said)
    }
    let plain = try attempt("")
    let wanted = try contents(plain.folder.file("takes/take.opus"))
    let last = try #require(plain.steps.last { $0.operation == "pwrite" && $0.path.hasSuffix("audio.opus") })
    let removal = try #require(plain.steps.last { $0.operation == "unlinkat" })
    var (same, other) = (0, 0)
    for number in last.number...removal.number where plain.steps[number - 1].operation != "close" {
      for blow in ["KILL", "KILLAFTER"] {
        let hit = try attempt("any@\(number)=\(blow)")
        let take = hit.folder.file("takes/take.opus")
        let there = "\(number) \(blow): \(hit.said)"
        let again = try holdfast(["recover", "--json", hit.folder.file("takes")])
        #expect(again.code == 0, "\(there) then \(again)")
        #expect(try holdfast(["verify", take]).code == 0, "\(there) then \(again)")
        #expect(!(take + ".partial").exists, "\(there)")
        // Threads don't always meet the same call: where the stop was on the disk, the bytes are the clean take's.
        let manifest = try Fields(file: take.dropping(".opus") + ".take.json")
        let frames = manifest.int("effective_frames") ?? 0
        if frames == 24_000 {
          same += 1
          #expect(try contents(take) == wanted, "\(there)")
          #expect(
            try again.jsonLines().map(Fields.init).allSatisfy { $0.int("lost_ms_max") == 0 }, "\(again)")
        } else {
          other += 1
          #expect((0...24_648).contains(frames), "\(there) then \(again)")
        }
      }
    }
    #expect(same > other, "\(same) of \(same + other)")
  }
}
