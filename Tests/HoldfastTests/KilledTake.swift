import Foundation
import TestSupport
import Testing

/// Records `ms` of speech-like sound from standard input, and kills the recorder once it has arrived.
///
/// - Parameter settled: syncs come by meanwhile, so that the tails hold no more than the end.
func killedTake(
  ms: Int, in folder: TempFolder, id: String = "kill", settled: Bool = false,
  environment: [String: String?] = [:]
) throws -> String {
  let path = folder.file("take.opus")
  for attempt in 1... {
    try recordAndKill(ms: ms, to: path, id: id, settled: settled, environment)
    let tails = try ["tail.0", "tail.1"].map { try contents("\(path).partial/\($0)").count }
    // A machine that is busy may not have come to its syncs: the tails hold all since the last one.
    if !settled || tails.reduce(0, +) < 7_000 { break }
    try #require(attempt < 8, "no sync came by: \(tails)")
    try FileManager.default.removeItem(atPath: path + ".partial")
  }
  return path
}
private func recordAndKill(
  ms: Int, to path: String, id: String, settled: Bool, _ environment: [String: String?]
)
  throws
{
  let process = try Running(
    Places.holdfast, ["record", "--json", "--input", "-", "--take-id", id, "-o", path],
    environment: environment, input: .pipe)
  let sound = movingTone(48 * ms)
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
func movingTone(_ frames: Int) -> [Float] {
  (0..<frames).map { i in
    let t = Double(i) / 48_000
    return Float(0.15 * (1 + sin(t * 3)) * sin(2 * .pi * (200 + 150 * sin(t)) * t))
  }
}
/// The same sound, never disturbed.
func undisturbedTake(ms: Int, in folder: TempFolder, id: String = "kill") throws -> String {
  let path = folder.file("clean.opus")
  let said = try holdfast(
    ["record", "--input", "-", "--take-id", id, "-o", path],
    input: .bytes(pack(movingTone(48 * ms), .s16)))
  try #require(said.code == 0, "\(said)")
  return path
}
func recover(_ arguments: [String], environment: [String: String?] = [:]) throws -> (
  said: Finished, lines: [Fields]
) {
  let said = try holdfast(["recover", "--json"] + arguments, environment: environment)
  return (said, try said.jsonLines().map(Fields.init))
}
/// Checks that a recovered take is whole, and has the bytes of the clean one's first packets.
func expectRecovered(
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
func contents(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

/// Kills a recorder that has been given less than a packet.
func takeKilledAtOnce(in folder: TempFolder) throws -> String {
  let path = folder.file("take.opus")
  let process = try Running(Places.holdfast, ["record", "--json", "--input", "-", "-o", path], input: .pipe)
  process.send(pack(movingTone(200), .s16))
  try #require(process.waitFor("\"recording\""))
  process.signal(SIGKILL)
  process.wait()
  return path
}

func change(_ path: String, _ body: (inout Data) -> Void) throws {
  var data = try Data(contentsOf: URL(fileURLWithPath: path))
  body(&data)
  try data.write(to: URL(fileURLWithPath: path))
}
func pageStarts(_ data: Data) -> [Int] {
  (0..<(data.count - 4)).filter { data[$0..<($0 + 4)].elementsEqual("OggS".utf8) }
}
