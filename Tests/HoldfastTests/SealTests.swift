import Foundation
import TestSupport
import Testing

/// Issue 2, point 6: sealing that is interrupted at each of its disk calls leaves either the sealed take or the partial
/// one, never neither, and says which.
@Suite struct SealTests {
  enum Blow: String, CaseIterable, Sendable {
    case eio = "EIO"
    case fullOnce = "ENOSPC"
    case fullForever = "x0=ENOSPC"
    case kill = "KILL"
    case killAfter = "KILLAFTER"
  }
  /// Half a second: one page, and no sync by the clock; every disk call of its sealing has its own place in the log.
  private static let command = [
    "record", "--json", "--input", "tone:440", "--max-ms", "500", "--take-id", "seal",
  ]
  private static let frames = 24_000

  private struct Outcome {
    let said: Finished
    let steps: [FaultDisk.Step]
    let folder: TempFolder
    var take: String { folder.file("takes/take.opus") }
    var partial: String { take + ".partial" }
  }
  private func sealed(_ rules: String) throws -> Outcome {
    let folder = try TempFolder("seal")
    let takes = folder.file("takes")  // a name that is the same in every run
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: false)
    let fault = try FaultDisk(rules, under: takes, log: folder.file("log"))
    let said = try holdfast(
      Self.command + ["-o", takes + "/take.opus"], environment: fault.environment, timeout: 30)
    return Outcome(said: said, steps: fault.steps(), folder: folder)
  }

  /// The calls from the last page to the partial folder's removal, as rules that name them whatever the threads do before.
  private func sealing() throws -> [(rule: String, step: FaultDisk.Step)] {
    let plain = try sealed("")
    try #require(plain.said.code == 0, "\(plain.said)")
    let last = try #require(
      plain.steps.last { $0.operation == "pwrite" && $0.path.hasSuffix("audio.opus") })
    // Behind it descriptors are closed as their owners go, if the process doesn't end first.
    let removal = try #require(plain.steps.last { $0.operation == "unlinkat" })
    let calls = plain.steps.filter { (last.number...removal.number).contains($0.number) }
    try #require(calls.contains { $0.operation == "renameat2" } && calls.count > 15)
    return calls.map { step in
      // The file it is about, without the folder's random name; renames by where they lead.
      let name = step.path.components(separatedBy: " -> ").last?.fileName ?? ""
      let nth = plain.steps.count {
        $0.operation == step.operation && $0.path.contains(name) && $0.number <= step.number
      }
      return ("\(step.operation)[\(name)]@\(nth)", step)
    }
  }
  private func rule(_ call: String, _ blow: Blow) -> String {
    blow == .fullForever ? call + blow.rawValue : "\(call)=\(blow.rawValue)"
  }

  @Test(arguments: Blow.allCases) func `a blow at any call of sealing leaves the take, sealed or partial`(
    blow: Blow
  )
    throws
  {
    for (call, step) in try sealing() {
      let outcome = try sealed(rule(call, blow))
      let there = "\(call) \(blow): \(outcome.said)"
      #expect(outcome.steps.contains { $0.injected != nil }, "\(there)")
      #expect(outcome.take.exists || outcome.partial.exists, "\(there)")
      let expectedSignal: Int32? = [.kill, .killAfter].contains(blow) ? SIGKILL : nil
      #expect(outcome.said.signal == expectedSignal, "\(there)")
      if outcome.take.exists {
        try expectWhole(outcome.take, frames: Self.frames)
      } else {
        try expectUnfinished(outcome, there)
      }
      if expectedSignal == nil { try expectTold(outcome, step, blow, there) }
    }
  }

  /// A partial take has all of its sound, to the last whole packet.
  private func expectUnfinished(_ outcome: Outcome, _ there: String) throws {
    let (said, report) = try inspect(outcome.take)
    #expect(said.code == 0 && report.text("outcome") == "unfinished", "\(there)\n\(said)")
    #expect((report.int("effective_frames") ?? 0) >= Self.frames, "\(there)")
    #expect(report.flag("recording") == false, "\(there)")
    let again = try holdfast(Self.command + ["-o", outcome.take])
    #expect(again.code == 73 && again.errText.contains("recover"), "\(there)\n\(again)")
  }

  /// Exit code, sealed event and standard error agree with what is on the disk.
  private func expectTold(_ outcome: Outcome, _ step: FaultDisk.Step, _ blow: Blow, _ there: String) throws {
    let events = try outcome.said.jsonLines().map(Fields.init)
    let told = events.contains { $0.text("event") == "sealed" }
    if outcome.said.code == 0 {
      #expect(told && outcome.take.exists, "\(there)")
      // What goes wrong behind the seal is told, where something is left.
      #expect(outcome.partial.exists == !outcome.said.err.isEmpty, "\(there)")
      return
    }
    #expect(outcome.said.code == 74 && outcome.said.isOneLine, "\(there)")
    let kept = outcome.take.exists ? outcome.take : outcome.partial
    #expect(outcome.said.errText.contains(kept), "\(there)")
    #expect(outcome.said.errText.contains("partial take stays") == !outcome.take.exists, "\(there)")
    #expect(events.contains { $0.text("event") == "error" && $0.int("code") == 74 }, "\(there)")
    #expect(events.last { $0.text("event") == "state" }?.text("state") == "failed" || told, "\(there)")
    // A disk that is full once is what the reserve is for; closing can fail without harm.
    #expect(blow != .fullOnce, "\(there)")
    #expect(step.operation != "close", "\(there)")
  }

  @Test func `an error before the commit keeps the partial take, one behind it the sealed one`() throws {
    let calls = try sealing()
    let commit = try #require(
      calls.firstIndex { $0.rule == "renameat2[take.opus]@1" || $0.rule.hasPrefix("renameat2[take.opus]") })
    for (index, (call, step)) in calls.enumerated() where step.operation != "close" {
      let outcome = try sealed("\(call)=EIO")
      #expect(outcome.take.exists == (index > commit), "\(call): \(outcome.said)")
      if index <= commit { #expect(outcome.said.code == 74, "\(call): \(outcome.said)") }
    }
  }

  @Test func `a disk that fills while the take is written is survived up to what it holds`() throws {
    for rule in [
      "pwrite[ledger]@2x0=ENOSPC", "pwrite[tail.]@2x0=ENOSPC", "store@5x0=ENOSPC", "store@6=ENOSPC",
    ] {
      let outcome = try sealed(rule)
      #expect(outcome.take.exists || outcome.partial.exists, "\(rule): \(outcome.said)")
      if outcome.take.exists { try expectWhole(outcome.take) }
      #expect([0, 74].contains(outcome.said.code), "\(rule): \(outcome.said)")
      if outcome.said.code == 74 { #expect(outcome.said.errText.contains("holdfast: "), "\(outcome.said)") }
    }
  }

  @Test func `a live take whose disk takes nothing until its end is stored whole then`() throws {
    let folder = try TempFolder("seal")
    let logs = try TempFolder()
    let fault = try FaultDisk("pwrite[/ledger]@2x0=ENOSPC", under: folder.path, log: logs.file("log"))
    let take = try record(
      ["--input", "tone:440", "--realtime", "--max-ms", "700"], in: folder, environment: fault.environment)
    try expectSealed(take, frames: 33_600)
    #expect(take.all("interrupted").map { $0.text("reason") } == ["disk_full"])
  }

  @Test func `nothing is left where the take can't even be made`() throws {
    let plain = try sealed("")
    let made = try #require(plain.steps.first { $0.operation == "renameat2" })
    for step in plain.steps
    where step.number <= made.number && !["close", "fstatvfs"].contains(step.operation) {
      let outcome = try sealed("\(step.operation)@\(step.nth)=ENOSPC")
      // The look for what a killed recorder left half made may fail.
      if outcome.said.code == 0, step.operation == "openat", step.path.hasSuffix("/takes/.") { continue }
      #expect([73, 74].contains(outcome.said.code) && outcome.said.isOneLine, "\(step): \(outcome.said)")
      #expect(outcome.folder.names == ["log", "takes/"], "\(step)")
      let states = try outcome.said.jsonLines().map(Fields.init).compactMap { $0.text("state") }
      #expect(!states.contains("recording"), "\(step): \(states)")
    }
  }

  @Test func `a disk with too little space is refused before the word recording`() throws {
    let folder = try TempFolder()
    let said = try run(
      "unshare",
      [
        "-rm", "sh", "-c",
        "mount -t tmpfs -o size=128k tmpfs \"$1\" && \"$0\" record --json --input tone:440 --max-ms 500 -o \"$1/a.opus\"; c=$?; ls -A \"$1\" >&2; exit $c",
        Places.holdfast, folder.path,
      ])
    if said.errText.hasPrefix("unshare") || said.errText.contains("mount:") {
      try Test.cancel("no mounts here: \(said.errText)")
    }
    #expect(said.code == 74 && said.isOneLine && said.errText.contains("KiB"), "\(said)")
    #expect(!said.outText.contains("\"recording\""))
  }
}
