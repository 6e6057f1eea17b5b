import Foundation
import Holdfast
import TestSupport
import Testing

/// A disk that fails under a live take, and is outlasted or not.
@Suite struct DiskInterruptionTests {
  private func live(
    _ rules: String, _ arguments: [String] = [], in scratch: TempFolder
  ) throws -> (LiveTake, FaultDisk) {
    let takes = scratch.file("takes")
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: true)
    let disk = try FaultDisk(rules, under: takes, log: scratch.file("log"))
    let live = try LiveTake(
      ["--input", "tone:440"] + arguments, in: scratch, to: "takes/take.opus",
      environment: disk.environment.merging(["XDG_DATA_HOME": scratch.file("data")]) { $1 })
    return (live, disk)
  }

  @Test(arguments: [
    ("pwrite[tail.]@40x20=ENOSPC", "disk_full"), ("pwrite[audio.opus]@3x10=EIO", "disk_error"),
    ("pwrite[ledger]@3x10=EROFS", "disk_readonly"), ("pwrite[tail.]@40x20=EDQUOT", "disk_full"),
    ("fdatasync@4x6=EIO", "disk_error"),
  ]) func `a disk that fails for a while costs nothing, and is told`(rule: String, reason: String) throws {
    let scratch = try TempFolder()
    let (live, _) = try live(rule, ["--max-ms", "5000"], in: scratch)
    let take = try Recorded(live.process.wait(timeout: 40), scratch, live.path)
    try expectSealed(take, frames: 240_000)
    let told = take.events.filter { ["state", "interrupted", "resumed"].contains($0.text("event")) }
    #expect(
      told.map { $0.text("state") ?? $0.text("event") } == [
        "preparing", "recording", "interrupted", "interrupted", "resumed", "recording", "sealing", "sealed",
      ], "\(told)")
    #expect(told[3].text("reason") == reason && told[4].text("reason") == reason)
    let manifest = try take.manifest()
    #expect(manifest.objects("interruptions").map { $0.text("reason") } == [reason])
    #expect(manifest.int("parts") == 1, "the sound is whole")
    #expect(rmsDb(try Judge.opusdecSamples(take.path)[4_800..<235_200]) > -25)
    #expect(try Verifier.verify(Path(take.path)).isSound)
  }

  @Test func `what a failed sync covered is written once more before the next`() throws {
    let scratch = try TempFolder()
    let (live, disk) = try live("fdatasync[audio.opus]@2=EIO", ["--max-ms", "3000"], in: scratch)
    let take = try Recorded(live.process.wait(timeout: 40), scratch, live.path)
    try expectSealed(take, frames: 144_000)
    let steps = disk.steps().filter {
      $0.path.hasSuffix("audio.opus") && ["pwrite", "fdatasync"].contains($0.operation)
    }
    let failed = try #require(steps.firstIndex { $0.injected != nil })
    let next = try #require(steps[(failed + 1)...].firstIndex { $0.operation == "fdatasync" })
    #expect(steps[(failed + 1)..<next].contains { $0.operation == "pwrite" }, "\(steps)")
  }

  @Test(arguments: ["ENOSPC", "EIO", "EROFS"])
  func `a stop while the disk fails seals what it has, or leaves the partial take`(
    error: String
  ) throws {
    let scratch = try TempFolder()
    let (live, _) = try live("pwrite[tail.]@60x0=\(error);pwrite[audio.opus]@3x0=\(error)", in: scratch)
    try live.reach("interrupted")
    try live.reach(ms: 2_500)
    let take = try live.stop()
    #expect(take.said.code == 74)
    #expect(take.said.wallSeconds < 30)
    // Nothing can be written any more, not even the last page: the partial take stays, and says so.
    #expect((take.path + ".partial").exists && !take.path.exists)
    #expect(take.error?.text("message")?.contains(".partial") == true)
    let saved = try holdfast(["recover", take.path, "--json"])
    #expect(saved.code == 0, "\(saved)")
    #expect(try Judge.opusdecFrames(take.path) > 48_000)
  }

  @Test func `a full disk: told within 1 s, and sealed out of the reserve with as much as goes into it`()
    throws
  {
    let scratch = try TempFolder()
    let mount = try #require(try SmallDisk(scratch.file("disk"), size: "2m"))
    let live = try LiveTake(
      ["--input", "tone:440"], in: scratch, to: "disk/take.opus",
      environment: ["XDG_DATA_HOME": scratch.file("data")])
    try live.reach(ms: 1_200)
    mount.fill()
    let filled = live.effectiveMs
    try live.reach("interrupted")
    #expect(live.effectiveMs - filled < 3_000)
    try live.reach(ms: filled + 4_000)
    let take = try live.stop()
    try expectSealed(take)  // 64 KiB hold it all
    #expect(take.all("warning").contains { $0.text("kind") == "low_disk" && $0.int("seconds_left") != nil })
    #expect(take.all("interrupted").map { $0.text("reason") } == ["disk_full"])
  }

  @Test func `room made while the disk is full: nothing is lost`() throws {
    let scratch = try TempFolder()
    let mount = try #require(try SmallDisk(scratch.file("disk"), size: "2m"))
    let live = try LiveTake(["--input", "tone:440"], in: scratch, to: "disk/take.opus")
    try live.reach(ms: 1_200)
    mount.fill()
    try live.reach("interrupted")
    try live.reach(ms: 5_000)
    mount.free()
    try live.reach("recording")
    try live.reach(ms: 6_000)
    let take = try live.stop()
    try expectSealed(take)
    #expect(rmsDb(try Judge.opusdecSamples(take.path)[4_800...].dropLast(4_800)) > -25)
    #expect(try take.manifest().objects("interruptions").first?.int("length_ms") ?? 0 > 1_000)
  }

  @Test func `a sync that takes 10 s costs no frame`() throws {
    let scratch = try TempFolder()
    let (live, _) = try live(
      "fdatasync@4=DELAY:10000;pwrite[tail.]@60=DELAY:4000", ["--max-ms", "9000"], in: scratch)
    let take = try Recorded(live.process.wait(timeout: 60), scratch, live.path)
    try expectSealed(take, frames: 432_000)
    #expect(take.all("interrupted").isEmpty && take.all("gap").isEmpty)
  }

  // MARK: the folder

  private enum Blow: String, CaseIterable { case folder, partial, audio, replaced }

  @Test(arguments: ["folder", "partial", "audio", "replaced"])
  func
    `a take whose folder or file is deleted goes on in the default takes folder, and survives a kill there`(
      blow: String
    ) throws
  {
    for kill in [false, true] {
      let scratch = try TempFolder()
      try FileManager.default.createDirectory(
        atPath: scratch.file("gone"), withIntermediateDirectories: false)
      let data = scratch.file("data")
      let live = try LiveTake(
        ["--input", "tone:440"], in: scratch, to: "gone/take.opus", environment: ["XDG_DATA_HOME": data])
      try live.reach(ms: 1_300)
      let partial = live.path + ".partial"
      switch blow {
      case "folder": try FileManager.default.removeItem(atPath: scratch.file("gone"))
      case "partial": try FileManager.default.removeItem(atPath: partial)
      default:
        try FileManager.default.removeItem(atPath: partial + "/audio.opus")
        if blow == "replaced" {
          try Data("somebody's".utf8).write(to: URL(fileURLWithPath: partial + "/audio.opus"))
        }
      }
      let then = live.effectiveMs
      try live.reach("interrupted")
      #expect(live.effectiveMs - then < 5_000)
      try live.reach("recording")
      try live.reach(ms: live.effectiveMs + 700)
      let folder = data + "/holdfast/takes"
      if kill {
        let ms = live.effectiveMs
        live.process.signal(SIGKILL)
        _ = live.process.wait(timeout: 20)
        let said = try holdfast(["recover", folder, "--json"])
        #expect(said.code == 0, "\(said)")
        #expect(Fields(try #require(try said.jsonLines().first)).int("duration_ms") ?? 0 >= ms - 500)
        continue
      }
      let said = try live.stop()
      #expect(
        said.said.code == 74 && said.all("interrupted").map { $0.text("reason") } == ["folder_gone"],
        "\(said.said)")
      let path = try #require(said.sealed?.text("path"))
      #expect(path.hasPrefix(folder) && said.all("resumed").first?.text("path") == path)
      let take = try Recorded(said.said, scratch, path)
      try expectSealed(take, code: 74)
      #expect(try take.manifest().int("parts") == 1)
      #expect(blow == "replaced" ? (partial + "/audio.opus").exists : !partial.exists)
    }
  }

  @Test func `a folder that is only renamed is followed, and so is the working folder`() throws {
    let scratch = try TempFolder()
    try FileManager.default.createDirectory(atPath: scratch.file("old"), withIntermediateDirectories: false)
    let live = try LiveTake(["--input", "tone:440"], in: scratch, to: "old/take.opus")
    try live.reach(ms: 300)
    rename(scratch.file("old"), scratch.file("new"))
    rename(scratch.file("new/take.opus.partial"), scratch.file("other.opus.partial"))
    try live.reach(ms: 1_500)
    let said = try live.stop()
    let take = try Recorded(said.said, scratch, scratch.file("new/take.opus"))
    try expectSealed(take)
    #expect(take.sealed?.text("path")?.hasSuffix("new/take.opus") == true)
    #expect(scratch.names == ["new/", "new/take.opus", "new/take.take.json"])
  }
}

/// A tmpfs of its own for a test; nil where it can't be mounted (no root).
final class SmallDisk {
  let path: String
  init?(_ path: String, size: String) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    guard try run("mount", ["-t", "tmpfs", "-o", "size=\(size)", "tmpfs", path]).code == 0 else {
      try Test.cancel("no tmpfs can be mounted here")
    }
  }
  deinit { _ = try? run("umount", ["-l", path]) }
  /// Takes every byte that is left.
  func fill() {
    guard let file = fopen(path + "/fill", "w") else { return }
    let bytes = [UInt8](repeating: 1, count: 4_096)
    while fwrite(bytes, 1, bytes.count, file) == bytes.count, fflush(file) == 0 {}
    fclose(file)
  }
  func free() { unlink(path + "/fill") }
}

/// Takes that a failing disk, or somebody else, ends in an awkward moment.
@Suite struct AwkwardEndTests {
  private func live(
    _ rules: String, _ arguments: [String] = [], in scratch: TempFolder
  ) throws -> LiveTake {
    let takes = scratch.file("takes")
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: true)
    let disk = try FaultDisk(rules, under: takes, log: scratch.file("log"))
    return try LiveTake(
      ["--input", "tone:440"] + arguments, in: scratch, to: "takes/take.opus",
      environment: disk.environment.merging(["XDG_DATA_HOME": scratch.file("data")]) { $1 })
  }

  @Test func `a pause and a resume count while the disk is waited for`() throws {
    let scratch = try TempFolder()
    let live = try live("pwrite[tail.]@40x25=ENOSPC", in: scratch)
    try live.reach("interrupted")
    live.process.signal(SIGUSR1)
    try live.reach("interrupted")
    live.process.signal(SIGUSR1)
    try live.reach("recording")
    let then = live.effectiveMs
    try live.reach(ms: then + 300)
    let take = try live.stop()
    try expectSealed(take)
    #expect(take.sealed?.int("pause_count") == 1)
  }

  @Test func `a take cut short by its disk verifies`() throws {
    let scratch = try TempFolder()
    let mount = try #require(try SmallDisk(scratch.file("disk"), size: "1m"))
    let live = try LiveTake(
      ["--input", "tone:440", "--bitrate", "128000"], in: scratch, to: "disk/take.opus",
      environment: ["XDG_DATA_HOME": scratch.file("data")])
    try live.reach(ms: 1_200)
    mount.fill()
    try live.reach("interrupted")
    try live.reach(ms: 9_000)  // far more than the reserve holds
    let take = try live.stop()
    #expect(take.said.code == 74)
    try expectSealed(take, code: 74)
    #expect(try Verifier.verify(Path(take.path)).isSound)
  }

  @Test func `a folder that is deleted while it is sealed is no take's end`() throws {
    let scratch = try TempFolder()
    let live = try live("pwrite[/manifest]@1=DELAY:1500", in: scratch)
    try live.reach(ms: 600)
    live.process.signal(SIGINT)
    #expect(live.until { (live.path + ".partial/manifest").exists })
    try FileManager.default.removeItem(atPath: live.path + ".partial")
    let said = try Recorded(live.process.wait(timeout: 30), scratch, live.path)
    let path = try #require(said.sealed?.text("path"), "\(said.said)")
    #expect(said.said.code == 74 && path.hasPrefix(scratch.file("data")))
    #expect(try Verifier.verify(Path(path)).isSound)
  }

  @Test func `a disk that took nothing at the end is in what recovery says may be lost`() throws {
    let scratch = try TempFolder()
    let live = try live("pwrite[tail.]@60x0=EIO;pwrite[audio.opus]@3x0=EIO", in: scratch)
    try live.reach("interrupted")
    let then = live.effectiveMs
    try live.reach(ms: then + 3_000)
    let ms = live.effectiveMs
    let take = try live.stop()
    #expect(take.said.code == 74 && take.error?.text("message")?.contains("holdfast recover") == true)
    let said = try holdfast(["recover", take.path, "--json"])
    let saved = Fields(try #require(try said.jsonLines().first))
    #expect((saved.int("duration_ms") ?? 0) + (saved.int("lost_ms_max") ?? 0) >= ms - 700, "\(saved)")
  }

  @Test func `without a takes folder a deleted take goes where it was`() throws {
    let scratch = try TempFolder()
    let takes = scratch.file("takes")
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: true)
    let live = try LiveTake(
      ["--input", "tone:440"], in: scratch, to: "takes/take.opus",
      environment: ["XDG_DATA_HOME": nil, "HOME": "/proc/nobody"])
    try live.reach(ms: 700)
    try FileManager.default.removeItem(atPath: live.path + ".partial")
    try live.reach("interrupted")
    try live.reach("recording")
    let said = try live.stop()
    let path = try #require(said.sealed?.text("path"), "\(said.said)")
    #expect(said.said.code == 74 && path.hasPrefix(takes + "/"))
    #expect(try Verifier.verify(Path(path)).isSound)
  }
}
