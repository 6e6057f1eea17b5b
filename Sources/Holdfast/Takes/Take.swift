import Capture
import Encoding
import Platform
import Session
import Store

/// A sealed take, opened by its path. A value: what it says was true when it was opened, and a sealed file never changes.
/// Any thread.
public struct Take: Sendable {
  /// What a server is given with the audio. Final since the seal.
  public struct Submission: Sendable, Equatable {
    public var durationMs: Int64
    public var contentType: String
    public var sizeBytes: Int64
    /// Lowercase hexadecimal.
    public var sha256: String
    public var pauseCount: Int

    public var json: JSON {
      .object([
        ("duration_ms", .int(durationMs)), ("content_type", .string(contentType)),
        ("size_bytes", .int(sizeBytes)), ("sha256", .string(sha256)),
        ("pause_count", .int(Int64(pauseCount))),
      ])
    }
  }

  public let path: Path
  /// What was written down when it was sealed.
  public let manifest: Manifest

  /// Opens a sealed take: reads its manifest and compares the size; decodes nothing.
  ///
  /// - Parameter path: `NAME.opus`.
  /// - Throws: 66 where there is none, 65 where it isn't sealed, has no manifest that can be used, or another size than was
  ///   sealed; 74 and 77 where it can't be read.
  public init(_ path: Path) throws(RecorderFailure) {
    if Inspector.partialName(path) != nil {
      throw RecorderFailure(
        code: 65, kind: "unfinished", path: path,
        message: "\(path.display) is an unfinished take: `holdfast recover` seals it")
    }
    let size = try Self.open(path).size
    guard let bytes = Manifest.bytes(of: path) else {
      throw RecorderFailure(
        code: 65, kind: "no_manifest", path: path,
        message: "\(path.display) is no take: it has no manifest beside it")
    }
    do throws(ManifestError) { manifest = try Manifest(bytes) } catch {
      throw RecorderFailure(
        code: 65, kind: "manifest", path: path,
        message: "the manifest of \(path.display) can't be used: \(error.message)")
    }
    guard manifest.sizeBytes == size else {
      throw RecorderFailure(
        code: 65, kind: "checksum", path: path,
        message:
          "\(path.display) isn't the file that was sealed: it has \(size) bytes, the manifest says \(manifest.sizeBytes)"
      )
    }
    self.path = path
  }
  private static func open(_ path: Path) throws(RecorderFailure) -> ByteFile {
    do throws(SourceError) { return try ByteFile.open(path) } catch {
      throw Failures.source(error, path: path)
    }
  }

  /// 48 kHz frames it decodes to.
  public var effectiveFrames: Int64 { manifest.effectiveFrames }
  public var durationMs: Int64 { manifest.durationMs }
  /// The front end's own, as it was given to the recorder.
  public var context: String? { manifest.story.description?.context }
  public var takeID: String { manifest.story.description?.takeID ?? "" }
  public var submission: Submission {
    Submission(
      durationMs: durationMs, contentType: SealedTake.contentType, sizeBytes: manifest.sizeBytes,
      sha256: manifest.sha256, pauseCount: manifest.story.pauses.count)
  }

  /// All that can be said of it; decodes it.
  public func inspect() throws(RecorderFailure) -> InspectReport { try Inspector.inspect(path) }
  /// Holds it against its manifest: pages, checksum, decoded length, ledger; decodes it.
  public func verify() throws(RecorderFailure) -> VerifyReport { try Verifier.verify(path) }
  /// Writes a stretch of it to `NAME.wav`, `NAME.flac` or `NAME.opus`; see `Exporter.export`.
  public func export(
    to output: Path, range: ClipRange = .all, force: Bool = false, isCancelled: () -> Bool = { false }
  ) throws(RecorderFailure) -> ExportedFile {
    try Exporter.export(path, to: output, range: range, force: force, isCancelled: isCancelled)
  }
  /// SHA-256 of the file as it is now, lowercase hexadecimal. Reads all of it: 2 GB a second.
  public func checksum() throws(RecorderFailure) -> String {
    let file = try Self.open(path)
    do throws(OpusFileError) { return try Inspector.digest(file.oggBytes) } catch {
      throw Inspector.failure(error, shown: path)
    }
  }
}

extension Manifest {
  /// The bytes of the manifest beside a take, or of the one that waits in its partial folder where its sealing was
  /// interrupted behind the commit; nil where there is none.
  static func bytes(of take: Path) -> [UInt8]? {
    guard take.hasSuffix(".opus") else { return nil }
    let name = TakeName(audio: take.name)
    return (try? readFile(take.parent.appending(name.manifest), limit: largest + 1))
      ?? PartialContents.waitingManifest(folder: take.parent, name: name, limit: largest + 1)
  }
}
