import Capture
import Encoding
import Platform
import Session
import Signal
import Store

/// An unfinished take that can be gone on with: its lock held, its end decoded, the encoder primed with it.
///
/// Nothing on the disk is changed before `Recorder.start`. For one recorder, on one thread until that starts.
public final class Continuation: @unchecked Sendable {
  /// The encoder gets this many packets of the decoded end, whose output is dropped: 100 ms, of at least 80 (RFC 7845
  /// section 4.6 names that as what a decoder needs to converge).
  static let primingPackets: Int64 = 5
  /// Meter and detectors hear this much of the end.
  static let warmingFrames: Int64 = 240_000

  public let description: TakeDescription
  /// Effective frames that are there.
  public let effectiveFrames: Int64
  let place: PartialFolder
  let encoder: OpusEncoder
  let records: [LedgerRecord]
  let packets: Int64
  private(set) var meter = Meter()
  private(set) var bars = LiveBars()
  private(set) var silence: NoSignalDetector
  private(set) var speech = SpeechDetector()
  /// The ledger's last word on speech is that somebody speaks.
  let wasSpeaking: Bool
  /// Samples of the packet that the new audio completes; its output is dropped like those before it.
  private(set) var prefix: [Float] = []
  let faults: SampleFaults
  private let minPauseMs: Int64
  private let audio: OpenAudio
  private let file: ByteFile
  private let resume: PartialAudio.Resume
  private let tornFrom: Int64?
  private let serial: UInt32

  /// - Parameters:
  ///   - path: `NAME.opus` of an unfinished take.
  ///   - minPauseMs: how long a speaker must be silent for a pause.
  /// - Throws: 75 where it is being recorded; 66 where there is none; 73 where it is sealed; 65 where it is damaged, or of
  ///   a newer program; 74 where the disk fails.
  public init(_ path: Path, minPauseMs: Int64 = SpeechDetector.minPauseMs) throws(RecorderFailure) {
    self.minPauseMs = minPauseMs
    func refuse(_ code: Int32, _ kind: String, _ text: String) -> RecorderFailure {
      RecorderFailure(code: code, kind: kind, path: path, message: "\(path.display) \(text)")
    }
    let path = path.withoutTrailingSlash
    guard let name = TakeName(naming: path.name) else {
      throw refuse(64, "usage", "is no take: the name must end in .opus")
    }
    let sealed = refuse(73, "sealed", "is sealed, and a sealed take never changes; record another")
    guard PartialFolder.exists(name, in: path.parent) else {
      throw Disk.exists(path)
        ? sealed : refuse(66, "no_input", "is no unfinished take; `holdfast list` shows them")
    }
    do throws(OutputError) { place = try PartialFolder(opening: name, in: path.parent) } catch {
      throw Recovery.opening(error, folder: path.parent, name: name)
    }
    let contents = place.contents
    if let failure = contents.failure { throw Failures.recovering(failure, place.partialPath) }
    let damaged = refuse(65, "damaged", "is damaged: `holdfast recover \(path.display)` saves what is in it")
    if case .newerVersion = contents.ledger.fault {
      throw refuse(65, "newer_version", "was made by a newer holdfast: update this one")
    }
    // Killed behind the commit: only its working folder is left to be removed.
    guard let open = place.audio else { throw Disk.exists(path) ? sealed : damaged }
    guard contents.ledger.fault?.isTorn ?? true,
      let description = TakeStory(contents.ledger.records).description
    else { throw damaged }
    self.description = description
    audio = open
    do throws(SourceError) { file = try ByteFile.open(descriptor: audio.raw) } catch {
      throw Failures.source(error, path: path)
    }
    let plan: PartialAudio?
    do throws(OpusFileError) {
      plan = try PartialAudio(
        audio: file.oggBytes, size: audio.size, ledger: contents.ledger.records, tails: contents.tails,
        continuing: true)
    } catch { throw Inspector.failure(error, shown: path) }
    guard let plan, let resume = plan.resume, plan.isOfLedger, !contents.hasDamagedTail,
      plan.knownFrames - plan.frames <= Int64(2 * packetFrames)
    else { throw damaged }
    if description.maxMs > 0, plan.frames / 48 >= description.maxMs {
      throw refuse(
        73, "limit",
        "has reached its limit of \(description.maxMs) ms: `holdfast recover \(path.display)` seals it")
    }
    do throws(OpusError) {
      encoder = try OpusEncoder(
        EncoderSettings(bitrate: description.bitrate, complexity: description.complexity))
    } catch { throw refuse(65, "encoder", "can't be gone on with: libopus says \(error.text)") }
    guard encoder.preSkip == plan.preSkip else {
      throw refuse(
        65, "encoder",
        "was made by another version of libopus: `holdfast recover \(path.display)` seals what is in it")
    }
    (self.resume, packets, effectiveFrames, serial) = (resume, plan.packets, plan.frames, plan.serial)
    tornFrom = plan.cutBytes > 0 ? audio.size - plan.cutBytes : nil
    records = Self.kept(contents.ledger.records, upTo: plan.frames, modifiedMs: audio.modifiedMs)
    let known = TakeStory(records).levels
    var speaking = false
    for record in records { if case .speech(let now, _) = record.event { speaking = now } }
    wasSpeaking = speaking
    var faults = SampleFaults()
    (faults.notFinite, faults.over, faults.clippedRuns) = (known.notFinite, known.over, known.clippedRuns)
    self.faults = faults
    silence = NoSignalDetector(rate: takeRate)
    do throws(OpusFileError) { try warm(plan, known) } catch { throw Inspector.failure(error, shown: path) }
  }

  /// The ledger up to where the audio goes: summaries of more are dropped, the rest is clamped. A stop that a kill came
  /// upon wasn't one.
  private static func kept(
    _ records: [LedgerRecord], upTo frames: Int64, modifiedMs: Int64
  ) -> [LedgerRecord] {
    var kept: [LedgerRecord] = []
    var interrupted = false
    for var record in records {
      switch record.event {
      case .levels(let summary): if summary.frames > frames { continue }
      case .stop: continue
      case .interruption(let reason, _): if reason.breaksSound { interrupted = true }
      case .continued(_, _, _, let reason): if reason?.breaksSound ?? true { interrupted = false }
      default: break
      }
      record.effectiveFrame = min(record.effectiveFrame, frames)
      kept.append(record)
    }
    RecoveredStory.addStart(to: &kept, writtenMs: modifiedMs)
    if !interrupted {
      let last = records.compactMap(\.event.time).last
      kept.append(
        LedgerRecord(
          captureFrame: kept.last?.captureFrame ?? 0, effectiveFrame: frames,
          event: .interruption(.killed, RecoveredStory.time(wallMs: modifiedMs, after: last))))
    }
    return kept
  }

  /// Decodes the take's end: for the meter what lies behind the newest summary, for bars and detectors 5 s, for the
  /// encoder 100 ms.
  private func warm(_ plan: PartialAudio, _ known: LevelSummary) throws(OpusFileError) {
    let restored = Meter(restoring: known.totals, bins: known.bins, pendingEnergy: known.pendingEnergy)
    meter = restored ?? Meter()
    let measured = restored == nil ? 0 : known.frames
    // A place where level windows, hops and the detector's chunks all begin.
    let window = Int64(Meter.windowFrames) * SpeechDetector.grid / 320
    let heard = max(0, effectiveFrames - Self.warmingFrames) / window * window
    let grid = max(0, packets - Self.primingPackets) * Int64(packetFrames)
    silence = NoSignalDetector(rate: takeRate, from: heard)
    speech = SpeechDetector(minPauseMs: minPauseMs, from: heard)
    guard packets > 0 else { return }
    let first = min(measured, heard, grid)
    var levels = Meter()
    var tail: [Float] = []
    var decoder = try OpusStreamDecoder(read: plan.bytes(over: file.oggBytes))
    _ = try decoder.seek(toFrame: first)
    var at = first
    var block = [Float](repeating: 0, count: 4_800)
    while at < effectiveFrames {
      var span = block.mutableSpan
      let n = try decoder.read(into: &span)
      if n == 0 { break }
      for i in 0..<n { block[i] = max(-1, min(1, block[i])) }
      func index(_ frame: Int64) -> Int { Int(min(Int64(n), max(0, frame - at))) }
      let (m, h, g) = (index(measured), index(heard), index(grid))
      meter.push(block.span.extracting(m..<n)) { _ in }
      levels.push(block.span.extracting(h..<n)) { bars.push($0.bar) }
      silence.push(block.span.extracting(h..<n))
      speech.push(block.span.extracting(h..<n))
      tail += block[g..<n]
      at += Int64(n)
    }
    speech.edge()
    prime(tail)
  }

  private func prime(_ samples: [Float]) {
    var packet = [UInt8](repeating: 0, count: OpusEncoder.largestPacket)
    var start = 0
    while samples.count - start >= packetFrames {
      var room = packet.mutableSpan
      _ = try? encoder.encode(samples.span.extracting(start..<(start + packetFrames)), into: &room)
      start += packetFrames
    }
    prefix = Array(samples[start...])
  }

  // MARK: going on

  /// What the store goes on with.
  struct Resumed {
    var partial: PartialTake
    var writer: OggOpusWriter
    var digest: Digest
  }

  /// Puts the partial take in order and opens it for more.
  func begin(reserve: Int64) throws(RecorderFailure) -> Resumed {
    guard let digest = Digest() else {
      throw RecorderFailure(code: 74, kind: "digest", message: "OpenSSL gives no SHA-256 on this machine")
    }
    var pending: [UInt8] = []
    for (i, packet) in resume.pending.enumerated() {
      Tail.append(packet: packet[...], index: resume.packets + Int64(i), to: &pending)
    }
    var ledger = Ledger.header
    for record in records { ledger += Ledger.encode(record) }
    let head = OggOpusWriter(serial: serial, preSkip: encoder.preSkip).headers()
    do throws(OpusFileError) { try Inspector.hash(file.oggBytes, upTo: resume.kept, into: digest) } catch {
      throw Inspector.failure(error, shown: place.partialPath)
    }
    let writer = OggOpusWriter(
      serial: serial, preSkip: encoder.preSkip, afterPages: resume.pages, packets: resume.packets)
    do throws(DiskError) {
      let partial = try PartialTake(
        continuing: place, audio: audio, kept: resume.kept, head: head, ledger: ledger, pending: pending,
        reserve: reserve, tornFrom: tornFrom)
      for packet in resume.pending {
        guard let page = writer.add(packet.span) else { continue }
        try partial.append(page: page.span)
        digest.update(page.span)
      }
      return Resumed(partial: partial, writer: writer, digest: digest)
    } catch { throw Failures.recovering(error, place.partialPath) }
  }
}
