import Capture
import Encoding
import Platform
import Signal

/// An Ogg Opus file as a source: the same reader and decoder that `inspect` and `verify` use.
///
/// Lost audio is silence of the right length, so that the time line holds; `problems` names it.
final class OpusFileSource: Source {
  let format: SourceFormat
  var statedFrames: Int64? { nil }
  private var decoder: OpusStreamDecoder

  /// - Throws: `.notOpus` for another kind of file, and what the reader says of a broken one.
  init(_ file: ByteFile) throws(OpusFileError) {
    decoder = try OpusStreamDecoder(read: file.oggBytes)
    format = SourceFormat(sample: .float32, rate: takeRate, channels: decoder.channels)
  }

  /// Complete at the end of the file; none before it.
  var problems: [SourceProblem] {
    (decoder.facts?.problems ?? []).map {
      SourceProblem(kind: $0.kind.rawValue, offset: $0.offset, bytes: $0.bytes, message: $0.message)
    }
  }
  var damage: String? { decoder.facts?.problems.first { $0.audioAffected }?.message }

  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    do throws(OpusFileError) {
      return try unsafe buffer.withUnsafeMutableBytes { bytes throws(OpusFileError) in
        var samples = unsafe MutableSpan(_unsafeElements: bytes.bindMemory(to: Float.self))
        return try decoder.read(into: &samples)
      }
    } catch {
      switch error {
      case .io(let code): throw .io(code)
      case .notOpus(let why), .noAudio(let why), .header(let why): throw .read(why)
      case .codec(let code): throw .read("libopus refuses a part of it (\(OpusError(code: code).text))")
      }
    }
  }
}
