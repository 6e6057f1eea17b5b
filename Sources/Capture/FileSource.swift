import Platform
import Signal

/// An audio file as a source of float32 frames, of s16 ones where it has those, at the file's own rate, as fast as they are asked for.
public final class FileSource: Source {
  public let file: AudioFile
  public let format: SourceFormat
  private let stored: SndFileReader.StoredSample
  public var statedFrames: Int64? { file.facts.statedFrames }
  public var problems: [SourceProblem] { file.problems }

  public var fullScale: Float { file.fullScale }

  public init(_ file: AudioFile) {
    self.file = file
    stored = file.facts.sample == "s16" ? .s16 : .float32
    format = SourceFormat(
      sample: stored == .s16 ? .s16 : .float32, rate: file.facts.rate, channels: file.facts.channels)
  }
  /// Opens the file; see `AudioFile.init`.
  public convenience init(_ path: Path) throws(SourceError) { self.init(try AudioFile(path)) }

  /// See `Source.read`. `buffer` must be aligned for Float.
  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    try file.read(into: &buffer, as: stored)
  }
}
