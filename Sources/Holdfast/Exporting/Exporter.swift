import Capture
import Encoding
import Platform
import Session
import Signal
import Store

/// What an export made.
public struct ExportedFile: Sendable, Equatable {
  public var path: Path
  public var source: Path
  public var format: ExportFormat
  /// First frame of the stretch, at `rate`.
  public var fromFrame: Int64
  /// Frames that the file decodes to, at `rate`.
  public var frames: Int64
  /// Hertz.
  public var rate: Int
  public var channels: Int
  public var sizeBytes: Int64
  /// What a person should know, one line each, such as damage outside of the stretch.
  public var notes: [String]

  public var durationMs: Int64 { milliseconds(frames: takeFrames(deviceFrames: frames, rate: rate)) }

  /// The line of `export --json`.
  public var json: JSON {
    var fields: [(String, JSON)] = [("event", .string("exported"))]
    fields += path.fields + [("source", .string(source.text))]
    if !source.isUTF8 { fields.append(("source_hex", .string(source.hex))) }
    fields += [
      ("from_ms", .int(milliseconds(frames: takeFrames(deviceFrames: fromFrame, rate: rate)))),
      ("duration_ms", .int(durationMs)), ("frames", .int(frames)), ("sample_rate", .int(Int64(rate))),
      ("channels", .int(Int64(channels))), ("content_type", .string(format.contentType)),
      ("size_bytes", .int(sizeBytes)), ("notes", .array(notes.map { .string($0) })),
    ]
    return .object(fields)
  }
}

/// What a file is exported to, by the ending of its name.
public enum ExportFormat: String, Sendable, CaseIterable {
  /// 16 bit, at the source's rate.
  case wav, flac
  /// The packets as they are, cut; only of Ogg Opus.
  case opus

  public var contentType: String {
    switch self {
    case .wav: "audio/wav"
    case .flac: "audio/flac"
    case .opus: SealedTake.contentType
    }
  }
  /// - Parameter name: nil is returned for one with another ending.
  public init?(naming name: Path) {
    guard let format = Self.allCases.first(where: { name.hasSuffix(".\($0.rawValue)") }) else { return nil }
    self = format
  }
}

/// Writes a stretch of a file to a new one, exact to the sample.
public enum Exporter {
  /// How the name of a file begins that isn't finished yet; the next export to the same name removes one of a killed process.
  static let temporary = Array(".holdfast-export-".utf8)

  /// - Parameters:
  ///   - source: any file that `inspect` reads, also an unfinished take; `-` is standard input. For `.opus` an Ogg Opus file.
  ///   - output: `NAME.wav`, `NAME.flac` or `NAME.opus`; appears once it is whole and on the disk.
  ///   - range: the stretch, whole milliseconds; its end may lie behind the file's.
  ///   - force: what stands there goes to the trash beside it; else that is an error.
  ///   - isCancelled: asked now and then, on the calling thread; true ends it, and nothing is left.
  ///   - progress: told as often how much is decoded, 0…1; not where nothing is.
  /// - Throws: 64 a stretch that isn't in the file, or an ending that isn't one of the three; 65 where audio of the stretch is
  ///   missing or damaged; 66; 73 where the output can't be made or exists; 74 disk; 75 another process writes it; 77.
  /// - Complexity: Opus to Opus a pass over the pages up to the stretch's end; else it is decoded too.
  public static func export(
    _ source: Path, to output: Path, range: ClipRange = .all, force: Bool = false,
    isCancelled: () -> Bool = { false }, progress: (Double) -> Void = { _ in }
  ) throws(RecorderFailure) -> ExportedFile {
    guard let format = ExportFormat(naming: output.name) else {
      throw RecorderFailure(
        code: 64, kind: "usage", path: output,
        message: "-o \(output.display): the name must end in .wav, .flac or .opus")
    }
    _ = try range.frames(rate: takeRate)  // an empty stretch is one at any rate
    let reader = try ClipReader(source)
    let frames = try range.frames(rate: reader.rate)
    guard !isCancelled() else { throw cancelled(output) }  // asked before anything is made
    let place = try ExportPlace(output, source: source, force: force)
    var made = ExportedFile(
      path: output, source: source, format: format, fromFrame: frames.lowerBound, frames: 0,
      rate: reader.rate, channels: reader.channels, sizeBytes: 0, notes: [])
    switch format {
    case .opus: try cut(reader, frames, to: place, &made, isCancelled)
    case .wav: try decode(reader, frames, .wav, to: place, &made, isCancelled, progress)
    case .flac: try decode(reader, frames, .flac, to: place, &made, isCancelled, progress)
    }
    made.sizeBytes = try place.commit()
    return made
  }

  // MARK: decoded

  private static func decode(
    _ reader: ClipReader, _ frames: Range<Int64>, _ container: SndFileWriter.Container,
    to place: ExportPlace, _ made: inout ExportedFile, _ isCancelled: () -> Bool, _ progress: (Double) -> Void
  ) throws(RecorderFailure) {
    try reader.seek(to: frames.lowerBound)
    var block = [Float](repeating: 0, count: 9_600 * reader.channels)
    let writer = try place.writing { () throws(SoundWriteError) in
      try SndFileWriter(
        descriptor: place.descriptor, container: container, rate: reader.rate, channels: reader.channels)
    }
    while reader.position < frames.upperBound {
      guard !isCancelled() else { throw cancelled(place.output) }
      progress(reader.fraction(of: frames))
      let n = try reader.read(into: &block, atMost: Int(min(9_600, frames.upperBound - reader.position)))
      if n == 0 { break }
      let samples = block.prefix(n * reader.channels).map(sixteenBits)
      try place.writing { () throws(SoundWriteError) in try writer.write(samples) }
    }
    try place.writing { () throws(SoundWriteError) in try writer.finish() }
    made.frames = writer.frames
    if let missing = reader.missing(in: frames) { throw advising(missing) }
    try check(reader.position, frames, reader)
    // libsndfile writes no FLAC file of no frames.
    guard writer.frames > 0 || made.format == .wav else { throw soundless(reader) }
    if let lost = reader.lost.first(where: { $0.overlaps(frames) }) {
      throw isLost(lost, reader.rate, reader.shown)
    }
    if let lost = reader.lost.first { made.notes.append(note(lost, reader.rate)) }
    made.notes += reader.notes
  }

  // MARK: packets

  private static func cut(
    _ reader: ClipReader, _ frames: Range<Int64>, to place: ExportPlace, _ made: inout ExportedFile,
    _ isCancelled: () -> Bool
  ) throws(RecorderFailure) {
    guard let bytes = reader.opus else {
      throw RecorderFailure(
        code: 64, kind: "usage", path: reader.shown,
        message:
          "\(reader.shown.display) is no Ogg Opus file, and export never encodes: write .wav or .flac, or record it with --input file:"
      )
    }
    if let hole = reader.lost.first(where: { $0.overlaps(frames) }) {
      throw isLost(hole, takeRate, reader.shown)
    }
    var steps = OpusStreamReader(read: bytes)
    var cutter = OpusCutter(frames, serial: serial(frames, reader.shown))
    while !cutter.isFinished {
      guard !isCancelled() else { throw cancelled(place.output) }
      let step: OpusStep?
      do throws(OpusFileError) { step = try steps.nextStep() } catch {
        throw Inspector.failure(error, shown: reader.shown)
      }
      guard let step else { break }
      let pages: [UInt8]
      do throws(OpusCutter.Fault) { pages = try cutter.take(step, steps.headers) } catch {
        throw failure(error, reader.shown)
      }
      try place.append(pages)
    }
    if let missing = reader.missing(in: frames, steps.facts) { throw advising(missing) }
    try check(cutter.position, frames, reader)
    guard cutter.position > 0 else { throw soundless(reader) }
    try place.append(cutter.finish())
    made.frames = cutter.frames
    if cutter.hasLossBefore {
      made.notes.append("audio before the stretch is lost or damaged; the stretch itself is whole")
    }
  }
  /// The same stretch of the same length gives the same bytes.
  private static func serial(_ frames: Range<Int64>, _ source: Path) -> UInt32 {
    let text = "\(source.name.text) \(frames.lowerBound) \(frames.upperBound)"
    return Digest.sha256(Array(text.utf8)).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  // MARK: what goes wrong

  private static func failure(_ fault: OpusCutter.Fault, _ shown: Path) -> RecorderFailure {
    switch fault {
    case .lost(let lost): return isLost(lost, takeRate, shown)
    case .chained(let frame):
      let at = ClipTime.text(milliseconds(frames: frame))
      return RecorderFailure(
        code: 65, kind: "chained", path: shown,
        message:
          "\(shown.display) is a chain of streams, and the next begins at \(at): cut on one side of it, or write .wav or .flac"
      )
    }
  }

  /// - Parameter end: frame of the file that was come to.
  private static func check(
    _ end: Int64, _ frames: Range<Int64>, _ reader: ClipReader
  ) throws(RecorderFailure) {
    if end == 0, frames == 0..<Int64.max { return }  // all of a file without a frame
    guard end <= frames.lowerBound || end < frames.upperBound && frames.upperBound != .max else { return }
    let length = ClipTime.text(milliseconds(frames: takeFrames(deviceFrames: end, rate: reader.rate)))
    throw RecorderFailure(
      code: 64, kind: "range", path: reader.shown,
      message: "\(reader.shown.display) ends at \(length): the stretch goes beyond it; nothing was made")
  }
  private static func soundless(_ reader: ClipReader) -> RecorderFailure {
    RecorderFailure(
      code: 64, kind: "range", path: reader.shown,
      message: "\(reader.shown.display) has no sound: only a .wav can be made of it; nothing was made")
  }
  private static func advising(_ missing: RecorderFailure) -> RecorderFailure {
    var failure = missing
    failure.message +=
      "; nothing was made: end before that with --to, or `holdfast recover` makes a copy of what there is"
    return failure
  }
  private static func isLost(_ lost: Range<Int64>, _ rate: Int, _ shown: Path) -> RecorderFailure {
    RecorderFailure(
      code: 65, kind: "damaged", path: shown,
      message:
        "\(shown.display): \(note(lost, rate)), inside of the stretch; nothing was made: choose another, or `holdfast recover` makes a copy with silence there"
    )
  }
  private static func note(_ lost: Range<Int64>, _ rate: Int) -> String {
    func ms(_ frames: Int64) -> Int64 { milliseconds(frames: takeFrames(deviceFrames: frames, rate: rate)) }
    return "\(ms(Int64(lost.count))) ms of audio at \(ClipTime.text(ms(lost.lowerBound))) are lost"
  }
  private static func cancelled(_ output: Path) -> RecorderFailure {
    RecorderFailure(code: 75, kind: "cancelled", path: output, message: "stopped; nothing was made")
  }
}
