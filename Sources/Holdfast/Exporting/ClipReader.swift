import Capture
import Encoding
import Platform
import Session
import Signal
import Store

/// Any file that `inspect` reads, as interleaved floats at its own rate, from any frame on. Keep it on one thread at a time.
final class ClipReader {
  let shown: Path
  /// Hertz.
  let rate: Int
  let channels: Int
  /// Frame that the next `read` begins with.
  private(set) var position: Int64 = 0
  /// The stream's bytes where it is Ogg Opus: a partial take's as sealing would leave them.
  let opus: OggReadBytes?
  private var decoder: OpusStreamDecoder?
  private let file: ByteFile?
  private var audio: AudioFile?
  /// 10 s: behind as many, what is decoded is what it is in the whole, bit by bit.
  private static let preRoll: Int64 = 480_000
  /// Frames of a partial take in whose place silence stands on the disk already.
  private let holes: [Range<Int64>]

  /// - Parameter path: `NAME.opus` stands for its partial take too, where there is no such file; `-` is standard input.
  init(_ path: Path) throws(RecorderFailure) {
    shown = path
    if path.text != "-", let name = Inspector.partialName(path) {
      let (bytes, holes) = try Self.partial(folder: path.parent, name: name, shown: path)
      (opus, self.holes, file, audio) = (bytes, holes, nil, nil)
      do throws(OpusFileError) { decoder = try OpusStreamDecoder(read: bytes, preRoll: Self.preRoll) } catch {
        throw Inspector.failure(error, shown: path)
      }
      (rate, channels) = (takeRate, decoder?.channels ?? 1)
      return
    }
    holes = []
    let file: ByteFile
    do throws(SourceError) {
      file = path.text == "-" ? try ByteFile.open(descriptor: 0) : try ByteFile.open(path)
    } catch { throw Failures.source(error, path: path) }
    self.file = file
    do throws(OpusFileError) {
      let (bytes, mark) = (file.oggBytes, mark)
      let opened = try OpusStreamDecoder(
        read: { (offset, target) throws(OpusFileError) in
          mark.offset = offset
          return try bytes(offset, &target)
        }, preRoll: Self.preRoll)
      (rate, channels, opus) = (takeRate, opened.channels, bytes)
      decoder = consume opened
      audio = nil
      return
    } catch {
      guard case .notOpus = error else { throw Inspector.failure(error, shown: path) }
    }
    do throws(SourceError) {
      let other = try AudioFile(file)
      (rate, channels) = (other.facts.rate, other.facts.channels)
      opus = nil
      decoder = nil
      audio = other
    } catch { throw Failures.source(error, path: path) }
  }

  private static func partial(
    folder: Path, name: TakeName, shown: Path
  ) throws(RecorderFailure) -> (OggReadBytes, [Range<Int64>]) {
    let contents: PartialContents
    do throws(DiskError) { contents = try PartialContents(folder: folder, name: name) } catch {
      throw Failures.disk(error, at: shown, doing: "can't read the partial take")
    }
    let file = try Inspector.partialAudio(folder: folder, name: name, shown: shown)
    do throws(OpusFileError) {
      let whole = try PartialAudio(
        audio: file?.oggBytes, size: file?.size ?? 0, ledger: contents.ledger.records, tails: contents.tails)
      guard let whole, whole.packets > 0 else { throw .noAudio("no whole packet of it has reached the disk") }
      let holes = whole.holes.map { hole in
        let first = hole.firstPacket * Int64(packetFrames) - Int64(whole.preSkip)
        return max(0, first)..<max(0, first + hole.packets * Int64(packetFrames))
      }
      return (whole.bytes(over: file?.oggBytes), holes)
    } catch { throw Inspector.failure(error, shown: shown) }
  }

  /// Goes to a frame; behind the end, `read` gives 0.
  ///
  /// - Complexity: Opus: a pass over the pages up to it. Files that hold the samples themselves: none. Others are decoded up
  ///   to it, from the start for an earlier one.
  func seek(to frame: Int64) throws(RecorderFailure) {
    if let opus {
      do throws(OpusFileError) {
        if try decoder?.seek(toFrame: frame) != true {
          decoder = nil
          decoder = try OpusStreamDecoder(read: opus, preRoll: Self.preRoll)
          _ = try decoder?.seek(toFrame: frame)
        }
      } catch { throw Inspector.failure(error, shown: shown) }
      position = decoder?.position ?? frame
      return
    }
    if frame == position { return }
    if audio?.seek(toFrame: frame) == true {
      position = frame
      return
    }
    if frame < position, let file {
      do throws(SourceError) { audio = try AudioFile(file) } catch {
        throw Failures.source(error, path: shown)
      }
      position = 0
    }
    var passed = [Float](repeating: 0, count: 4_800 * channels)
    while position < frame, try read(into: &passed, atMost: Int(min(4_800, frame - position))) > 0 {}
  }

  /// Decodes on.
  ///
  /// - Parameter samples: shape `[frame][channel]`; the front is filled.
  /// - Returns: frames; 0 at the end.
  /// - Throws: 65 where the rest is damaged, 74 where it can't be read.
  func read(into samples: inout [Float], atMost frames: Int) throws(RecorderFailure) -> Int {
    let room = min(frames, samples.count / channels)
    guard room > 0 else { return 0 }
    var got = 0
    if opus != nil {
      do throws(OpusFileError) {
        var all = samples.mutableSpan
        var front = all._mutatingExtracting(0..<(room * channels))
        got = try decoder?.read(into: &front) ?? 0
      } catch { throw Inspector.failure(error, shown: shown) }
    } else if let audio {
      do throws(SourceError) {
        var all = samples.mutableSpan
        var front = all._mutatingExtracting(0..<(room * channels))
        var raw = unsafe front.mutableBytes
        got = try audio.read(into: &raw)
      } catch { throw Failures.source(error, path: shown) }
    }
    position += Int64(got)
    return got
  }

  /// How much of a stretch is read, 0…1, by its frames, or by the file's bytes where its end isn't known.
  func fraction(of frames: Range<Int64>) -> Double {
    let end = frames.upperBound != .max ? frames.upperBound : audio?.facts.statedFrames ?? 0
    let part =
      end > frames.lowerBound
      ? Double(position - frames.lowerBound) / Double(end - frames.lowerBound)
      : Double(mark.offset) / Double(max(1, file?.size ?? 1))
    return min(1, max(0, part))
  }
  /// Why audio is missing at a frame, where nobody can tell how much: at the end of a file that was cut, as a rule. Known once
  /// the end was come to.
  func missing(in frames: Range<Int64>, _ facts: OpusFileFacts? = nil) -> RecorderFailure? {
    guard opus != nil, let facts = facts ?? decoder?.facts, facts.frames < frames.upperBound else {
      return nil
    }
    var why = facts.problems.first { problem in
      problem.audioAffected && problem.lengthFrames == nil
        && (problem.atFrame ?? facts.frames) >= frames.lowerBound
    }?.message
    if why == nil, let stated, stated > facts.frames {
      why = "\(milliseconds(frames: stated - facts.frames)) ms less than its manifest says"
    }
    return why.map { why in
      let end = ClipTime.text(milliseconds(frames: facts.frames))
      return RecorderFailure(
        code: 65, kind: "damaged", path: shown,
        message: "\(shown.display) is damaged: \(why); what there is of it ends at \(end)")
    }
  }
  /// Frames that the manifest beside a sealed take promises.
  private lazy var stated: Int64? = {
    guard file != nil, shown.hasSuffix(".opus"), let bytes = Manifest.bytes(of: shown) else { return nil }
    return (try? Manifest(bytes))?.effectiveFrames
  }()
  /// Where the file was read last.
  private final class Mark { var offset: Int64 = 0 }
  private let mark = Mark()

  /// Stretches passed so far that are silence in place of lost audio.
  var lost: [Range<Int64>] { holes + (decoder?.lost ?? []) }
  /// Oddities without lost audio, one line each; complete at the end.
  var notes: [String] { audio?.problems.map(\.message) ?? [] }
}
