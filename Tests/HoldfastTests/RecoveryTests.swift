import Foundation
import TestSupport
import Testing

/// A killed take comes back as sealing would have left it; a recovery that is killed is done again.
@Suite struct RecoveryTests {
  /// Records `ms` of speech-like sound from standard input, and kills the recorder once it has arrived.
  ///
  /// - Parameter settled: syncs come by meanwhile, so that the tails hold no more than the end.
  private func killed(
    ms: Int, in folder: TempFolder, id: String = "kill", settled: Bool = false
  ) throws -> String {
    let path = folder.file("take.opus")
    for attempt in 1... {
      try record(ms: ms, to: path, id: id, settled: settled)
      let tails = try ["tail.0", "tail.1"].map { try bytes("\(path).partial/\($0)").count }
      // A machine that is busy may not have come to its syncs: the tails hold all since the last one.
      if !settled || tails.reduce(0, +) < 7_000 { break }
      try #require(attempt < 8, "no sync came by: \(tails)")
      try FileManager.default.removeItem(atPath: path + ".partial")
    }
    return path
  }
  private func record(ms: Int, to path: String, id: String, settled: Bool) throws {
    let process = try Running(
      Places.holdfast, ["record", "--json", "--input", "-", "--take-id", id, "-o", path], input: .pipe)
    let sound = Self.sound(48 * ms)
    for start in stride(from: 0, to: sound.count, by: 4800) {
      process.send(pack(Array(sound[start..<min(start + 4800, sound.count)]), .s16))
      // A sync comes by; the last block then finds that it has.
      if settled, start % 24_000 == 19_200 || start + 9_600 == sound.count { usleep(550_000) }
    }
    let window = 48 * ms / 1600 * 1600 / 48
    try #require(process.waitFor("\"effective_ms\":\(window)"))
    usleep(30_000)
    process.signal(SIGKILL)
    #expect(process.wait().signal == SIGKILL)
  }
  /// A tone whose pitch and level move, so that no two packets are alike.
  private static func sound(_ frames: Int) -> [Float] {
    (0..<frames).map { i in
      let t = Double(i) / 48_000
      return Float(0.15 * (1 + sin(t * 3)) * sin(2 * .pi * (200 + 150 * sin(t)) * t))
    }
  }
  /// The same sound, never disturbed.
  private func clean(ms: Int, in folder: TempFolder, id: String = "kill") throws -> String {
    let path = folder.file("clean.opus")
    let said = try holdfast(
      ["record", "--input", "-", "--take-id", id, "-o", path],
      input: .bytes(pack(Self.sound(48 * ms), .s16)))
    try #require(said.code == 0, "\(said)")
    return path
  }
  private func recover(_ arguments: [String], environment: [String: String?] = [:]) throws -> (
    said: Finished, lines: [Fields]
  ) {
    let said = try holdfast(["recover", "--json"] + arguments, environment: environment)
    return (said, try said.jsonLines().map(Fields.init))
  }
  /// Checks that a recovered take is whole, and has the bytes of the clean one's first packets.
  private func expectRecovered(
    _ path: String, like clean: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let manifest = try Fields(file: path.dropping(".opus") + ".take.json")
    let frames = try #require(manifest.int("effective_frames"), sourceLocation: sourceLocation)
    try expectWhole(path, frames: frames, sourceLocation: sourceLocation)
    let sha256 = try Judge.sha256(path)
    #expect(manifest.text("sha256") == sha256, sourceLocation: sourceLocation)
    #expect(try holdfast(["verify", path]).code == 0, sourceLocation: sourceLocation)
    let ours = try packets(path)
    let theirs = try packets(clean)
    #expect((frames + 312) % 960 == 0 && ours.count == (frames + 312) / 960, sourceLocation: sourceLocation)
    #expect(ours == Array(theirs.prefix(ours.count)), sourceLocation: sourceLocation)
    // Pages are those of the clean take up to the last one.
    let pages = try OggPage.read(path)
    let cleanPages = try OggPage.read(clean)
    for (a, b) in zip(pages.dropLast(), cleanPages) {
      #expect(
        a.granule == b.granule && a.body == b.body && a.flags == b.flags, sourceLocation: sourceLocation)
    }
    #expect(!(path + ".partial").exists, sourceLocation: sourceLocation)
  }
  private func packets(_ path: String) throws -> [[UInt8]] {
    try OggPage.read(path).dropFirst(2).flatMap { page in
      var packets: [[UInt8]] = []
      var at = 0
      var size = 0
      for lace in page.lacing {
        size += Int(lace)
        if lace < 255 {
          packets.append(Array(page.body[at..<(at + size)]))
          at += size
          size = 0
        }
      }
      return packets
    }
  }
  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  @Test(arguments: [45, 200, 990, 1010, 2345, 6000])
  func `a killed take is sealed with every whole packet, byte for byte`(ms: Int) throws {
    let folder = try TempFolder()
    let path = try killed(ms: ms, in: folder)
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && lines.count == 1, "\(said)")
    #expect(lines[0].text("event") == "sealed" && lines[0].text("outcome") == "recovered")
    let sha256 = try Judge.sha256(path)
    #expect(lines[0].text("sha256") == sha256 && lines[0].int("lost_ms_max") == 50)
    #expect(ms - (lines[0].int("duration_ms") ?? 0) <= 50, "\(said)")
    let reference = try clean(ms: ms + 40, in: folder)
    try expectRecovered(path, like: reference)
    // Once more: nothing to do, nothing changed.
    let before = try bytes(path)
    #expect(try recover([path]).said.code == 0)
    #expect(try recover([folder.path]).said.code == 0)
    #expect(try bytes(path) == before)
  }

  @Test func `a recorder that was killed before its first packet leaves a take of no length`() throws {
    let folder = try TempFolder()
    let path = folder.file("take.opus")
    let process = try Running(
      Places.holdfast, ["record", "--json", "--input", "-", "-o", path], input: .pipe)
    process.send(pack(Self.sound(200), .s16))
    try #require(process.waitFor("\"recording\""))
    process.signal(SIGKILL)
    process.wait()
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && lines.first?.int("effective_frames") == 0, "\(said)")
    try expectWhole(path, frames: 0)
    #expect(try holdfast(["verify", path]).code == 0)
  }

  @Test func `pauses, marks, context and limits are the ledger's`() throws {
    let live = try LiveTake([
      "--input", "tone:440", "--session", "s", "--round", "3", "--min-valid-ms", "60000",
    ])
    try live.reach(ms: 200)
    live.process.signal(SIGUSR2)
    try #require(live.process.waitFor("\"event\":\"mark\""))
    try live.pause()
    try live.resume()
    try live.reach(ms: 1500)
    try live.pause()
    live.process.signal(SIGKILL)
    live.process.wait()
    let before = try inspect(live.path).report
    let (said, lines) = try recover([live.path])
    let sealed = try #require(lines.first, "\(said)")
    #expect(sealed.int("pause_count") == 2 && sealed.flag("too_short") == true)
    #expect(sealed.object("context").text("session") == "s" && sealed.object("context").int("round") == 3)
    let after = try inspect(live.path).report
    #expect(after.text("outcome") == "recovered" && after.text("measured_on") == "manifest")
    for key in ["pauses", "marks"] {
      for field in ["at_ms", "length_ms"] {
        #expect(before.objects(key).map { $0.int(field) } == after.objects(key).map { $0.int(field) })
      }
    }
    #expect(after.objects("interruptions").map { $0.text("reason") } == ["killed"])
    // The ledger's levels, and the last second measured, are what the decoded audio has.
    for (a, b) in zip(before.numbers("bars"), after.numbers("bars")) { #expect(abs(a - b) < 0.02) }
    let (x, y) = (before.object("levels"), after.object("levels"))
    #expect(abs((x.number("rms_db") ?? 0) - (y.number("rms_db") ?? 99)) < 0.1, "\(x) \(y)")
  }

  @Test func `a take that is being recorded is refused, and in a folder passed over`() throws {
    let live = try LiveTake()
    try live.reach(ms: 300)
    let (said, lines) = try recover([live.path])
    #expect(said.code == 75 && lines.first?.text("kind") == "busy", "\(said)")
    #expect(try recover([live.folder.path]).said.code == 0)
    try expectSealed(live.stop())
  }

  @Test func `a name without an unfinished take, a missing one and a folder without any`() throws {
    let folder = try TempFolder()
    #expect(try recover([folder.file("none.opus")]).said.code == 66)
    #expect(try recover([folder.path]).said.code == 0)
    #expect(try recover([], environment: ["XDG_DATA_HOME": folder.path]).said.code == 0)
    #expect(try recover([folder.path, folder.path]).said.code == 64)
  }

  @Test func `without a name all takes of the takes folder are recovered, and one bad one stops none`() throws
  {
    let folder = try TempFolder()
    let takes = folder.file("holdfast/takes")
    try FileManager.default.createDirectory(atPath: takes, withIntermediateDirectories: true)
    for name in ["a.opus", "b.opus"] {
      let path = try killed(ms: 300, in: folder)
      try FileManager.default.moveItem(atPath: path + ".partial", toPath: "\(takes)/\(name).partial")
    }
    try FileManager.default.createDirectory(
      atPath: takes + "/c.opus.partial", withIntermediateDirectories: false)
    let (said, lines) = try recover([], environment: ["XDG_DATA_HOME": folder.path])
    #expect(said.code == 1 && lines.map { $0.text("event") } == ["sealed", "sealed", "error"], "\(said)")
    #expect((takes + "/a.opus").exists && (takes + "/b.opus").exists)
    #expect((takes + "/c.opus.unreadable").exists)
    let listed = try holdfast(["list", "--json", takes]).jsonLines().map(Fields.init)
    #expect(listed.map { $0.text("outcome") } == ["recovered", "recovered", "unreadable"])
  }

  // MARK: damage

  private struct Damage: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// Of a 3.5 s take: what is left of it in ms, and how it is told.
    var kept: Int
    var problem: String?
    var act: @Sendable (String) throws -> Void
  }
  private static func change(_ path: String, _ body: (inout Data) -> Void) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    body(&data)
    try data.write(to: URL(fileURLWithPath: path))
  }
  private static func pageStarts(_ data: Data) -> [Int] {
    (0..<(data.count - 4)).filter { data[$0..<($0 + 4)].elementsEqual("OggS".utf8) }
  }
  private static let damages = [
    Damage(testDescription: "no ledger", kept: 3450, problem: "missing_file") {
      try FileManager.default.removeItem(atPath: $0 + "/ledger")
    },
    Damage(testDescription: "empty ledger", kept: 3450, problem: "ledger") {
      try change($0 + "/ledger") { $0 = Data() }
    },
    Damage(testDescription: "torn ledger", kept: 3450, problem: "ledger") {
      try change($0 + "/ledger") { $0.removeLast(7) }
    },
    Damage(testDescription: "junk ledger", kept: 3450, problem: "ledger") {
      try change($0 + "/ledger") { $0 = Data(repeating: 65, count: 500) }
    },
    Damage(testDescription: "torn page", kept: 3450, problem: "cut") {
      try change($0 + "/audio.opus") { $0.append(contentsOf: Array("OggS\0\0junk".utf8)) }
    },
    Damage(testDescription: "damaged page in the middle", kept: 3450, problem: "hole") {
      try change($0 + "/audio.opus") { data in
        let start = pageStarts(data)[3]
        data[start + 200] ^= 0x55
      }
    },
    Damage(testDescription: "page missing in the middle", kept: 3450, problem: "hole") {
      try change($0 + "/audio.opus") { data in
        let starts = pageStarts(data)
        data.removeSubrange(starts[3]..<starts[4])
      }
    },
    Damage(testDescription: "zeros in the middle", kept: 3450, problem: nil) {
      try change($0 + "/audio.opus") { data in
        let starts = pageStarts(data)
        data.insert(contentsOf: Data(count: 512), at: starts[3])
      }
    },
    Damage(testDescription: "damaged head", kept: 3450, problem: "header") {
      try change($0 + "/audio.opus") { $0[30] ^= 0xFF }
    },
    Damage(testDescription: "damaged tags", kept: 3450, problem: "header") {
      try change($0 + "/audio.opus") { data in
        let start = pageStarts(data)[1]
        data[start + 40] ^= 0xFF
      }
    },
    Damage(testDescription: "tails gone", kept: 2900, problem: "missing_file") { path in
      for name in ["tail.0", "tail.1"] { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
    },
    Damage(testDescription: "tails torn", kept: 3400, problem: "tail") { path in
      for name in ["tail.0", "tail.1"] {
        try change("\(path)/\(name)") { if $0.count > 9 { $0.removeLast(9) } }
      }
    },
    Damage(testDescription: "tails junk", kept: 2900, problem: "tail") { path in
      for name in ["tail.0", "tail.1"] {
        try change("\(path)/\(name)") { $0 = Data(repeating: 1, count: 99) }
      }
    },
    Damage(testDescription: "audio cut in half", kept: 3400, problem: "hole") {
      try change($0 + "/audio.opus") { data in
        let starts = pageStarts(data)
        data.removeSubrange((starts[3] + 100)...)
      }
    },
    Damage(testDescription: "no lock, no reserve", kept: 3450, problem: nil) { path in
      for name in ["lock", "reserve"] { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
    },
  ]

  @Test(arguments: damages)
  private func `a damaged partial take is saved as far as it goes, and the damage told`(
    damage: Damage
  ) throws {
    let folder = try TempFolder()
    let path = try killed(ms: 3500, in: folder, settled: true)
    try damage.act(path + ".partial")
    let seen = try inspect(path)
    let kinds = seen.report.objects("problems").compactMap { $0.text("kind") }
    if let problem = damage.problem {
      #expect(kinds.contains(problem), "\(kinds)")
    } else {
      #expect(kinds.isEmpty, "\(kinds)")
    }
    #expect(seen.said.code == (["hole", "end_lost"].contains(damage.problem) ? 65 : 0), "\(seen.said)")
    let (said, lines) = try recover([path])
    #expect(said.code == 0, "\(said)")
    let sealed = try #require(lines.first)
    let ms = try #require(sealed.int("duration_ms"))
    #expect(ms >= damage.kept && ms <= 3500, "\(ms)")
    #expect(ms + (sealed.int("lost_ms_max") ?? 0) >= 3470, "\(sealed)")
    try expectWhole(path, frames: sealed.int("effective_frames"))
    let verified = try holdfast(["verify", path])
    #expect(verified.code == 0, "\(verified)")
    #expect(seen.report.int("duration_ms") == ms && seen.report.text("sha256") == sealed.text("sha256"))
    if damage.problem == "hole" {
      #expect(try inspect(path).report.objects("gaps").first?.text("measured_by") == "recovery")
    }
    // What was cut off is in the trash, not gone.
    if ["cut", "hole", "header", "tail"].contains(damage.problem) {
      #expect(folder.names.contains { $0.hasPrefix(".holdfast-trash") }, "\(folder.names)")
    }
  }

  @Test func `a page that is lost but in the tails comes back byte for byte`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 1500, in: folder)
    // The page of the first second, not yet synced away from the tails: as a power cut may leave it.
    try Self.change(path + ".partial/audio.opus") { data in
      let starts = Self.pageStarts(data)
      data.removeSubrange(starts[2]...)
    }
    let tails = try ["tail.0", "tail.1"].map { try bytes("\(path).partial/\($0)").count }
    try #require(tails.allSatisfy { $0 > 0 } || tails.contains { $0 > 5000 })
    let (said, lines) = try recover([path])
    #expect(said.code == 0, "\(said)")
    if (lines.first?.int("duration_ms") ?? 0) > 1000 {
      let reference = try clean(ms: 1600, in: folder)
      try expectRecovered(path, like: reference)
    }
  }

  @Test func `what can't be heard is set aside, whole, with the reason`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 1500, in: folder)
    try FileManager.default.removeItem(atPath: path + ".partial/audio.opus")
    for name in ["tail.0", "tail.1"] { try FileManager.default.removeItem(atPath: "\(path).partial/\(name)") }
    #expect(try inspect(path).said.code == 65)
    let (said, lines) = try recover([path])
    #expect(said.code == 65 && lines.first?.text("kind") == "unreadable" && said.isOneLine, "\(said)")
    #expect((path + ".unreadable/ledger").exists && (path + ".unreadable/reason").exists)
    #expect(!(path + ".partial").exists)
  }

  @Test func `a take of a newer program isn't touched`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 500, in: folder)
    try Self.change(path + ".partial/ledger") { data in
      data[8] = 9  // the version; its checksum is put right
      let crc = crc32(Array(data[0..<12]))
      for i in 0..<4 { data[12 + i] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * i)) }
    }
    let before = folder.names
    let (said, lines) = try recover([path])
    #expect(said.code == 65 && lines.first?.text("kind") == "newer_version", "\(said)")
    #expect(folder.names == before)
  }
  private func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { c, _ in c & 1 != 0 ? c >> 1 ^ 0xEDB8_8320 : c >> 1 }
    }
  }

  @Test func `where another file has taken the name the take gets the next free one`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 500, in: folder)
    try Data("somebody else's".utf8).write(to: URL(fileURLWithPath: path))
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && lines.first?.text("path") == folder.file("take-2.opus"), "\(said)")
    #expect(try bytes(path) == Data("somebody else's".utf8))
    try expectWhole(folder.file("take-2.opus"))
  }

  // MARK: what others do to it

  @Test func `a take whose lock somebody removed is still known as being recorded`() throws {
    let live = try LiveTake()
    try live.reach(ms: 300)
    try FileManager.default.removeItem(atPath: live.path + ".partial/lock")
    #expect(try recover([live.path]).said.code == 75)
    #expect(try holdfast(["record", "--input", "tone:440", "--continue", live.path]).code == 75)
    #expect(try holdfast(["list", "--json", live.folder.path]).outText.contains("\"recording\""))
    try expectSealed(live.stop())
  }

  @Test func `another take's ledger costs no page`() throws {
    let folder = try TempFolder()
    let other = try killed(ms: 500, in: folder, id: "other")
    try FileManager.default.moveItem(atPath: other + ".partial", toPath: folder.file("other.opus.partial"))
    let path = try killed(ms: 2500, in: folder)
    try FileManager.default.removeItem(atPath: path + ".partial/ledger")
    try FileManager.default.copyItem(
      atPath: folder.file("other.opus.partial/ledger"), toPath: path + ".partial/ledger")
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && (lines.first?.int("duration_ms") ?? 0) >= 2400, "\(said)")
    #expect(try holdfast(["verify", path]).code == 0)
  }

  @Test func `a damaged last page is silence where the tails go on behind it`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 3900, in: folder, settled: true)
    try Self.change(path + ".partial/audio.opus") { data in
      let last = Self.pageStarts(data).last ?? 0
      data[last + 300] ^= 0x11
    }
    let (said, lines) = try recover([path])
    #expect(said.code == 0 && (lines.first?.int("duration_ms") ?? 0) >= 3850, "\(said)")
    #expect((lines.first?.int("lost_ms_max") ?? 0) >= 1000)
    try expectWhole(path, frames: lines.first?.int("effective_frames"))
    #expect(try inspect(path).report.objects("gaps").first?.int("length_ms") == 1000)
  }

  @Test func `files of somebody else's in the working folder don't hold the name`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 500, in: folder)
    try Data("hi".utf8).write(to: URL(fileURLWithPath: path + ".partial/notes.txt"))
    let said = try recover([path]).said
    #expect(said.code == 0 && said.errText.contains("trash"), "\(said)")
    #expect(!(path + ".partial").exists)
    #expect(folder.names.contains { $0.hasSuffix("notes.txt") })
    #expect(
      try holdfast(["record", "--input", "tone:440", "--max-ms", "100", "--force", "-o", path]).code == 0)
  }

  @Test func `something else under the working folder's name is told as that`() throws {
    let folder = try TempFolder()
    try Data().write(to: URL(fileURLWithPath: folder.file("take.opus.partial")))
    let said = try holdfast([
      "record", "--input", "tone:440", "--max-ms", "9", "-o", folder.file("take.opus"),
    ])
    #expect(said.code == 73 && !said.errText.contains("recover") && said.isOneLine, "\(said)")
  }

  @Test(arguments: [240, 242]) func `a take with the longest name can be set aside`(length: Int) throws {
    let folder = try TempFolder()
    let name = String(repeating: "n", count: length) + ".opus"
    try FileManager.default.createDirectory(
      atPath: folder.file(name + ".partial"), withIntermediateDirectories: false)
    #expect(try recover([folder.file(name)]).said.code == 65)
    #expect(folder.names.contains { $0.contains(".unreadable") })
  }

  @Test func `a take killed before it was started, and gone on with, verifies`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 45, in: folder)
    try Self.change(path + ".partial/ledger") { data in
      data = data.prefix(16 + 24 + Int(data[20]) + Int(data[21]) << 8)
    }
    let said = try holdfast(
      ["record", "--continue", path, "--input", "-"], input: .bytes(pack(Self.sound(4_800), .s16)))
    #expect(said.code == 0, "\(said)")
    #expect(try holdfast(["verify", path]).code == 0)
  }

  // MARK: blows

  @Test func `recovery killed at each of its calls and run again gives the same bytes`() throws {
    let folder = try TempFolder()
    let path = try killed(ms: 2300, in: folder)
    // Torn, so that it has everything to do.
    try Self.change(path + ".partial/audio.opus") { $0.append(contentsOf: Array("OggS torn".utf8)) }
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
    let wanted = try bytes(plain.folder.file("takes/take.opus"))
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
        #expect(try bytes(take) == wanted, "\(there)")
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
    let wanted = try bytes(plain.folder.file("takes/take.opus"))
    let last = try #require(plain.steps.last { $0.operation == "pwrite" && $0.path.hasSuffix("audio.opus") })
    let removal = try #require(plain.steps.last { $0.operation == "unlinkat" })
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
          #expect(try bytes(take) == wanted, "\(there)")
          #expect(
            try again.jsonLines().map(Fields.init).allSatisfy { $0.int("lost_ms_max") == 0 }, "\(again)")
        } else {
          #expect((23_000...24_648).contains(frames), "\(there) then \(again)")
        }
      }
    }
  }
}
