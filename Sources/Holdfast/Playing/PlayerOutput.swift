import Capture
import Platform
import Signal

/// Where sound goes, as `--output` names it.
public enum OutputSpec: Sendable, Equatable {
  case alsa(Path)
  /// `PATH.wav` or `PATH.flac`, as fast as it goes.
  case file(Path)

  /// - Parameter text: nil for the default device.
  public init(_ text: Path?) throws(RecorderFailure) {
    guard let text else {
      self = .alsa(Path("default"))
      return
    }
    func rest(_ prefix: String) -> Path? {
      text.bytes.starts(with: Array(prefix.utf8))
        ? Path(bytes: Array(text.bytes.dropFirst(prefix.utf8.count))) : nil
    }
    if let name = rest("alsa:"), !name.bytes.isEmpty {
      self = .alsa(name)
    } else if let path = rest("file:"), !path.bytes.contains(0),
      [.wav, .flac].contains(ExportFormat(naming: path.name))
    {
      self = .file(path)
    } else {
      throw RecorderFailure(
        code: 64, kind: "usage",
        message: "--output \(text.display): it can be alsa:NAME, file:PATH.wav or file:PATH.flac")
    }
  }

  func open(for reader: ClipReader) throws(RecorderFailure) -> any PlayerOutput {
    switch self {
    case .alsa(let name): try DeviceOutput(name, reader)
    case .file(let path): try FileOutput(path, reader)
    }
  }
}

/// What takes a player's frames. One thread's.
protocol PlayerOutput: AnyObject {
  /// Hertz.
  var rate: Int { get }
  var channels: Int { get }
  var underruns: Int { get }
  /// Frames taken that aren't heard yet; nil where that can't be told now.
  var delay: Int? { get }
  /// - Returns: frames taken; 0 where there is no room yet, after a little while.
  func write(_ samples: [Float], from first: Int, count: Int) throws(RecorderFailure) -> Int
  /// Drops what isn't heard yet.
  func drop() throws(RecorderFailure)
  /// - Returns: whether all is heard; else call it again.
  func drain() throws(RecorderFailure) -> Bool
  /// Nothing comes any more.
  func finish() throws(RecorderFailure)
  /// Lets go of the device, before anybody is told of the end: a process that leaves then would leave it open. Twice is once.
  func close()
}

/// A device of ALSA's.
private final class DeviceOutput: PlayerOutput {
  private let name: Path
  private var device: ALSAOutput?
  let rate: Int
  let channels: Int
  var underruns: Int { device?.underruns ?? 0 }
  var delay: Int? { device?.delay }

  init(_ name: Path, _ reader: ClipReader) throws(RecorderFailure) {
    do throws(CaptureOpenError) {
      let device = try ALSAOutput(name: name, rate: reader.rate, channels: reader.channels)
      (self.name, self.device) = (name, device)
      (rate, channels) = (device.format.rate, device.format.channels)
    } catch {
      let hint = error.exitCode == 69 ? "; `--output file:PATH.wav` plays into a file" : ""
      throw RecorderFailure(code: error.exitCode, kind: error.kind, message: error.message + hint)
    }
  }
  func write(_ samples: [Float], from first: Int, count: Int) throws(RecorderFailure) -> Int {
    do throws(CaptureFault) { return try device?.write(samples, from: first, count: count) ?? 0 } catch {
      throw failure(error)
    }
  }
  func drop() throws(RecorderFailure) {
    do throws(CaptureFault) { try device?.drop() } catch { throw failure(error) }
  }
  func drain() throws(RecorderFailure) -> Bool {
    do throws(CaptureFault) { return try device?.drain() ?? true } catch { throw failure(error) }
  }
  func finish() {}
  func close() { device = nil }

  private func failure(_ fault: CaptureFault) -> RecorderFailure {
    let what = fault == .deviceSilent ? "the sound device takes no more sound" : fault.text
    return RecorderFailure(
      code: 69, kind: fault.reason,
      message: "sound device \"\(name.display)\": \(what); playing ended there")
  }
}

/// A sound file. What was played until a stop is in it.
private final class FileOutput: PlayerOutput {
  let rate: Int
  let channels: Int
  let underruns = 0
  let delay: Int? = 0
  private var place: ExportPlace?
  private var writer: SndFileWriter?

  init(_ path: Path, _ reader: ClipReader) throws(RecorderFailure) {
    (rate, channels) = (reader.rate, reader.channels)
    let place: ExportPlace
    do throws(RecorderFailure) { place = try ExportPlace(path, source: reader.shown, force: false) } catch {
      guard error.kind == "exists" else { throw error }
      throw RecorderFailure(
        code: 73, kind: "exists", path: path, message: "\(path.display) exists; choose another name")
    }
    let (rate, channels) = (reader.rate, reader.channels)
    writer = try place.writing { () throws(SoundWriteError) in
      try SndFileWriter(
        descriptor: place.descriptor, container: path.hasSuffix(".flac") ? .flac : .wav, rate: rate,
        channels: channels)
    }
    self.place = place
  }
  func write(_ samples: [Float], from first: Int, count: Int) throws(RecorderFailure) -> Int {
    let part = samples[(first * channels)..<((first + count) * channels)].map(sixteenBits)
    try place?.writing { () throws(SoundWriteError) in try writer?.write(part) }
    return count
  }
  func drop() {}
  func drain() -> Bool { true }
  func finish() throws(RecorderFailure) {
    try place?.writing { () throws(SoundWriteError) in try writer?.finish() }
    _ = try place?.commit()
  }
  /// What isn't whole goes.
  func close() { (writer, place) = (nil, nil) }
}
