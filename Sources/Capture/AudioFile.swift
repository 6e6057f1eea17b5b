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

/// An audio file of any kind but Ogg Opus (`Encoding` reads that), read as interleaved 32 bit floats at its own rate. What it is, its content decides.
///
/// Values go through untouched: NaN, infinity and what is beyond full scale too. Memory stays bounded however long
/// or broken the file is; what can't be sought is first copied to a temporary file. Use it on one thread at a time.
public final class AudioFile {
  public private(set) var facts: AudioFacts
  /// Faults that didn't stop the reading.
  public var problems: [SourceProblem] {
    noted.sorted { ($0.offset ?? .max) < ($1.offset ?? .max) }
  }
  /// Size of the content in bytes.
  public var size: Int64 { file.size }

  private let file: ByteFile
  private let reader: SndFileReader
  private let noted: [SourceProblem]  // while opening
  private let length: Length
  private var delivered: Int64 = 0
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

  /// Reads an opened file.
  public init(_ file: ByteFile) throws(SourceError) {
    guard file.size > 0 else { throw .unreadable("it is empty") }
    let bytes = file.bytes
    let start = try AudioKind.start(of: bytes)
    let head = try bytes.read(start, 16)
    if let foreign = AudioKind.foreign(head) { throw .unreadable(foreign) }
    let opened =
      if WavLayout.recognises(head) {
        try Opened(wav: file)
      } else {
        try Opened(other: file, from: start)
      }
    self.file = file
    facts = opened.facts
    reader = opened.reader
    noted = opened.noted
    length = opened.length
  }

  /// Fills the front of `buffer` with whole frames, `[frames × channels]` floats, full scale ±1.0.
  ///
  /// - Parameter buffer: room for at least one frame, aligned for Float.
  /// - Returns: frames delivered; 0 at the end.
  /// - Throws: `read` where the rest is damaged or missing, `io` where the kernel failed; once, then it is the end.
  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    try read(into: &buffer, as: .float32)
  }
  /// The same, in the format that `FileSource` says.
  func read(into buffer: inout MutableRawSpan, as stored: SndFileReader.StoredSample) throws(SourceError)
    -> Int
  {
    guard !ended else { return 0 }
    let size = stored == .s16 ? MemoryLayout<Int16>.size : MemoryLayout<Float>.size
    var room = buffer.byteCount / (facts.channels * size)
    if case .cut(let frames) = length { room = Int(min(Int64(room), frames - delivered)) }
    guard room > 0 else { return 0 }
    var failure: SourceError?
    let got = unsafe buffer.withUnsafeMutableBytes { bytes -> Int in
      guard let first = bytes.baseAddress else { return 0 }
      do throws(SourceError) {
        return try unsafe reader.read(into: first, frames: room, as: stored)
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

  /// Goes to a frame without decoding what lies before, where that is exact: in files that hold the samples themselves.
  ///
  /// - Returns: false where it isn't, and behind the end: read on, or open the file anew.
  public func seek(toFrame frame: Int64) -> Bool {
    guard ["s8", "u8", "s16", "s24", "s32", "f32", "f64", "ulaw", "alaw"].contains(facts.sample),
      frame >= 0, frame < facts.statedFrames ?? 0, reader.seek(to: frame)
    else { return false }
    (delivered, ended) = (frame, false)
    return true
  }

  /// libsndfile's own words.
  public static var libraryVersion: String { unsafe String(cString: sf_version_string()) }

  /// Amplitude from which a sample is at full scale, by the way samples are stored.
  public var fullScale: Float {
    switch facts.sample {
    case "u8", "s8": 127 / 128
    case "s24": 8_388_607 / 8_388_608
    case "s32", "f32", "f64": 1 - 1 / 16_777_216
    default: 32_767 / 32_768  // 16 bits, and lossy codecs, whose decoders aim at them
    }
  }

  /// libsndfile ends a damaged file as it ends a whole one: only the count tells.
  private func checkLength() throws(SourceError) {
    guard case .exact(let stated, let tolerance) = length, delivered < stated - tolerance else { return }
    throw .read("it states \(stated) frames; \(delivered) could be decoded")
  }
}

// MARK: Opening

/// What the stated length is worth.
private enum Length {
  case unknown  // not told, an estimate, or the decoder's own business
  case exact(Int64, tolerance: Int64)  // fewer frames are damage
  case cut(Int64)  // the decoder gives more, to fill its last block
}

private struct Opened {
  var reader: SndFileReader
  var facts: AudioFacts
  var noted: [SourceProblem]
  var length = Length.unknown

  init(wav file: ByteFile) throws(SourceError) {
    let layout = try WavLayout(reading: file.bytes)
    let reader = try SndFileReader(layout.stream(of: file), raw: layout.raw)
    guard reader.channels == layout.format.channels else {
      throw .unreadable("its fmt chunk contradicts itself")
    }
    self.reader = reader
    noted = layout.problems
    var stated = layout.frames ?? reader.statedFrames
    // A packed codec's last block is full; the fact chunk knows how much of it is sound.
    if layout.format.isPacked, let fact = layout.factFrames, let all = stated,
      (0..<65_536).contains(all - fact)
    {
      stated = fact
      length = .cut(fact)
    } else if let stated {
      length = .exact(stated, tolerance: 0)
    }
    facts = AudioFacts(
      rate: layout.format.rate, channels: layout.format.channels, container: layout.container,
      sample: reader.names.sample, contentType: "audio/wav", statedFrames: stated)
  }

  init(other file: ByteFile, from start: Int64) throws(SourceError) {
    let reader = try SndFileReader(WindowStream(file, window: start..<file.size))
    try SourceLimits.check(rate: reader.rate, channels: reader.channels)
    self.reader = reader
    noted = []
    let names = reader.names
    facts = AudioFacts(
      rate: reader.rate, channels: reader.channels, container: names.container, sample: names.sample,
      contentType: AudioKind.contentType(names), statedFrames: reader.statedFrames)
    switch (names.container, reader.statedFrames) {
    case ("Ogg", nil):
      noted.append(
        SourceProblem(kind: "not_closed", message: "the last page lacks the end flag: the file wasn't closed")
      )
    case ("MP3", let stated?):
      // Without a Xing head the length is an estimate; with one it may differ by a packet or two.
      if try AudioKind.hasXingHead(file.bytes) { length = .exact(stated, tolerance: 2_304) }
    case (_, let stated?): length = .exact(stated, tolerance: 0)
    case (_, nil): break
    }
  }
}
