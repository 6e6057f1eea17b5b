import Foundation
import TestSupport
import Testing

/// `verify` and `inspect` find what is wrong with a take, and nothing where nothing is.
@Suite struct VerifyTests {
  /// A sealed take of 2 s with a pause and a mark's worth of ledger.
  private func sealed() throws -> Recorded {
    let script = ScheduledTake(Tone.sine(110_000, hz: 440, db: -12), rate: 48_000)
    return try script.recorded(pauses: [40_000..<50_000], in: TempFolder("verify"))
  }
  private func verify(_ take: Recorded) throws -> (code: Int32, failed: [String]) {
    let said = try holdfast(["verify", "--json", take.path])
    let report = try said.jsonLines().first.map(Fields.init) ?? Fields([:])
    let plain = try holdfast(["verify", take.path])
    #expect(
      plain.code == said.code
        && (plain.outText.contains(report.flag("ok") == true ? "ok" : "FAILED") || plain.isOneLine))
    return (
      said.code, report.objects("checks").filter { $0.flag("ok") == false }.compactMap { $0.text("check") }
    )
  }
  private func change(_ path: String, _ edit: (inout Data) -> Void) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    edit(&data)
    try data.write(to: URL(fileURLWithPath: path))
  }
  private func changeManifest(_ take: Recorded, _ edit: (inout String) -> Void) throws {
    try change(take.folder.file("take.take.json")) { data in
      var text = String(decoding: data, as: UTF8.self)
      let before = text
      edit(&text)
      #expect(text != before)
      data = Data(text.utf8)
    }
  }

  @Test func `a sealed take is sound`() throws {
    let take = try sealed()
    try expectSealed(take, frames: 100_240)
    let (code, failed) = try verify(take)
    #expect(code == 0 && failed == [])
    let none = try record(["--input", "-"], input: .nothing)
    #expect(try verify(none).code == 0)
  }

  @Test func `a manifest that lacks a field, has one twice or an added context isn't the take's`() throws {
    let take = try sealed()
    let path = take.folder.file("take.take.json")
    let whole = try contents(path)
    let fields = try #require(try JSONSerialization.jsonObject(with: whole) as? [String: Any])
    let optional = ["auto_pauses", "speech", "speech_pauses", "practice", "clock_drift"]
    var kinds: [(String, [String: Any])] = []
    for key in fields.keys where !optional.contains(key) {
      var less = fields
      less[key] = nil
      kinds.append((key, less))
    }
    for key in ["rms_db", "peak_db", "noise_floor_db"] {
      var less = fields
      var levels = try #require(fields["levels"] as? [String: Any])
      levels[key] = nil
      less["levels"] = levels
      kinds.append(("levels.\(key)", less))
    }
    var more = fields
    more["context"] = ["session": "another"]
    kinds.append(("context", more))
    for (name, changed) in kinds {
      try JSONSerialization.data(withJSONObject: changed).write(to: URL(fileURLWithPath: path))
      let said = try holdfast(["verify", "--json", take.path])
      #expect(said.code == 65 && said.outText.contains("manifest"), "\(name): \(said)")
    }
    for key in optional {
      var less = fields
      less[key] = nil
      try JSONSerialization.data(withJSONObject: less).write(to: URL(fileURLWithPath: path))
      #expect(try verify(take).code == 0, "\(key)")
    }
    try whole.write(to: URL(fileURLWithPath: path))
    try changeManifest(take) {
      $0 = $0.replacingOccurrences(of: "\"sha256\"", with: "\"sha256\": \"00\", \"sha256\"")
    }
    #expect(try verify(take).failed.contains("manifest"))
  }

  @Test(arguments: [0.0, 0.01, 0.3, 0.6, 0.99]) func `one flipped bit anywhere in the file is found`(
    part: Double
  )
    throws
  {
    let take = try sealed()
    try change(take.path) { $0[Int(part * Double($0.count - 1))] ^= 0x10 }
    let (code, failed) = try verify(take)
    #expect(code == 65, "\(failed)")
    // A head that isn't one any more is no Opus file at all; everything else has a checksum against it.
    if part > 0 { #expect(failed.contains("checksum"), "\(failed)") }
    let (said, report) = try inspect(take.path)
    #expect(said.code == 65, "\(said)")
    if part > 0.1 {
      let problem = report.objects("problems").first { $0.text("kind") == "damaged_page" }
      #expect(problem?.int("offset") != nil && problem?.text("message")?.isEmpty == false, "\(said)")
      #expect(report.objects("problems").contains { $0.text("kind") == "checksum" }, "\(said)")
      #expect(report.text("measured_on") == "decoded")
    }
  }

  /// Pages end at 1 s, 2 s and the end; what is before the first cut one counts, without the look-ahead.
  @Test(arguments: [(1, 2), (100, 2), (2000, 1)])
  func `a cut file is found, and inspect says how much of it is left`(cut: Int, seconds: Int) throws {
    let take = try sealed()
    try change(take.path) { $0.removeLast(cut) }
    let (code, failed) = try verify(take)
    #expect(code == 65 && failed.contains("checksum") && failed.contains("length"), "\(failed)")
    let (said, report) = try inspect(take.path)
    #expect(said.code == 65 && report.int("effective_frames") == seconds * 48_000 - 312, "\(said)")
  }

  @Test func `bytes behind the end are found`() throws {
    let take = try sealed()
    try change(take.path) { $0.append(0) }
    let (code, failed) = try verify(take)
    #expect(code == 65 && failed.contains("checksum"), "\(failed)")
    #expect(try inspect(take.path).said.code == 65)
  }

  @Test func `another take's audio under the name is found`() throws {
    let take = try sealed()
    let other = try record(["--input", "tone:440", "--max-ms", "1000"])
    try change(take.path) { data in data = FileManager.default.contents(atPath: other.path) ?? Data() }
    let (code, failed) = try verify(take)
    #expect(code == 65 && failed.contains("checksum") && failed.contains("length"), "\(failed)")
    #expect(try inspect(take.path).said.code == 65)
  }

  @Test(arguments: [
    ("\"effective_frames\": 100240", "\"effective_frames\": 100241"),
    ("\"duration_ms\": 2088", "\"duration_ms\": 2089"),
    ("\"pause_count\": 1", "\"pause_count\": 2"), ("\"sha256\": \"", "\"sha256\": \"0"),
    ("\"take_id\": \"scheduled\"", "\"take_id\": \"other\""),
    ("\"ended_by\": \"source_end\"", "\"ended_by\": \"user\""), ("\"version\": 1", "\"version\": 99"),
    ("\"ledger\": \"", "\"ledger\": \"AAAA"), ("{", ""),
  ]) func `an edited manifest is found`(from: String, to: String) throws {
    let take = try sealed()
    try changeManifest(take) { $0 = $0.replacingOccurrences(of: from, with: to, range: $0.range(of: from)) }
    let (code, failed) = try verify(take)
    #expect(code == 65 && !failed.isEmpty, "\(to): \(failed)")
    // The audio is what it was: inspect decodes it and names the problem.
    let report = try inspect(take.path).report
    #expect(report.int("effective_frames") == 100_240)
    #expect(!report.objects("problems").isEmpty, "\(to)")
  }

  @Test(arguments: [20, 60, 150, 300]) func `an edited ledger is found`(place: Int) throws {
    let take = try sealed()
    let ledger = try #require(try take.manifest().text("ledger"))
    var bytes = try #require(Data(base64Encoded: ledger))
    bytes[place] ^= 1
    try changeManifest(take) { $0 = $0.replacingOccurrences(of: ledger, with: bytes.base64EncodedString()) }
    let (code, failed) = try verify(take)
    #expect(code == 65 && !failed.isEmpty, "\(failed)")
  }

  @Test func `a missing manifest is found; inspect then takes the file for anybody's`() throws {
    let take = try sealed()
    try FileManager.default.removeItem(atPath: take.folder.file("take.take.json"))
    let (code, failed) = try verify(take)
    #expect(code == 65 && failed == ["manifest"])
    let (said, report) = try inspect(take.path)
    #expect(
      said.code == 0 && report.text("outcome") == "foreign" && report.int("effective_frames") == 100_240)
  }

  @Test func `a wrong end flag is a note, not damage`() throws {
    let path = try Cases.folder("E") + "/E01/no_eos.opus"
    let (said, report) = try inspect(path)
    #expect(said.code == 0 && report.int("effective_frames") == 240_000)
    #expect(report.objects("problems").map { $0.text("kind") } == ["not_closed"])
  }

  @Test(arguments: ["flip_byte", "junk_between", "page_missing", "page_twice", "zeros_between"])
  func `E03: damage is placed, and the time line kept`(name: String) throws {
    let (said, report) = try inspect(Cases.folder("E") + "/E03/\(name).opus")
    #expect(report.int("effective_frames") == 240_000 && !report.objects("problems").isEmpty)
    // Only where sound is missing is it damage.
    #expect(said.code == (["flip_byte", "page_missing"].contains(name) ? 65 : 0), "\(said)")
    #expect(report.objects("problems").allSatisfy { $0.int("offset") != nil || $0.int("at_ms") != nil })
  }
}
