import Foundation
import TestSupport
import Testing

/// `record --continue`: a killed take goes on in the same file.
@Suite struct ContinueTests {
  private static func tone(from frame: Int, count: Int) -> [Float] {
    (0..<count).map { 0.25 * Float(sin(2 * .pi * 440 * Double(frame + $0) / 48_000)) }
  }
  /// Records from standard input; a kill comes once the sound has arrived, else the input ends.
  @discardableResult private func record(
    _ arguments: [String], frames: Int, from first: Int = 0, kill: Bool, after known: Int = 0
  ) throws -> Finished {
    let process = try Running(
      Places.holdfast, ["record", "--json", "--input", "-"] + arguments, input: .pipe)
    let sound = Self.tone(from: first, count: frames)
    for start in stride(from: 0, to: frames, by: 4800) {
      process.send(pack(Array(sound[start..<min(start + 4800, frames)]), .s16))
    }
    if kill {
      let window = (known + frames) / 1600 * 1600 / 48
      try #require(process.waitFor("\"effective_ms\":\(window)"), "\(window)")
      usleep(30_000)
      process.signal(SIGKILL)
    } else {
      process.closeInput()
    }
    return process.wait()
  }

  @Test func `through three kills the time line is exact, and no joint clicks`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    var joints: [Int] = []
    try record(
      ["-o", path, "--session", "s", "--min-valid-ms", "60000", "--take-id", "x"], frames: 112_560, kill: true
    )
    for (round, frames) in [72_000, 96_011, 48_005].enumerated() {
      let known = try #require(try inspect(path).report.int("effective_frames"))
      joints.append(known)
      let said = try record(
        ["--continue", path], frames: frames, from: known, kill: round < 2, after: known)
      if round == 2 {
        let take = try Recorded(said, folder, path)
        try expectSealed(take, frames: known + frames)
        #expect(take.sealed?.text("outcome") == "complete" && take.sealed?.flag("too_short") == true)
        #expect(take.sealed?.object("context").text("session") == "s")
        #expect(
          take.all("state").first { $0.text("state") == "recording" }?.int("effective_ms") == known / 48)
      }
    }
    #expect(try holdfast(["verify", path]).code == 0)
    let report = try inspect(path).report
    #expect(report.int("parts") == 4 && report.text("measured_on") == "manifest")
    #expect(report.objects("interruptions").map { $0.int("at_ms") } == joints.map { $0 / 48 })
    #expect(
      report.objects("interruptions").allSatisfy {
        $0.text("reason") == "killed" && $0.int("length_ms") != nil
      })
    // The ledger's levels are the decoded audio's.
    let samples = try Judge.opusdecSamples(path)
    let rms = 10 * log10(samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count))
    #expect(abs((report.object("levels").number("rms_db") ?? 0) - rms) < 0.05)
    // A click is a jump of the slope: a 440 Hz tone at −12 dBFS has at most 0.0009 between three neighbours.
    for joint in joints {
      let near = samples[(joint - 2_000)..<(joint + 2_000)]
      let jump =
        zip(zip(near, near.dropFirst()), near.dropFirst(2)).map { abs($0.0 - 2 * $0.1 + $1) }.max() ?? 1
      #expect(jump < 0.01, "\(joint)")
      // It fades in: 5 ms behind the joint the tone is there in full.
      let later = samples[(joint + 480)..<(joint + 2_400)]
      let level = 10 * log10(later.reduce(0) { $0 + Double($1) * Double($1) } / Double(later.count))
      #expect(abs(level + 15.05) < 2, "\(joint): \(level)")
    }
  }

  @Test func `without new sound the take is what was there`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    try record(["-o", path], frames: 60_000, kill: true)
    let known = try inspect(path).report.int("effective_frames")
    let take = try Recorded(try record(["--continue", path], frames: 0, kill: false), folder, path)
    try expectSealed(take, frames: known)
  }

  @Test func `a take killed before its first packet goes on from nothing`() throws {
    let folder = try TempFolder()
    let path = try takeKilledAtOnce(in: folder)
    let take = try Recorded(try record(["--continue", path], frames: 5_000, kill: false), folder, path)
    try expectSealed(take, frames: 5_000)
  }

  @Test func `another source, at another rate, goes on in the same take`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    try record(["-o", path], frames: 60_000, kill: true)
    let known = try #require(try inspect(path).report.int("effective_frames"))
    let said = try holdfast(
      ["record", "--json", "--continue", path, "--input", "-", "--rate", "16000"],
      input: .bytes(pack(Self.tone(from: 0, count: 16_000), .s16)))
    try expectSealed(try Recorded(said, folder, path), frames: known + 48_000)
    #expect(try inspect(path).report.int("device_rate") == 16_000)
  }

  @Test func `a take at its limit can't be gone on with, and one with a damaged tail neither`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    let fault = try FaultDisk("pwrite[/manifest]@1=KILL", under: folder.path, log: folder.file("log"))
    let said = try holdfast(
      ["record", "--input", "tone:440", "--max-ms", "1000", "-o", path], environment: fault.environment)
    #expect(said.signal == SIGKILL)
    func go() throws -> Finished {
      try holdfast(["record", "--json", "--continue", path, "--input", "-"])
    }
    let full = try go()
    #expect(full.code == 73 && full.errText.contains("limit"), "\(full)")
    #expect(try holdfast(["recover", path]).code == 0)
    try FileManager.default.removeItem(atPath: path)
    try record(["-o", path], frames: 60_000, kill: true)
    for name in ["tail.0", "tail.1"] {
      let url = URL(fileURLWithPath: "\(path).partial/\(name)")
      var data = try Data(contentsOf: url)
      if data.count > 300 {
        data[200] ^= 1
        try data.write(to: url)
      }
    }
    let damaged = try go()
    #expect(damaged.code == 65 && damaged.errText.contains("recover"), "\(damaged)")
  }

  @Test func `what can't be gone on with is refused, and stays as it is`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    func go(_ arguments: [String]) throws -> Finished {
      try holdfast(["record", "--json", "--input", "tone:440", "--continue"] + arguments)
    }
    #expect(try go([path]).code == 66)
    #expect(try go([folder.file("take.wav")]).code == 64)
    try record(["-o", path], frames: 150_000, kill: true)
    for option in [
      ["-o", "x.opus"], ["--force"], ["--take-id", "x"], ["--session", "x"], ["--max-ms", "5"], ["--arm"],
    ] {
      #expect(try go([path] + option).code == 64, "\(option)")
    }
    let whole = try Data(contentsOf: URL(fileURLWithPath: path + ".partial/audio.opus"))
    var damaged = whole
    damaged[20] ^= 1
    try damaged.write(to: URL(fileURLWithPath: path + ".partial/audio.opus"))
    let refused = try go([path])
    #expect(refused.code == 65 && refused.errText.contains("recover"), "\(refused)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".partial/audio.opus")) == damaged)
    try whole.write(to: URL(fileURLWithPath: path + ".partial/audio.opus"))
    #expect(try holdfast(["recover", path]).code == 0)
    #expect(try go([path]).code == 73)
    let live = try LiveTake()
    try live.reach(ms: 200)
    #expect(try go([live.path]).code == 75)
    try expectSealed(live.stop())
  }

  @Test func `killed at any disk call while it begins, it loses nothing of what was there`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    try record(["-o", path], frames: 115_000, kill: true)
    let known = try #require(try inspect(path).report.int("effective_frames"))
    func attempt(_ rules: String) throws -> (folder: TempFolder, steps: [FaultDisk.Step], said: Finished) {
      let here = try TempFolder("on")
      try FileManager.default.createDirectory(atPath: here.file("takes"), withIntermediateDirectories: false)
      try FileManager.default.copyItem(
        atPath: path + ".partial", toPath: here.file("takes/take.opus.partial"))
      let fault = try FaultDisk(rules, under: here.file("takes"), log: here.file("log"))
      let said = try holdfast(
        ["record", "--json", "--continue", here.file("takes/take.opus"), "--input", "tone:440"],
        environment: fault.environment, timeout: 2)
      return (here, fault.steps(), said)
    }
    // A tone never ends: what comes before the first write of a packet is the beginning.
    let plain = try attempt("pwrite[tail.]@2=KILL")
    try #require(plain.said.signal == SIGKILL, "\(plain.said)")
    let count = plain.steps.count
    try #require(count > 15)
    for number in 1..<count where plain.steps[number - 1].operation != "close" {
      for blow in ["KILL", "KILLAFTER"] {
        let hit = try attempt("any@\(number)=\(blow)")
        let there = "\(plain.steps[number - 1]) \(blow)"
        #expect(hit.said.signal == SIGKILL, "\(there): \(hit.said)")
        let again = try holdfast(["recover", "--json", hit.folder.file("takes/take.opus")])
        let frames = try again.jsonLines().map(Fields.init).first?.int("effective_frames") ?? 0
        #expect(again.code == 0 && frames >= known, "\(there): \(again)")
        try expectWhole(hit.folder.file("takes/take.opus"), frames: frames)
      }
    }
  }
}
