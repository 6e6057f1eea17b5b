import COgg
import Encoding
import Foundation

/// Test files: good streams by `opusenc`, and what is done to their pages.
enum OpusFixture {
  /// 5 s of a 440 Hz tone and noise, mono, 20 ms packets: 8 pages, of which 6 hold audio; 240 000 frames.
  static let good = [TestPage].reading(encode(frames: 240_000))
  static let preSkip = Int64(OpusFixture.good[0].body[10]) | Int64(OpusFixture.good[0].body[11]) << 8

  /// What `opusenc` makes of a tone on each channel, at 400 Hz and 100 more for each, over faint noise.
  static func encode(
    frames: Int, rate: Int = 48_000, channels: Int = 1, serial: Int = 1_001, options: [String] = []
  ) -> [UInt8] {
    inFolder { folder in
      let wav = folder.appending(path: "in.wav")
      let opus = folder.appending(path: "out.opus")
      try Data(wave(frames: frames, rate: rate, channels: channels)).write(to: wav)
      try run(
        "opusenc",
        ["--quiet", "--serial", "\(serial)", "--discard-comments", "--padding", "0"] + options + [
          wav.path, opus.path,
        ])
      return [UInt8](try Data(contentsOf: opus))
    }
  }

  /// What `opusdec` decodes: interleaved in WAV's channel order, 48 kHz.
  static func opusdec(_ file: [UInt8]) -> [Float] {
    inFolder { folder in
      let opus = folder.appending(path: "in.opus")
      let wav = folder.appending(path: "out.wav")
      try Data(file).write(to: opus)
      try run("opusdec", ["--quiet", "--float", "--rate", "48000", "--no-dither", opus.path, wav.path])
      let bytes = [UInt8](try Data(contentsOf: wav))
      guard let data = bytes.firstRange(of: Array("data".utf8)) else { return [] }
      return bytes[(data.upperBound + 4)...].withUnsafeBytes { raw in
        (0..<(raw.count / 4)).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
      }
    }
  }

  static func wave(frames: Int, rate: Int, channels: Int) -> [UInt8] {
    func number(_ value: Int, _ size: Int) -> [UInt8] { (0..<size).map { UInt8((value >> (8 * $0)) & 255) } }
    var noise = UInt64(7)
    var data: [UInt8] = []
    data.reserveCapacity(frames * channels * 2)
    for frame in 0..<frames {
      for channel in 0..<channels {
        noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let tone = 0.2 * sin(2 * Double.pi * Double(400 + 100 * channel) * Double(frame) / Double(rate))
        let sample = Int((tone + Double(noise >> 40) / Double(1 << 24) * 0.02) * 32_767)
        data += number(sample, 2)
      }
    }
    var wav = Array("RIFF".utf8) + number(36 + data.count, 4) + Array("WAVEfmt ".utf8) + number(16, 4)
    wav += number(1, 2) + number(channels, 2) + number(rate, 4) + number(rate * channels * 2, 4)
    wav += number(channels * 2, 2) + number(16, 2) + Array("data".utf8) + number(data.count, 4) + data
    return wav
  }

  private static func inFolder<R>(_ body: (URL) throws -> R) -> R {
    do {
      let folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-" + UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      return try body(folder)
    } catch { fatalError("the test can't make its input (is opus-tools installed?): \(error)") }
  }
  private static func run(_ tool: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [tool] + arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.featureUnsupported) }
  }

  // MARK: Headers

  static func head(
    version: UInt8 = 1, channels: UInt8 = 1, preSkip: Int64 = OpusFixture.preSkip, gain: Int16 = 0,
    family: UInt8 = 0,
    table: [UInt8] = []
  ) -> [UInt8] {
    let level = UInt16(bitPattern: gain)
    return Array("OpusHead".utf8) + [version, channels, UInt8(preSkip & 255), UInt8(preSkip >> 8)]
      + [0x80, 0xBB, 0, 0, UInt8(level & 255), UInt8(level >> 8), family] + table
  }
  static func tags(vendor: [UInt8] = Array("case".utf8), comments: [[UInt8]] = []) -> [UInt8] {
    var bytes = Array("OpusTags".utf8) + number(vendor.count) + vendor + number(comments.count)
    for comment in comments { bytes += number(comment.count) + comment }
    return bytes
  }
  static func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8((value >> (8 * $0)) & 255) } }

  /// The good stream's audio behind other headers, its pages numbered anew.
  static func stream(head: [UInt8], tags: [UInt8]) -> [TestPage] {
    var pages = [TestPage(flags: 2, granule: 0, sequence: 0, packets: [head])]
    let laces = TestPage.lacing(tags.count)
    for start in stride(from: 0, to: laces.count, by: 255) {
      let part = Array(laces[start..<min(start + 255, laces.count)])
      let isLast = start + 255 >= laces.count
      let from = start * 255
      let body = Array(tags[from..<(from + part.reduce(0) { $0 + Int($1) })])
      pages.append(
        TestPage(
          flags: start == 0 ? 0 : 1, granule: isLast ? 0 : -1, sequence: UInt32(pages.count), lacing: part,
          body: body))
    }
    for var page in good.dropFirst(2) {
      page.sequence = UInt32(pages.count)
      pages.append(page)
    }
    return pages
  }
}

/// An Ogg page to be altered; its checksum is set when it is written.
struct TestPage {
  var flags: UInt8 = 0
  var granule: Int64 = 0
  var serial: UInt32 = 1_001
  var sequence: UInt32 = 0
  var lacing: [UInt8] = []
  var body: [UInt8] = []

  static func lacing(_ size: Int) -> [UInt8] {
    [UInt8](repeating: 255, count: size / 255) + [UInt8(size % 255)]
  }
  init(flags: UInt8, granule: Int64, serial: UInt32 = 1_001, sequence: UInt32, lacing: [UInt8], body: [UInt8])
  {
    (self.flags, self.granule, self.serial) = (flags, granule, serial)
    (self.sequence, self.lacing, self.body) = (sequence, lacing, body)
  }
  init(flags: UInt8, granule: Int64, serial: UInt32 = 1_001, sequence: UInt32, packets: [[UInt8]]) {
    self.init(
      flags: flags, granule: granule, serial: serial, sequence: sequence,
      lacing: packets.flatMap { Self.lacing($0.count) }, body: packets.flatMap { $0 })
  }

  var bytes: [UInt8] {
    var header: [UInt8] = Array("OggS".utf8) + [0, flags]
    header += (0..<8).map { UInt8(truncatingIfNeeded: granule >> (8 * $0)) }
    header += (0..<4).map { UInt8(truncatingIfNeeded: serial >> (8 * UInt32($0))) }
    header += (0..<4).map { UInt8(truncatingIfNeeded: sequence >> (8 * UInt32($0))) }
    header += [0, 0, 0, 0, UInt8(lacing.count)] + lacing
    var content = body
    header.withUnsafeMutableBufferPointer { head in
      content.withUnsafeMutableBufferPointer { rest in
        var page = ogg_page(
          header: head.baseAddress, header_len: head.count, body: rest.baseAddress, body_len: rest.count)
        ogg_page_checksum_set(&page)
      }
    }
    return header + content
  }
}

extension [TestPage] {
  var bytes: [UInt8] { flatMap(\.bytes) }
  var frames: Int64 { (last?.granule ?? 0) - OpusFixture.preSkip }
  /// Where each page begins.
  var offsets: [Int] { reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.bytes.count) } }

  static func reading(_ file: [UInt8]) -> [TestPage] {
    var reader = OggPageReader(read: bytesSource(file))
    var pages: [TestPage] = []
    while case .page(let page)? = try? reader.next() {
      pages.append(
        TestPage(
          flags: page.flags, granule: page.granule, serial: page.serial, sequence: page.sequence,
          lacing: page.lacing,
          body: page.body))
    }
    return pages
  }
}

/// Gives a file out of memory, `step` bytes at a time at most.
func bytesSource(_ file: [UInt8], step: Int = .max) -> OggReadBytes {
  { (offset: Int64, into: inout MutableRawSpan) throws(OpusFileError) -> Int in
    let from = Swift.min(Int(offset), file.count)
    let count = Swift.min(into.byteCount, file.count - from, step)
    for i in 0..<count { into.storeBytes(of: file[from + i], toByteOffset: i, as: UInt8.self) }
    return count
  }
}

func facts(_ file: [UInt8]) throws -> OpusFileFacts { try opusFileFacts(read: bytesSource(file)) }
func facts(_ pages: [TestPage]) throws -> OpusFileFacts { try facts(pages.bytes) }
func kinds(_ facts: OpusFileFacts) -> [OpusProblem.Kind] { facts.problems.map(\.kind) }

struct Decoded {
  var samples: [Float]
  var channels: Int
  var facts: OpusFileFacts?
  var frames: Int { samples.count / channels }
}
/// Decodes a whole file in blocks of `block` frames, from a frame on.
func decode(_ file: [UInt8], from frame: Int64 = 0, block: Int = 1_000) throws -> Decoded {
  var decoder = try OpusStreamDecoder(read: bytesSource(file))
  _ = try decoder.seek(toFrame: frame)
  var samples: [Float] = []
  var buffer = [Float](repeating: .nan, count: block * decoder.channels)
  while true {
    var span = buffer.mutableSpan
    let frames = try decoder.read(into: &span)
    if frames == 0 { break }
    samples += buffer[..<(frames * decoder.channels)]
  }
  return Decoded(samples: samples, channels: decoder.channels, facts: decoder.facts)
}
