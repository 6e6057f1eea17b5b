import Foundation
import TestSupport
import Testing

/// What is damaged in a partial take is told, and the rest saved.
@Suite struct RecoveryDamageTests {
  private struct Damage: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// Of a 3.5 s take: what is left of it in ms, and how it is told.
    var kept: Int
    var problem: String?
    var act: @Sendable (String) throws -> Void
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
    let path = try killedTake(ms: 3500, in: folder, settled: true)
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
    // Nothing is ever synced, so that the tails keep all; then the page of the first second goes, as in a power cut.
    let logs = try TempFolder()
    let fault = try FaultDisk("fdatasync@1x0=EIO", under: folder.path, log: logs.file("log"))
    let path = try killedTake(ms: 1500, in: folder, environment: fault.environment)
    try change(path + ".partial/audio.opus") { data in
      let starts = pageStarts(data)
      data.removeSubrange(starts[2]...)
    }
    let (said, lines) = try recover([path])
    // A store thread that a busy machine held up leaves out the packets that came together with their page's end.
    #expect(said.code == 0 && (lines.first?.int("duration_ms") ?? 0) >= 300, "\(said)")
    let reference = try undisturbedTake(ms: 1600, in: folder)
    try expectRecovered(path, like: reference)
  }

  @Test func `what can't be heard is set aside, whole, with the reason`() throws {
    let folder = try TempFolder()
    let path = try killedTake(ms: 1500, in: folder)
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
    let path = try killedTake(ms: 500, in: folder)
    try change(path + ".partial/ledger") { data in
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
}
