import Platform
import Session
import Signal
import Store

/// Why a manifest can't be used.
public struct ManifestError: Error, Equatable, Sendable {
  public var message: String
  /// A later version of the program wrote it.
  public var isNewer = false
}

extension Manifest {
  /// Reads a manifest. What the ledger tells comes from the embedded ledger, the rest from the fields, each checked.
  ///
  /// - Parameter bytes: the file, at most `largest` bytes.
  public init(_ bytes: [UInt8]) throws(ManifestError) {
    guard bytes.count <= Self.largest else {
      throw ManifestError(message: "the manifest is larger than 16 MiB")
    }
    let json: JSON
    do throws(JSONError) { json = try JSON.read(bytes) } catch {
      throw ManifestError(message: "the manifest isn't JSON: \(error.message) at byte \(error.offset)")
    }
    guard json["format"]?.string == Self.format else {
      throw ManifestError(message: "it isn't a take's manifest")
    }
    guard let version = json["version"]?.int, version >= 1 else { throw ManifestError(message: "no version") }
    guard version == Self.version else {
      throw ManifestError(
        message: "version \(version) is newer than this program knows; update holdfast", isNewer: true)
    }
    func field<T>(_ key: String, _ value: T?) throws(ManifestError) -> T {
      guard let value else { throw ManifestError(message: "field \(key) is missing or wrong") }
      return value
    }
    let frames = try field("effective_frames", json["effective_frames"]?.int)
    let size = try field("size_bytes", json["size_bytes"]?.int)
    guard frames >= 0, size >= 0 else { throw ManifestError(message: "a length is negative") }
    let sha = try field("sha256", json["sha256"]?.string)
    guard sha.utf8.count == 64, sha.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
      throw ManifestError(message: "field sha256 is no SHA-256")
    }
    let bars = try field("bars", json["bars"]?.array).compactMap(\.double)
    guard bars.count == 34, bars.allSatisfy({ (0...1).contains($0) }) else {
      throw ManifestError(message: "field bars isn't 34 numbers from 0 to 1")
    }
    let ledger = try field("ledger", json["ledger"]?.string.flatMap(Base64.decode))
    let contents = LedgerContents(ledger)
    guard contents.fault == nil else { throw ManifestError(message: "the embedded ledger is damaged") }
    let outcome = try field("outcome", json["outcome"]?.string.flatMap(Outcome.init(rawValue:)))
    let story = TakeStory(contents.records, clampedTo: frames)
    guard story.description != nil else {
      throw ManifestError(message: "the embedded ledger has no beginning")
    }
    let floor = min(60, max(levelFloor, json["levels"]?["noise_floor_db"]?.double ?? levelFloor))
    self.init(
      outcome: outcome, effectiveFrames: frames, sizeBytes: size, sha256: sha, story: story,
      noiseFloorDb: floor, bars: bars, speech: SpeechFigures(json, frames: frames), ledger: ledger)
    // What is written again from the ledger must be what stands there: a manifest that was edited isn't believed. A
    // field that stands only on one side is another version's; figures may differ by their last digit.
    guard case .object(let own)? = try? JSON.read(Array(text.utf8)) else { return }
    for (key, value) in own {
      guard let there = json[key], !there.isNearly(value) else { continue }
      throw ManifestError(message: "field \(key) differs from the embedded ledger")
    }
  }
}

extension JSON {
  /// Equal, but that numbers that aren't whole may differ by 0.01, and that fields of one side alone don't count.
  fileprivate func isNearly(_ other: JSON) -> Bool {
    switch (self, other) {
    case (.array(let a), .array(let b)): return a.count == b.count && zip(a, b).allSatisfy { $0.isNearly($1) }
    case (.object(let a), .object):
      return a.allSatisfy { key, value in other[key].map { value.isNearly($0) } ?? true }
    default:
      if case .int(let a) = self, case .int(let b) = other { return a == b }
      if let a = double, let b = other.double { return abs(a - b) <= 0.01 }
      return self == other
    }
  }
}
