import Foundation
import TestSupport
import Testing

/// A JSON object that the command printed or wrote; nil where a field is missing or of another type.
struct Fields: CustomStringConvertible {
  let raw: [String: Any]
  init(_ raw: [String: Any]) { self.raw = raw }
  init(file path: String) throws {
    let json = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
    guard let object = json as? [String: Any] else { throw Failure("\(path): not an object") }
    raw = object
  }

  func int(_ key: String) -> Int? { (raw[key] as? NSNumber)?.intValue }
  func number(_ key: String) -> Double? { (raw[key] as? NSNumber)?.doubleValue }
  func text(_ key: String) -> String? { raw[key] as? String }
  func flag(_ key: String) -> Bool? { raw[key] as? Bool }
  func numbers(_ key: String) -> [Double] { (raw[key] as? [NSNumber])?.map(\.doubleValue) ?? [] }
  func objects(_ key: String) -> [Fields] { (raw[key] as? [[String: Any]])?.map(Fields.init) ?? [] }
  func object(_ key: String) -> Fields { Fields(raw[key] as? [String: Any] ?? [:]) }
  var description: String { "\(raw)" }
}

/// What one `holdfast record --json` came to.
struct Recorded {
  let said: Finished
  let folder: TempFolder
  let path: String
  let events: [Fields]

  init(_ said: Finished, _ folder: TempFolder, _ path: String) throws {
    (self.said, self.folder, self.path) = (said, folder, path)
    events = try said.jsonLines().map(Fields.init)
  }
  func all(_ event: String) -> [Fields] { events.filter { $0.text("event") == event } }
  var sealed: Fields? { all("sealed").first }
  var levels: [Fields] { all("level") }
  var error: Fields? { all("error").first }
  func manifest() throws -> Fields { try Fields(file: path.dropping(".opus") + ".take.json") }
}

/// Runs `holdfast record --json -o FOLDER/NAME` to its end.
func record(
  _ arguments: [String], to name: String = "take.opus", in folder: TempFolder? = nil,
  environment: [String: String?] = [:], input: Input = .nothing, timeout: Double = 120
) throws -> Recorded {
  let folder = try folder ?? TempFolder("take")
  let said = try holdfast(
    ["record", "--json", "-o", folder.file(name)] + arguments, environment: environment, input: input,
    timeout: timeout)
  return try Recorded(said, folder, folder.file(name))
}

/// `holdfast inspect --json` of one file.
func inspect(_ path: String, input: Input = .nothing) throws -> (said: Finished, report: Fields) {
  let said = try holdfast(["inspect", "--json", "--", path], input: input)
  return (said, try said.jsonLines().first.map(Fields.init) ?? Fields([:]))
}

/// A recording that goes on while the test does things to it.
final class LiveTake {
  let folder: TempFolder
  let path: String
  let process: Running
  private var seen: [String: Int] = [:]

  /// Starts `holdfast record --json --realtime` and, unless told not to, waits until it records.
  init(
    _ arguments: [String] = ["--input", "tone:440"], in folder: TempFolder? = nil,
    to name: String = "take.opus",
    environment: [String: String?] = [:], json: Bool = true, terminal: Bool = false,
    begun: Bool = true
  ) throws {
    self.folder = try folder ?? TempFolder("live")
    path = self.folder.file(name)
    process = try Running(
      Places.holdfast, ["record", "--realtime", "-o", path] + (json ? ["--json"] : []) + arguments,
      environment: environment, terminal: terminal)
    if begun, json { try reach("recording") }
  }

  /// Waits for the next change to this state.
  func reach(_ state: String) throws {
    let wanted = (seen[state] ?? 0) + 1
    seen[state] = wanted
    guard until({ count("\"state\":\"\(state)\"") >= wanted }) else {
      throw Failure("never \(state): \(process.wait(timeout: 0.1))")
    }
  }
  func pause() throws {
    process.signal(SIGUSR1)
    try reach("paused")
  }
  func resume() throws {
    process.signal(SIGUSR1)
    try reach("recording")
  }
  /// Waits until this much is in the take.
  func reach(ms: Int) throws {
    guard until({ effectiveMs >= ms }) else { throw Failure("\(ms) ms never reached: \(effectiveMs)") }
  }
  var effectiveMs: Int {
    let last = text.components(separatedBy: "\"effective_ms\":").last ?? ""
    return Int(last.prefix { $0.isNumber }) ?? 0
  }
  func stop(_ signal: Int32 = SIGINT) throws -> Recorded {
    process.signal(signal)
    return try Recorded(process.wait(timeout: 20), folder, path)
  }

  private var text: String { String(decoding: process.out, as: UTF8.self) }
  private func count(_ text: String) -> Int { self.text.components(separatedBy: text).count - 1 }
  func until(timeout: Double = 10, _ condition: () -> Bool) -> Bool {
    let end = Date() + timeout
    while !condition() {
      if Date() > end || !process.isRunning { return condition() }
      usleep(2000)
    }
    return true
  }
}

extension String {
  func dropping(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
  /// A bound on what a file's name may say: its last component.
  var fileName: String { String(split(separator: "/").last ?? "") }
  var exists: Bool { FileManager.default.fileExists(atPath: self) }
}

extension Finished {
  /// One line, ours, on standard error.
  var isOneLine: Bool {
    let lines = errText.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.count == 2 && lines[1].isEmpty && errText.hasPrefix("holdfast: ")
  }
}

/// One page of an Ogg file, by RFC 3533.
struct OggPage {
  let flags: UInt8
  let granule: Int64
  let serial: UInt32
  let sequence: UInt32
  let lacing: [UInt8]
  let body: [UInt8]
  var isFirst: Bool { flags & 2 != 0 }
  var isLast: Bool { flags & 4 != 0 }
  var packets: Int { lacing.count { $0 < 255 } }

  /// All pages of a file; throws where one doesn't follow the other.
  static func read(_ path: String) throws -> [OggPage] {
    let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    func number(_ at: Int, _ size: Int) -> UInt64 {
      (0..<size).reduce(0) { $0 | UInt64(data[at + $1]) << (8 * UInt64($1)) }
    }
    var pages: [OggPage] = []
    var at = 0
    while at < data.count {
      guard at + 27 <= data.count, data[at..<at + 4].elementsEqual("OggS".utf8) else {
        throw Failure("\(path): no page at \(at)")
      }
      let lacing = Array(data[(at + 27)..<(at + 27 + Int(data[at + 26]))])
      let body = at + 27 + lacing.count
      let end = body + lacing.reduce(0) { $0 + Int($1) }
      guard end <= data.count else { throw Failure("\(path): cut page at \(at)") }
      pages.append(
        OggPage(
          flags: data[at + 5], granule: Int64(bitPattern: number(at + 6, 8)),
          serial: UInt32(number(at + 14, 4)), sequence: UInt32(number(at + 18, 4)), lacing: lacing,
          body: Array(data[body..<end])))
      at = end
    }
    return pages
  }
}

/// Checks that a sealed take is what RFC 7845, the sealed event and the manifest say, by our own eyes and opusinfo's.
func expectSealed(
  _ take: Recorded, frames: Int? = nil, code: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(take.said.code == code, "\(take.said)", sourceLocation: sourceLocation)
  let sealed = try #require(take.sealed, "\(take.said)", sourceLocation: sourceLocation)
  let stated = try #require(sealed.int("effective_frames"), sourceLocation: sourceLocation)
  if let frames { #expect(stated == frames, sourceLocation: sourceLocation) }
  #expect(sealed.int("duration_ms") == stated / 48, sourceLocation: sourceLocation)
  try expectWhole(take.path, frames: stated, sourceLocation: sourceLocation)
  let size = try FileManager.default.attributesOfItem(atPath: take.path)[.size] as? Int
  let sha256 = try Judge.sha256(take.path)
  for fields in [sealed, try take.manifest()] {
    #expect(fields.int("size_bytes") == size, sourceLocation: sourceLocation)
    #expect(fields.text("sha256") == sha256, sourceLocation: sourceLocation)
    #expect(fields.int("effective_frames") == stated, sourceLocation: sourceLocation)
    #expect(fields.int("pause_count") == sealed.int("pause_count"), sourceLocation: sourceLocation)
  }
  #expect(!(take.path + ".partial").exists, sourceLocation: sourceLocation)
}

/// Checks a file's pages and opusinfo's opinion; with `frames`, what opusdec makes of it.
func expectWhole(
  _ path: String, frames: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(try Judge.opusinfoComplaints(path) == [], sourceLocation: sourceLocation)
  let pages = try OggPage.read(path)
  try #require(pages.count >= 3, sourceLocation: sourceLocation)
  #expect(
    pages[0].body.starts(with: "OpusHead".utf8) && pages[0].packets == 1, sourceLocation: sourceLocation)
  #expect(
    pages[1].body.starts(with: "OpusTags".utf8) && pages[1].packets == 1, sourceLocation: sourceLocation)
  #expect(pages[0].isFirst && pages.dropFirst().allSatisfy { !$0.isFirst }, sourceLocation: sourceLocation)
  #expect(pages.map(\.isLast).firstIndex(of: true) == pages.count - 1, sourceLocation: sourceLocation)
  #expect(pages.map(\.sequence) == Array(0..<UInt32(pages.count)), sourceLocation: sourceLocation)
  if let frames {
    #expect(try Judge.opusdecFrames(path) == frames, sourceLocation: sourceLocation)
    let preSkip = Int64(pages[0].body[10]) | Int64(pages[0].body[11]) << 8
    #expect(pages[pages.count - 1].granule == Int64(frames) + preSkip, sourceLocation: sourceLocation)
  }
}
