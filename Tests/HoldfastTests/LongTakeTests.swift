import Foundation
import TestSupport
import Testing

/// Issue 2, point 5: two hours in constant memory.
@Suite struct LongTakeTests {
  private static let limit = 40 << 20
  private static let seconds = 7200

  /// Slow: two hours of tone through the whole chain, as fast as it goes.
  @Test func `a two-hour file becomes a take in under 40 MB`() throws {
    let folder = try TempFolder()
    // 8 bits keep the file at 345 MB.
    let second = [UInt8](pack(Tone.sine(48_000, hz: 440, db: -12), .u8))
    let bytes = Self.seconds * second.count
    var wav = Wav([]).bytes(.u8)
    for (at, value) in [(4, 36 + bytes), (40, bytes)] {
      for i in 0..<4 { wav[at + i] = UInt8(truncatingIfNeeded: value >> (8 * i)) }
    }
    let part = Data((0..<100).flatMap { _ in second })
    try folder.write("in.wav", wav)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file("in.wav")))
    try file.seekToEnd()
    for _ in 0..<(Self.seconds / 100) { try file.write(contentsOf: part) }
    try file.close()

    let said = try holdfast(
      [
        "record", "--json", "--input", "file:" + folder.file("in.wav"), "-o", folder.file("take.opus"),
        "--complexity", "0",
      ], timeout: 400)
    #expect(said.peakMemory < Self.limit && said.peakMemory > 1 << 20, "\(said.peakMemory)")
    let sealed = said.outLines.last { $0.hasPrefix("{\"event\":\"sealed\"") }
    let fields = try Fields(
      JSONSerialization.jsonObject(with: Data(try #require(sealed).utf8)) as? [String: Any] ?? [:])
    #expect(said.code == 0 && fields.int("effective_frames") == Self.seconds * 48_000)
    #expect(fields.int("duration_ms") == Self.seconds * 1000)

    let manifest = try Fields(file: folder.file("take.take.json"))
    #expect(abs((manifest.object("levels").number("rms_db") ?? 0) + 15.01) < 0.05)
    #expect(manifest.numbers("bars").allSatisfy { abs($0 - 0.75) < 0.01 })
    try expectWhole(folder.file("take.opus"))
    // The manifest has to fit into the reserve however long the take.
    let size = try FileManager.default.attributesOfItem(atPath: folder.file("take.take.json"))[.size] as? Int
    #expect((size ?? .max) < 32_768)
  }
}
