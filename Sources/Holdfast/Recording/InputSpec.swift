import Capture
import Encoding
import Platform
import Signal
import Store

/// Where a take comes from, as `--input` names it.
public enum InputSpec: Sendable, Equatable {
  case alsa(Path)
  /// No source was named: the default microphone.
  case defaultMicrophone
  case file(Path)
  /// Raw samples.
  case standardInput
  /// A sine, peak in dBFS.
  case tone(hertz: Double, dbfs: Double)

  public init(_ text: Path?) throws(RecorderFailure) {
    guard let text else {
      self = .defaultMicrophone
      return
    }
    func rest(_ prefix: String) -> Path? {
      text.bytes.starts(with: Array(prefix.utf8))
        ? Path(bytes: Array(text.bytes.dropFirst(prefix.utf8.count))) : nil
    }
    if let name = rest("alsa:") {
      self = .alsa(name)
    } else if let path = rest("file:") {
      guard !path.bytes.isEmpty, !path.bytes.contains(0) else { throw Self.usage("file: needs a path") }
      self = .file(path)
    } else if text.text == "-" {
      self = .standardInput
    } else if let tone = rest("tone:") {
      let parts = tone.text.split(separator: ",", omittingEmptySubsequences: false)
      guard (1...2).contains(parts.count), let hertz = Double(parts[0]), hertz > 0, hertz < 24_000,
        let dbfs = parts.count == 2 ? Double(parts[1]) : -12, dbfs <= 0, dbfs >= -160
      else {
        throw Self.usage(
          "--input \(text.display): a tone is tone:HZ[,DBFS], 0 < HZ < 24000, -160 <= DBFS <= 0")
      }
      self = .tone(hertz: hertz, dbfs: dbfs)
    } else {
      throw Self.usage("--input \(text.display): it can be alsa:NAME, file:PATH, - or tone:HZ[,DBFS]")
    }
  }
  private static func usage(_ text: String) -> RecorderFailure {
    RecorderFailure(code: 64, kind: "usage", message: text)
  }

  /// What the ledger calls it.
  public var kind: String {
    switch self {
    case .alsa, .defaultMicrophone: "alsa"
    case .file: "file"
    case .standardInput: "stdin"
    case .tone: "tone"
    }
  }
  /// The file it reads.
  public var path: Path? { if case .file(let path) = self { path } else { nil } }
  /// Whether it delivers in real time: what isn't stored at once could be lost by a kill.
  public func isLive(_ options: InputOptions) -> Bool {
    switch self {
    case .alsa, .defaultMicrophone, .standardInput: true
    case .file, .tone: options.paced
    }
  }

  public func open(_ options: InputOptions) throws(RecorderFailure) -> any Source {
    let source: any Source
    switch self {
    case .alsa(let name): source = try Self.device(name, options)
    case .defaultMicrophone: source = try Self.device(nil, options)
    case .file(let path):
      source = try Self.file(path)
    case .standardInput:
      do throws(SourceError) {
        let raw = try StandardInputSource(descriptor: 0, format: options.raw)
        try raw.checkHead()
        source = raw
      } catch { throw Failures.source(error, path: Path("standard input")) }
    case .tone(let hertz, let dbfs):
      do throws(SourceError) { source = try ToneSource(hertz: hertz, peakDBFS: dbfs) } catch {
        throw Failures.source(error, path: Path("tone"))
      }
    }
    let sized = options.blockFrames.map { BlockSource(source, frames: $0) as any Source } ?? source
    switch self {
    case .file, .tone:
      return options.paced ? PacedSource(sized, periodFrames: max(1, source.format.rate / 100)) : sized
    case .alsa, .defaultMicrophone, .standardInput: return sized
    }
  }
}

extension InputSpec {
  private static func device(_ name: Path?, _ options: InputOptions) throws(RecorderFailure) -> any Source {
    let wish = CaptureWish(periodMs: options.periodMs, bufferMs: options.bufferMs, mmap: options.mmap)
    do throws(CaptureOpenError) { return try ALSASource(name: name, wish: wish) } catch {
      throw RecorderFailure(code: error.exitCode, kind: error.kind, message: error.message)
    }
  }
  private static func file(_ path: Path) throws(RecorderFailure) -> any Source {
    let file: ByteFile
    do throws(SourceError) { file = try ByteFile.open(path) } catch {
      throw Failures.source(error, path: path)
    }
    do throws(OpusFileError) { return try OpusFileSource(file) } catch {
      guard case .notOpus = error else { throw Inspector.failure(error, shown: path) }
    }
    do throws(SourceError) { return FileSource(try AudioFile(file)) } catch {
      throw Failures.source(error, path: path)
    }
  }
}

/// How a source is read.
public struct InputOptions: Sendable {
  /// At the speed it sounds.
  public var paced = false
  /// Frames a read takes at most.
  public var blockFrames: Int?
  /// How a device hands its frames over.
  public var periodMs = 10
  public var bufferMs = 100
  public var mmap = false
  /// What raw samples on standard input are.
  public var raw = SourceFormat(sample: .s16, rate: 48_000, channels: 1)

  public init() {}
}

extension RecordingSettings {
  public static let bitrates = EncoderSettings.bitrates
}

/// Where takes go that aren't given a name.
public enum TakesFolderPath {
  public static func standard(_ environment: (String) -> Path?) -> Path? { TakesFolder.standard(environment) }
}
