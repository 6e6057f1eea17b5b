import Foundation
import TestSupport
import Testing

/// What `make torture` and `make powerloss` found once.
@Suite struct RecoveryMendTests {
  /// Records a second or two under disk faults, and says what the disk was asked for.
  private func record(_ rules: String, in folder: TempFolder, _ more: [String] = []) throws -> [FaultDisk
    .Step]
  {
    if !folder.file("takes").exists {
      try FileManager.default.createDirectory(
        atPath: folder.file("takes"), withIntermediateDirectories: false)
    }
    let fault = try FaultDisk(rules, under: folder.file("takes"), log: folder.file("log"))
    _ = try holdfast(
      [
        "record", "--input", "tone:440", "--max-ms", "2300", "--take-id", "mend", "-o",
        folder.file("takes/take.opus"),
      ]
        + more,
      environment: fault.environment)
    return fault.steps()
  }
  private func recover(_ folder: TempFolder) throws -> Finished {
    try holdfast(["recover", "--json", folder.file("takes")])
  }
  private func names(_ folder: TempFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.file("takes")).filter { !$0.hasPrefix(".") }
      .sorted()
  }

  @Test func `a clean-up that is killed at any step is finished`() throws {
    let clean = try TempFolder()
    let steps = try record("", in: clean)
    let removals = steps.filter { $0.operation == "unlinkat" && $0.path.contains("take.opus.partial") }
    try #require(removals.count >= 7)
    for n in 1...removals.count {
      let folder = try TempFolder()
      _ = try record("unlinkat[take.opus.partial]@\(n)=KILL", in: folder)
      let said = try recover(folder)
      #expect(said.code == 0, "removal \(n): \(said)")
      #expect(try names(folder) == ["take.opus", "take.take.json"], "removal \(n)")
    }
  }

  @Test func `a killed clean-up of a take that was sealed under another name is finished`() throws {
    let folder = try TempFolder()
    _ = try record("renameat2[/audio.opus]@1=KILL", in: folder)
    // Somebody's file has come under the name meanwhile.
    try folder.write("takes/take.opus", "somebody's")
    let fault = try FaultDisk(
      "unlinkat[take.opus.partial]@3=KILL", under: folder.file("takes"), log: folder.file("log"))
    _ = try holdfast(["recover", folder.file("takes")], environment: fault.environment)
    try #require((folder.file("takes") + "/take.opus.partial").exists)
    let said = try recover(folder)
    #expect(said.code == 0, "\(said)")
    #expect(try names(folder) == ["take-2.opus", "take-2.take.json", "take.opus"])
  }

  @Test(arguments: [47, 60, 20, 0])
  func `an audio file cut within its heads is made anew with what the tails have`(size: Int) throws {
    let folder = try TempFolder()
    _ = try record("pwrite[partial/audio.opus]@1=KILL", in: folder)
    let audio = folder.file("takes/take.opus.partial/audio.opus")
    let data = try Data(contentsOf: URL(fileURLWithPath: audio))
    try data.prefix(size).write(to: URL(fileURLWithPath: audio))
    let said = try recover(folder)
    #expect(said.code == 0, "\(said)")
    try expectWhole(folder.file("takes/take.opus"))
    #expect(try holdfast(["verify", folder.file("takes/take.opus")]).code == 0)
  }

  @Test func `a ledger with nothing but its first record makes a take that verifies`() throws {
    let folder = try TempFolder()
    _ = try record("pwrite[partial/audio.opus]@2=KILL", in: folder)
    let ledger = folder.file("takes/take.opus.partial/ledger")
    let data = try Data(contentsOf: URL(fileURLWithPath: ledger))
    let first = 16 + 24 + Int(data[20]) + Int(data[21]) << 8
    try data.prefix(first).write(to: URL(fileURLWithPath: ledger))
    let said = try recover(folder)
    #expect(said.code == 0, "\(said)")
    let verified = try holdfast(["verify", folder.file("takes/take.opus")])
    #expect(verified.code == 0, "\(verified)")
  }

  @Test func `a recovery that was killed and is run again later writes the same manifest`() throws {
    let folder = try TempFolder()
    _ = try record("pwrite[partial/audio.opus]@2=KILL", in: folder)
    let twin = try TempFolder()
    // With its times.
    _ = try run("cp", ["-a", folder.file("takes"), twin.file("takes")])
    #expect(try recover(twin).code == 0)
    let fault = try FaultDisk(
      "pwrite[/manifest]@1=KILLAFTER", under: folder.file("takes"), log: folder.file("log"))
    _ = try holdfast(["recover", folder.file("takes")], environment: fault.environment)
    usleep(50_000)
    try? FileManager.default.removeItem(atPath: folder.file("takes/take.opus.partial/manifest"))
    #expect(try recover(folder).code == 0)
    func bytes(_ folder: TempFolder, _ name: String) throws -> Data {
      try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
    }
    #expect(try bytes(folder, "takes/take.opus") == bytes(twin, "takes/take.opus"))
    // Its ledger has a time since boot, which is good to a millisecond.
    func told(_ folder: TempFolder) throws -> [Substring] {
      String(decoding: try bytes(folder, "takes/take.take.json"), as: UTF8.self).split(separator: "\n").filter
      {
        !$0.contains("\"ledger\"")
      }
    }
    #expect(try told(folder) == told(twin))
  }

  @Test func `the way into the trash is synced before a take goes there`() throws {
    let folder = try TempFolder()
    _ = try record("", in: folder)
    let steps = try record("", in: folder, ["--force"])
    let moved = try #require(
      steps.firstIndex {
        $0.operation == "renameat2" && $0.path.contains("-> ") && $0.path.contains("holdfast-trash")
      })
    let before = steps[..<moved].filter { $0.operation == "fsync" }.map(\.path)
    #expect(
      before.contains { $0.hasSuffix(".holdfast-trash") } && before.contains { $0.hasSuffix("/takes") },
      "\(steps)")
  }
}
