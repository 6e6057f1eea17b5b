import Capture
import Encoding
import Platform
import Session
import Signal
import Store

/// Looks into takes, partial takes and other audio files. Changes nothing.
public enum Inspector {
  /// - Parameter path: an audio file; `NAME.opus` stands for its partial take too, where there is no such file.
  /// - Parameter minPauseMs: shorter gaps between words are speech.
  /// - Parameter progress: told often, on the calling thread, how much is done, 0…1.
  public static func inspect(
    _ path: Path, minPauseMs: Int64 = SpeechDetector.minPauseMs,
    progress: @escaping (Double) -> Void = { _ in }
  ) throws(RecorderFailure) -> InspectReport {
    if let name = partialName(path) {
      return try inspectPartial(
        folder: path.parent, name: name, shown: path, minPauseMs: minPauseMs, progress: progress)
    }
    let file: ByteFile
    do throws(SourceError) { file = try ByteFile.open(path) } catch {
      throw Failures.source(error, path: path)
    }
    return try inspect(file, shown: path, beside: path, minPauseMs: minPauseMs, progress: progress)
  }
  /// - Parameters:
  ///   - descriptor: an open file or pipe, read to its end.
  ///   - shown: what it is called in the report and in failures.
  ///   - minPauseMs: shorter gaps between words are speech.
  public static func inspect(
    descriptor: Int32, shown: Path, minPauseMs: Int64 = SpeechDetector.minPauseMs,
    progress: @escaping (Double) -> Void = { _ in }
  ) throws(RecorderFailure) -> InspectReport {
    let file: ByteFile
    do throws(SourceError) { file = try ByteFile.open(descriptor: descriptor) } catch {
      throw Failures.source(error, path: shown)
    }
    return try inspect(file, shown: shown, beside: nil, minPauseMs: minPauseMs, progress: progress)
  }

  /// The partial take that `path` means, where it means one.
  static func partialName(_ path: Path) -> TakeName? {
    guard let folder = try? Disk.openFolder(path.parent) else { return nil }
    let name = path.withoutTrailingSlash.name
    if name.hasSuffix(".opus.partial"), Disk.identity(name, in: folder)?.kind == .folder {
      return TakeName(audio: name.droppingSuffix(".partial"))
    }
    guard name.hasSuffix(".opus"), Disk.identity(name, in: folder) == nil,
      Disk.identity(TakeName(audio: name).partial, in: folder)?.kind == .folder
    else { return nil }
    return TakeName(audio: name)
  }

  private static func inspect(
    _ file: ByteFile, shown: Path, beside: Path?, minPauseMs: Int64, progress: @escaping (Double) -> Void
  ) throws(RecorderFailure) -> InspectReport {
    let sha256 = try digest(file, shown: shown)
    do throws(OpusFileError) {
      let manifest = beside.flatMap(readManifest)
      var taken: Manifest?
      if case .read(let found, _) = manifest { taken = found }
      // What was heard while it was recorded stands in its manifest: nobody listens again.
      let isKnown = taken.map {
        $0.speech != nil && $0.sha256 == sha256 && minPauseMs == SpeechDetector.minPauseMs
      }
      func measure(listening: Bool) throws(OpusFileError) -> InspectReport {
        let speech = SpeechMeasure(
          rate: takeRate, edges: taken?.story.edges ?? [], minPauseMs: minPauseMs, listening: listening)
        return try measureOpus(
          read: file.oggBytes, size: file.size, shown: shown, speech: speech, progress: progress)
      }
      var report = try measure(listening: isKnown != true)
      if isKnown == true, report.frames != taken?.effectiveFrames { report = try measure(listening: true) }
      report.sizeBytes = file.size
      report.sha256 = sha256
      switch manifest {
      case .read(let manifest, let problem):
        add(manifest, minPauseMs: minPauseMs, to: &report)
        if let problem { report.problems.append(problem) }
      case .unusable(let problem): report.problems.append(problem)
      case nil: break
      }
      return report
    } catch {
      guard case .notOpus = error else { throw failure(error, shown: shown) }
    }
    return try measureOther(
      file, shown: shown, sha256: sha256, minPauseMs: minPauseMs, progress: progress)
  }

  // MARK: Ogg Opus

  /// - Parameter size: bytes that `read` has, for the progress.
  private static func measureOpus(
    read: @escaping OggReadBytes, size: Int64, shown: Path, speech: SpeechMeasure,
    progress: @escaping (Double) -> Void
  ) throws(OpusFileError) -> InspectReport {
    var decoder = try OpusStreamDecoder { (offset, target) throws(OpusFileError) in
      progress(min(1, Double(offset) / Double(max(1, size))))
      return try read(offset, &target)
    }
    let channels = decoder.channels
    let measure = AudioMeasure(
      rate: takeRate, channels: channels, fullScale: 32_767 / 32_768, speech: speech)
    var block = [Float](repeating: 0, count: measure.block * channels)
    while true {
      var span = block.mutableSpan
      let n = try decoder.read(into: &span)
      if n == 0 { break }
      measure.push(&block, count: n)
    }
    guard let facts = decoder.facts else { throw .noAudio("it ends before its audio") }
    var report = report(measure.finish(), shown: shown, rate: takeRate, channels: channels)
    report.contentType = SealedTake.contentType
    report.parts = facts.partCount
    report.problems += facts.problems.map { InspectProblem($0) }
    return report
  }

  private enum ManifestBeside {
    case read(Manifest, InspectProblem?)
    case unusable(InspectProblem)
  }
  /// The manifest beside a take; nil where there is none.
  private static func readManifest(_ path: Path) -> ManifestBeside? {
    guard path.hasSuffix(".opus") else { return nil }
    let name = path.parent.appending(TakeName(audio: path.name).manifest)
    let bytes: [UInt8]
    var problem: InspectProblem?
    do throws(DiskError) { bytes = try readFile(name, limit: Manifest.largest + 1) } catch {
      guard error.errno.code == Errno.notFound else {
        return .unusable(
          InspectProblem(kind: "manifest", message: "its manifest can't be read: \(error.text)"))
      }
      guard
        let waiting = PartialContents.waitingManifest(
          folder: path.parent, name: TakeName(audio: path.name), limit: Manifest.largest + 1)
      else { return nil }
      bytes = waiting
      problem = InspectProblem(
        kind: "half_sealed",
        message:
          "its sealing was interrupted behind the commit: `holdfast recover \(path.display)` finishes it")
    }
    do throws(ManifestError) { return .read(try Manifest(bytes), problem) } catch {
      return .unusable(
        InspectProblem(
          kind: "manifest", message: "its manifest \(name.name.display) isn't used: \(error.message)"))
    }
  }

  /// What the manifest says, where the checksum holds; a problem where it doesn't.
  private static func add(_ manifest: Manifest, minPauseMs: Int64, to report: inout InspectReport) {
    report.outcome = manifest.outcome == .recovered ? .recovered : .complete
    report.story = manifest.story
    guard manifest.sha256 == report.sha256, manifest.sizeBytes == report.sizeBytes else {
      report.problems.append(
        InspectProblem(
          kind: "checksum", costsAudio: true,
          message: "the file isn't the one that was sealed: its SHA-256 or size differs from the manifest's"))
      return
    }
    if report.frames != manifest.effectiveFrames {
      report.problems.append(
        InspectProblem(
          kind: "length", costsAudio: true,
          message: "it decodes to \(report.frames) frames, the manifest says \(manifest.effectiveFrames)"))
      return
    }
    report.measuredOn = .manifest
    report.levels = LevelFigures(manifest.levels, clippedRuns: manifest.story.levels.clippedRuns)
    report.channelLevels = [report.levels]
    report.noiseFloorDb = manifest.noiseFloorDb
    report.bars = manifest.bars
    // Another shortest pause than it was recorded with takes another look.
    if let speech = manifest.speech, minPauseMs == SpeechDetector.minPauseMs { report.speech = speech }
    report.parts = max(1, manifest.story.parts)
    let levels = manifest.story.levels
    if levels.notFinite > 0 { report.problems.append(.notFinite(levels.notFinite)) }
    if levels.over > 0 {
      report.problems.append(
        InspectProblem(
          kind: "over_full_scale",
          message: "\(levels.over) float samples of the source lay beyond ±1.0: clipped"))
    }
  }

  private static func inspectPartial(
    folder: Path, name: TakeName, shown: Path, minPauseMs: Int64, progress: @escaping (Double) -> Void
  ) throws(RecorderFailure) -> InspectReport {
    let contents: PartialContents
    do throws(DiskError) { contents = try PartialContents(folder: folder, name: name) } catch {
      throw Failures.disk(error, at: shown, doing: "can't read the partial take")
    }
    let file = try partialAudio(folder: folder, name: name, shown: shown)
    let ledger = contents.ledger.records
    var report = self.report(
      AudioMeasure(rate: takeRate, channels: 1, fullScale: 1, speech: SpeechMeasure(rate: takeRate)).finish(),
      shown: shown, rate: takeRate, channels: 1)
    do throws(OpusFileError) {
      let whole = try PartialAudio(
        audio: file?.oggBytes, size: file?.size ?? 0, ledger: ledger, tails: contents.tails)
      if let whole, whole.packets > 0 {
        let (file, size) = (file?.oggBytes, file?.size ?? 0)
        let speech = SpeechMeasure(rate: takeRate, edges: TakeStory(ledger).edges, minPauseMs: minPauseMs)
        report = try measureOpus(
          read: whole.bytes(over: file), size: size, shown: shown, speech: speech, progress: progress)
        report.sha256 = try digest(whole.bytes(over: file))
        if !contents.recording { report.problems += PartialProblems.list(whole, contents) }
        report.story = TakeStory(contents.ledger.records, clampedTo: report.frames)
      } else {
        report.problems.append(
          InspectProblem(
            kind: "no_audio", costsAudio: file == nil,
            message: file == nil
              ? "its audio is missing" : "no whole packet of audio has reached the disk"))
        if let whole { report.problems += PartialProblems.list(whole, contents) }
        report.story = TakeStory(contents.ledger.records, clampedTo: 0)
      }
    } catch { throw failure(error, shown: shown) }
    report.contentType = SealedTake.contentType
    report.outcome = .unfinished
    report.recording = contents.recording
    report.sizeBytes = file?.size ?? 0
    return report
  }

  /// The partial take's `audio.opus`, never through a link.
  ///
  /// - Returns: nil where there is none.
  static func partialAudio(folder: Path, name: TakeName, shown: Path) throws(RecorderFailure) -> ByteFile? {
    let audio: Descriptor
    do throws(DiskError) { audio = try PartialContents.openAudio(folder: folder, name: name) } catch {
      if error.errno.code == Errno.notFound { return nil }
      throw RecorderFailure(
        code: 65, kind: "no_audio", path: shown,
        message: "\(shown.display): its audio can't be opened: \(error.errno.text)")
    }
    do throws(SourceError) { return try ByteFile.open(descriptor: audio.raw) } catch {
      throw Failures.source(error, path: shown)
    }
  }

  // MARK: other files

  private static func measureOther(
    _ file: ByteFile, shown: Path, sha256: String, minPauseMs: Int64, progress: (Double) -> Void
  ) throws(RecorderFailure) -> InspectReport {
    do throws(SourceError) {
      let audio = try AudioFile(file)
      let (rate, channels) = (audio.facts.rate, audio.facts.channels)
      let measure = AudioMeasure(
        rate: rate, channels: channels, fullScale: audio.fullScale,
        speech: SpeechMeasure(rate: rate, minPauseMs: minPauseMs))
      var block = [Float](repeating: 0, count: measure.block * channels)
      var broken: SourceError?
      while broken == nil {
        do throws(SourceError) {
          var span = block.mutableSpan
          var raw = unsafe span.mutableBytes
          let n = try audio.read(into: &raw)
          if n == 0 { break }
          measure.push(&block, count: n)
          if let all = audio.facts.statedFrames, all > 0 {
            progress(min(1, Double(measure.frames) / Double(all)))
          }
        } catch { broken = error }
      }
      var report = report(measure.finish(), shown: shown, rate: rate, channels: channels)
      report.contentType = audio.facts.contentType
      report.sizeBytes = file.size
      report.sha256 = sha256
      report.problems += audio.problems.map {
        InspectProblem(
          kind: $0.kind, offset: $0.offset, bytes: $0.bytes,
          atMs: $0.atFrame.map { milliseconds(frames: takeFrames(deviceFrames: $0, rate: rate)) },
          lengthMs: $0.frames.map { milliseconds(frames: takeFrames(deviceFrames: $0, rate: rate)) },
          message: $0.message)
      }
      if let broken {
        report.problems.append(
          InspectProblem(
            kind: "damaged", atMs: report.durationMs, costsAudio: true,
            message: Failures.source(broken, path: shown).message))
      }
      return report
    } catch { throw Failures.source(error, path: shown) }
  }

  // MARK: pieces

  private static func report(
    _ result: AudioMeasure.Result, shown: Path, rate: Int, channels: Int
  ) -> InspectReport {
    func ms(_ frames: Int64) -> Int64 { milliseconds(frames: takeFrames(deviceFrames: frames, rate: rate)) }
    return InspectReport(
      path: shown, outcome: .foreign, frames: result.frames, sampleRate: rate, channels: channels,
      contentType: "",
      sizeBytes: 0, sha256: "", story: nil,
      levels: LevelFigures(all: result.levels, clippedRuns: result.clippedRuns),
      noiseFloorDb: result.noiseFloorDb, loudness: result.loudness, hum: result.hum,
      channelLevels: zip(result.levels, result.clippedRuns).map { LevelFigures($0, clippedRuns: $1) },
      bars: result.bars, silences: result.silences.map { ms($0.lowerBound)...ms($0.upperBound) },
      speech: result.speech, parts: 1,
      problems: result.notFinite > 0 ? [.notFinite(result.notFinite)] : [], measuredOn: .decoded)
  }

  private static func digest(_ file: ByteFile, shown: Path) throws(RecorderFailure) -> String {
    do throws(OpusFileError) { return try digest(file.oggBytes) } catch { throw failure(error, shown: shown) }
  }
  static func digest(_ read: OggReadBytes) throws(OpusFileError) -> String {
    guard let digest = Digest() else { throw .io(Errno.noMemory) }
    try hash(read, into: digest)
    return Digest.hex(digest.value())
  }
  /// Feeds a file's first bytes to a digest.
  ///
  /// - Parameter end: how many; all where nil. Fewer are an error.
  static func hash(_ read: OggReadBytes, upTo end: Int64? = nil, into digest: Digest) throws(OpusFileError) {
    var chunk = [UInt8](repeating: 0, count: 1 << 18)
    var at: Int64 = 0
    while end.map({ at < $0 }) ?? true {
      var bytes = chunk.mutableSpan
      var raw = unsafe bytes.mutableBytes
      var n = try read(at, &raw)
      if n == 0 {
        if end != nil { throw .io(Errno.io) }
        return
      }
      if let end { n = Int(min(Int64(n), end - at)) }
      digest.update(chunk.span.extracting(0..<n))
      at += Int64(n)
    }
  }

  static func failure(_ error: OpusFileError, shown: Path) -> RecorderFailure {
    func make(_ code: Int32, _ kind: String, _ text: String) -> RecorderFailure {
      RecorderFailure(code: code, kind: kind, path: shown, message: "\(shown.display): \(text)")
    }
    switch error {
    case .notOpus(let why): return make(65, "unreadable", why)
    case .noAudio(let why): return make(65, "no_audio", "no audio: \(why)")
    case .header(let why): return make(65, "header", why)
    case .io(let code): return make(74, "io", Errno(code).text)
    case .codec(let code): return make(65, "codec", "libopus refuses it (\(OpusError(code: code).text))")
    }
  }
}

extension InspectProblem {
  static func notFinite(_ count: Int64) -> InspectProblem {
    InspectProblem(
      kind: "not_finite", message: "\(count) samples are NaN or infinite: they count as 0")
  }
}

extension ByteFile {
  /// The file for the Ogg reader.
  var oggBytes: OggReadBytes {
    { (offset, target) throws(OpusFileError) in
      let n = unsafe target.withUnsafeMutableBytes { unsafe self.read(at: offset, into: $0) }
      guard n >= 0 else { throw .io(Int32(-n)) }
      return n
    }
  }
}
