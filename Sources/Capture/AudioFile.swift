import CSndFile
import Platform

/// What a file says of its audio.
public struct AudioFacts: Sendable, Equatable {
  public var rate: Int  // hertz
  public var channels: Int
  public var container: String  // such as "WAV", "FLAC", "Ogg"
  public var sample: String  // how a sample is stored, such as "s16", "f32", "vorbis"
  public var contentType: String  // a MIME type, "application/octet-stream" where there is none
  public var statedFrames: Int64?  // nil where the file doesn't tell
}

/// An audio file of any kind, read as interleaved 32 bit floats at its own rate. What it is, its content decides.
///
/// Values go through untouched: NaN, infinity and what is beyond full scale too. Memory stays bounded however long
/// or broken the file is; what can't be sought is first copied to a temporary file. Use it on one thread at a time.
public final class AudioFile {
  public private(set) var facts: AudioFacts
  /// Faults that didn't stop the reading; it grows while the file is read.
  public var problems: [SourceProblem] {
    noted.sorted { ($0.offset ?? .max) < ($1.offset ?? .max) }
  }
  /// Size of the content in bytes.
  public var size: Int64 { file.size }

  private let file: ByteFile
  private let reader: SndFileReader
  private var noted: [SourceProblem]
  private var delivered: Int64 = 0
  private var mostFrames = Int64.max
  private var ended = false

  /// Opens a path. A FIFO is read to its end first.
  ///
  /// - Throws: `notFound`, `permission`, `notAFile`, `io`, or `unreadable` with the fault in one line.
  public convenience init(_ path: Path) throws(SourceError) { try self.init(ByteFile.open(path)) }

  /// Opens what a descriptor still holds. The descriptor stays the caller's, and its position stays where it was
  /// unless it is a pipe, which is read to its end.
  public convenience init(descriptor: Int32) throws(SourceError) {
    try self.init(ByteFile.open(descriptor: descriptor))
  }

  /// An opened file. Ogg Opus isn't for this reader: `Encoding` has its own.
  public init(_ file: ByteFile) throws(SourceError) {
    self.file = file
    let bytes = file.bytes
    guard file.size > 0 else { throw .unreadable("it is empty") }
    var start: Int64 = 0
    var head = try bytes.read(0, 16)
    // ID3 tags may stand in front of anything; libsndfile is told of the real start where we know the format.
    for _ in 0..<4 {
      guard let length = AudioFile.lengthOfID3(head) else { break }
      start += length
      head = try bytes.read(start, 16)
    }
    if !(head.holds("fLaC") || head.holds("OggS")) {
      start = 0
      head = try bytes.read(0, 16)
    }
    let whole = start..<file.size
    if let foreign = AudioFile.foreign(head) { throw .unreadable(foreign) }

    if WavLayout.recognises(head) {
      let layout = try WavLayout(reading: bytes)
      reader = try SndFileReader(layout.stream(of: file), raw: layout.raw)
      noted = layout.problems
      var stated = layout.frames ?? reader.statedFrames
      // A packed codec's last block is full; the fact chunk knows how much of it is sound.
      if layout.frames == nil, let fact = layout.factFrames, let all = stated, fact < all, all - fact < 65_536
      {
        stated = fact
        mostFrames = fact
      }
      facts = AudioFacts(
        rate: layout.format.rate, channels: layout.format.channels, container: layout.container,
        sample: reader.names.sample, contentType: "audio/wav", statedFrames: stated)
      return
    }
    reader = try SndFileReader(WindowStream(file, window: whole))
    try SourceLimits.check(rate: reader.rate, channels: reader.channels)
    noted = []
    let names = reader.names
    facts = AudioFacts(
      rate: reader.rate, channels: reader.channels, container: names.container, sample: names.sample,
      contentType: AudioFile.contentType(names), statedFrames: reader.statedFrames)
    if names.container == "Ogg", reader.statedFrames == nil {
      noted.append(
        SourceProblem(kind: "not_closed", message: "the last page lacks the end flag: the file wasn't closed")
      )
    }
  }

  /// Fills the front of `buffer` with whole frames, `[frames × channels]` floats, full scale ±1.0.
  ///
  /// - Parameter buffer: room for at least one frame, aligned for Float.
  /// - Returns: frames delivered; 0 at the end.
  /// - Throws: `read` where the rest is damaged or missing, `io` where the kernel failed; once, then it is the end.
  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    guard !ended else { return 0 }
    let channels = facts.channels
    let room = Int(min(Int64(buffer.byteCount / (channels * 4)), mostFrames - delivered))
    guard room > 0 else { return 0 }
    var failure: SourceError?
    let got = unsafe buffer.withUnsafeMutableBytes { bytes -> Int in
      let samples = unsafe bytes.bindMemory(to: Float.self)
      guard let first = samples.baseAddress else { return 0 }
      do throws(SourceError) {
        return try unsafe reader.read(into: first, frames: room)
      } catch {
        failure = error
        return 0
      }
    }
    delivered += Int64(got)
    if got > 0 { return got }
    ended = true
    if let failure { throw failure }
    try checkLength()
    return 0
  }

  /// libsndfile ends a damaged file as it ends a whole one: only the count tells.
  private func checkLength() throws(SourceError) {
    guard let stated = facts.statedFrames, delivered < stated else { return }
    let message = "it states \(stated) frames; \(delivered) could be decoded"
    if facts.container == "MP3" {  // without a Xing head the statement is only an estimate
      noted.append(
        SourceProblem(kind: "fewer_frames", atFrame: delivered, frames: stated - delivered, message: message))
    } else {
      throw .read(message)
    }
  }

  /// Amplitude from which a sample is at full scale, by the way samples are stored.
  public var fullScale: Float {
    switch facts.sample {
    case "u8", "s8": 127 / 128
    case "s24": 8_388_607 / 8_388_608
    case "s32", "f32", "f64": 1 - 1 / 16_777_216
    default: 32_767 / 32_768  // 16 bits, and lossy codecs, whose decoders aim at them
    }
  }

  // MARK: What it is

  /// Bytes of an ID3v2 tag with its head, where one begins.
  static func lengthOfID3(_ head: [UInt8]) -> Int64? {
    guard head.count >= 10, head.holds("ID3"), head[3] < 0xFF, head[4] < 0xFF,
      head[6...9].allSatisfy({ $0 < 0x80 })
    else { return nil }
    let body = head[6...9].reduce(Int64(0)) { $0 << 7 | Int64($1) }
    return 10 + body + (head[5] & 0x10 == 0 ? 0 : 10)
  }

  /// Formats that nobody here reads, by name, so that the person knows what to do.
  private static func foreign(_ head: [UInt8]) -> String? {
    let name: String
    if head.holds("ftyp", at: 4) {
      name = "an MP4 or M4A file"
    } else if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
      name = "a Matroska or WebM file"
    } else if head.holds("RIFF"), head.holds("AVI ", at: 8) {
      name = "an AVI file"
    } else if head.starts(with: [0x30, 0x26, 0xB2, 0x75]) {
      name = "a Windows Media file"
    } else if head.holds("#!AMR") {
      name = "an AMR file"
    } else {
      return nil
    }
    return "it is \(name), which can't be read; convert it to WAV, FLAC or Opus first"
  }

  private static func contentType(_ names: (container: String, sample: String)) -> String {
    switch names.container {
    case "WAV", "RF64", "W64": "audio/wav"
    case "FLAC": "audio/flac"
    case "AIFF": "audio/aiff"
    case "AU": "audio/basic"
    case "CAF": "audio/x-caf"
    case "MP3": "audio/mpeg"
    case "Ogg": "audio/ogg; codecs=\(names.sample == "s16" || names.sample == "s24" ? "flac" : names.sample)"
    default: "application/octet-stream"
    }
  }
}
