import Capture
import Encoding
import Glibc
import Platform
import Session
import Signal
import Store
import Synchronization

/// Records one take from one source.
///
/// Every method may be called from any thread, at any time: a call that makes no sense is answered, never trapped.
public final class Recorder: Sendable {
  public let settings: RecordingSettings
  public let events: EventQueue
  private let machine = Mutex(TakeMachine())
  private let running = Mutex<Running?>(nil)
  private let ended = CountingSemaphore()

  /// Everything that exists only while a take is recorded.
  private struct Running: Sendable {
    var capture: CaptureThread
    var signal: SignalThread
    var partial: PartialTake
  }
  private struct SourceBox: @unchecked Sendable { let source: any Source }

  public init(settings: RecordingSettings) {
    self.settings = settings
    events = EventQueue(lossless: settings.keepsEveryLevel)
  }

  /// What was odd about the source without costing audio; complete once the events have ended.
  public var sourceProblems: [SourceProblem] { problems.withLock { $0 } }
  private let problems = Mutex<[SourceProblem]>([])

  public var state: TakeState { machine.withLock { $0.state } }
  /// Effective time in milliseconds: frames in the take, never a wall clock.
  public var effectiveMs: Int64 { milliseconds(frames: running.withLock { $0?.signal.effectiveFrames } ?? 0) }

  // MARK: starting

  /// Makes the partial take and begins to record. Returns at once; the events tell the rest.
  ///
  /// - Parameter source: open and ready; the recorder's own from here on.
  /// - Throws: the failure, when no take could be made; nothing is left behind then.
  public func start(source: sending any Source) throws(RecorderFailure) {
    guard machine.withLock({ $0.prepare(arm: false) }) == .openSource else {
      throw RecorderFailure(code: 64, kind: "already_running", message: "this recorder is already running")
    }
    events.push(.state(.preparing, effectiveFrames: 0))
    do throws(RecorderFailure) { try begin(SourceBox(source: source)) } catch {
      _ = machine.withLock { $0.refused(permission: error.code == 77) }
      events.push(.state(state, effectiveFrames: 0))
      events.push(.failed(error))
      events.close()
      throw error
    }
  }

  private func begin(_ box: SourceBox) throws(RecorderFailure) {
    let source = box.source
    let format = source.format
    let conformer: Conformer
    do throws(ConformError) {
      conformer = try Conformer(
        format: format, choice: settings.channel, quality: settings.quality, fullScale: source.fullScale)
    } catch { throw Failures.conform(error) }
    let encoder: OpusEncoder
    do throws(OpusError) { encoder = try OpusEncoder(settings.encoder) } catch {
      throw RecorderFailure(code: 64, kind: "encoder", message: "libopus refuses the settings: \(error.text)")
    }
    guard let digest = Digest() else {
      throw RecorderFailure(code: 74, kind: "digest", message: "OpenSSL gives no SHA-256 on this machine")
    }
    let takeID = settings.takeID ?? Disk.randomHex(bytes: 16)
    let serial: UInt32 = Digest.sha256(Array(takeID.utf8)).get(0)
    let writer = OggOpusWriter(serial: serial, preSkip: encoder.preSkip)
    let headers = writer.headers()
    let begin = LedgerRecord(
      captureFrame: 0, effectiveFrame: 0,
      event: .begin(
        TakeDescription(
          takeID: takeID, context: settings.context, createdMs: Stamp.wallMilliseconds,
          source: settings.sourceKind, deviceRate: format.rate, deviceChannels: format.channels,
          channel: settings.channel.name, bitrate: settings.encoder.bitrate,
          complexity: settings.encoder.complexity, preSkip: encoder.preSkip, serial: serial,
          gaps: settings.gaps, maxMs: settings.maxMs, minValidMs: settings.minValidMs,
          encoder: OpusEncoder.libraryVersion)))
    let partial = try makePartial(headers: headers, begin: begin)
    digest.update(headers.span)

    let ring = FrameRing(format: format)
    let filled = CountingSemaphore()
    let bytesPerMinute = settings.encoder.bitrate / 8 * 60
    let queue = StoreQueue(
      capacity: max(240_000, bytesPerMinute + bytesPerMinute / 4), wakeAt: settings.live ? 1 : 16_384)
    let capture = CaptureThread(source: source, ring: ring, filled: filled, live: settings.live)
    let limit = settings.maxMs > 0 ? settings.maxMs.multipliedReportingOverflow(by: 48) : (0, true)
    let signal = SignalThread(
      ring: ring, filled: filled, queue: queue, conformer: conformer, encoder: encoder,
      maxFrames: limit.1 ? nil : limit.0, onEvent: { [events] in events.push($0) },
      onRoom: { capture.wakeForSpace() }, onLimit: { [weak self] in self?.stop(.maxMs) })
    let store = StoreThread(
      queue: queue, partial: partial, writer: writer, digest: digest, begin: begin,
      onFailure: { [weak self] in self?.diskFailed($0) })
    running.withLock { $0 = Running(capture: capture, signal: signal, partial: partial) }
    _ = machine.withLock { $0.opened() }
    do throws(Errno) {
      let threads = try Threads(capture: capture, store: store, sync: SyncThread(partial: partial))
      _ = try Thread(name: "hf-signal") { self.runSignal(signal, store, threads) }
    } catch {
      throw RecorderFailure(
        code: 74, kind: "thread", path: partial.partialPath,
        message: "can't start a thread: \(error.text); the empty partial take stays")
    }
  }

  /// The threads that the signal thread waits for at the end.
  private struct Threads: Sendable {
    let captureThread: Thread
    let storeThread: Thread
    let syncThread: Thread
    let sync: SyncThread

    init(capture: CaptureThread, store: StoreThread, sync: SyncThread) throws(Errno) {
      self.sync = sync
      storeThread = try Thread(name: "hf-store") { store.run() }
      syncThread = try Thread(name: "hf-sync") { sync.run() }
      captureThread = try Thread(name: "hf-capture") { capture.run() }
    }
  }

  private func makePartial(headers: [UInt8], begin: LedgerRecord) throws(RecorderFailure) -> PartialTake {
    // 30 s of audio and ledger, the reserve, and what sealing writes.
    let needed =
      Int64(settings.encoder.bitrate / 8 * 33 + 30 * 1_300) + PartialTake.reserveSize + 16_384
    var attempts = 0
    while true {
      let folder: Path
      let name: TakeName
      if let output = settings.output {
        (folder, name) = (output.parent, TakeName(audio: output.name))
      } else {
        guard let standard = settings.takesFolder else {
          throw RecorderFailure(
            code: 73, kind: "no_folder",
            message:
              "no folder for takes: neither XDG_DATA_HOME nor HOME is set; name a file with -o FILE.opus")
        }
        do throws(DiskError) {
          try Disk.makeFolders(standard)
          name = try TakesFolder.newName(in: standard)
        } catch { throw Failures.disk(error, at: standard, doing: "can't use the takes folder") }
        folder = standard
      }
      do throws(OutputError) {
        return try PartialTake(
          folder: folder, name: name, force: settings.force, neededBytes: needed, headers: headers,
          begin: begin)
      } catch {
        attempts += 1
        let clash = error == .exists || error == .recording || error == .unfinished
        if settings.output == nil, clash, attempts < 1_000 { continue }  // another recorder took that name
        throw Failures.output(error, path: folder.appending(name.audio))
      }
    }
  }

  // MARK: commands

  public func pause() -> TakeMachine.Action { gate(.pause, at: nil) { $0.pause() } }
  public func resume() -> TakeMachine.Action { gate(.resume, at: nil) { $0.resume() } }
  public func mark(label: String? = nil) -> TakeMachine.Action {
    gate(.mark(label: label), at: nil) { $0.mark() }
  }
  public func togglePause() { if state == .paused { _ = resume() } else { _ = pause() } }

  /// The same commands at an exact device frame that isn't captured yet: for scripts over files, and for tests.
  public func schedule(_ command: ScheduledCommand, atCaptureFrame frame: Int64) {
    switch command {
    case .pause: _ = gate(.pause, at: frame) { $0.pause() }
    case .resume: _ = gate(.resume, at: frame) { $0.resume() }
    case .mark(let label): _ = gate(.mark(label: label), at: frame) { $0.mark() }
    }
  }
  public enum ScheduledCommand: Sendable {
    case pause, resume
    case mark(label: String?)
  }

  private func gate(
    _ kind: GateCommand.Kind, at frame: Int64?, _ decide: (inout TakeMachine) -> TakeMachine.Action
  ) -> TakeMachine.Action {
    // The decision and its place in the command list are one step, so that two callers can't swap them.
    machine.withLock { machine in
      let action = decide(&machine)
      switch action {
      case .closeGate, .openGate, .writeMark:
        running.withLock { $0?.signal.command(kind, atCaptureFrame: frame, time: .now) }
      default: break
      }
      return action
    }
  }

  /// Stops: what was captured goes into the take, which is sealed. Further stops are harmless.
  public func stop(_ by: EndedBy) {
    guard case .endCapture(let why) = machine.withLock({ $0.stop(by) }) else { return }
    endedBy.withLock { $0 = why }
    events.hurry()
    running.withLock { $0?.capture.stop() }
  }
  private let endedBy = Mutex(EndedBy.sourceEnd)

  /// Stops and moves the take to the trash.
  public func discard() -> TakeMachine.Action {
    let action = machine.withLock { $0.discard() }
    if action == .moveToTrash {
      events.hurry()
      running.withLock { $0?.capture.stop() }
    }
    return action
  }

  /// Waits until the take is sealed, discarded or failed.
  public func wait() {
    ended.wait()
    ended.post()  // for the next caller
  }

  // MARK: ending

  private func diskFailed(_ error: DiskError) {
    let reason: InterruptionReason =
      error.errno.isDiskFull ? .diskFull : error.errno.code == EROFS ? .diskReadonly : .diskError
    let frames = running.withLock { $0?.signal.effectiveFrames } ?? 0
    events.push(.interrupted(reason, effectiveFrames: frames))
    stop(.disk)
  }

  /// The signal thread: runs the take, then waits for the others, and ends it.
  private func runSignal(_ signal: SignalThread, _ store: StoreThread, _ threads: Threads) {
    let end = signal.run(start: .now)
    threads.captureThread.join()
    let source = running.withLock { $0?.capture.end } ?? CaptureThread.End()
    problems.withLock { $0 = source.problems }
    stop(source.failure == nil ? .sourceEnd : .device)  // no-op where it was stopped before
    let by = endedBy.withLock { $0 }
    signal.recordStop(by, at: end)
    threads.storeThread.join()
    threads.sync.stop()
    threads.syncThread.join()
    if machine.withLock({ $0.drained() }) == .seal {
      events.push(.state(.sealing, effectiveFrames: end.effectiveFrames))
      seal(end, store, source)
    } else {
      discardNow(end)
    }
    running.withLock { $0 = nil }
    events.close()
    ended.post()
  }

  private func seal(_ end: SignalThread.End, _ store: StoreThread, _ source: CaptureThread.End) {
    guard let partial = running.withLock({ $0?.partial }) else { return }
    // After a disk failure the take is what the disk has: whole packets, as recovery would seal them.
    let lookahead = end.granule - end.effectiveFrames
    let granule = store.failure == nil ? end.granule : store.packets * Int64(packetFrames)
    let frames = store.failure == nil ? end.effectiveFrames : max(0, granule - lookahead)
    let result: Result<SealedTake, RecorderFailure>
    do throws(RecorderFailure) {
      result = .success(try sealed(partial, store, end, granule: granule, frames: frames))
    } catch { result = .failure(error) }
    switch result {
    case .success(let take):
      _ = machine.withLock { $0.finished(sealed: true) }
      events.push(.state(.sealed, effectiveFrames: frames))
      events.push(.sealed(take))
      if let error = store.failure {
        events.push(.failed(Failures.lostTail(error, take, captured: end.effectiveFrames)))
      } else if let failure = end.failure {
        events.push(
          .failed(
            RecorderFailure(
              code: 74, kind: "encoder", path: take.path,
              message: "libopus failed (\(failure.text)); the take is sealed up to there")))
      } else if let failure = source.failure {
        events.push(.failed(Failures.midway(failure, take)))
      } else if let damage = source.damage {
        events.push(.failed(Failures.damaged(damage, take)))
      }
    case .failure(let failure):
      _ = machine.withLock { $0.finished(sealed: false) }
      events.push(.state(.failed, effectiveFrames: frames))
      events.push(.failed(failure))
    }
  }

  private func sealed(
    _ partial: PartialTake, _ store: StoreThread, _ end: SignalThread.End, granule: Int64, frames: Int64
  ) throws(RecorderFailure) -> SealedTake {
    let size: Int64
    let sha256: String
    do throws(DiskError) { (size, sha256) = try store.finish(granule: granule) } catch {
      throw Failures.lastPage(error, partial: partial.partialPath)
    }
    let story = TakeStory(store.records, clampedTo: frames)
    let manifest = Manifest(
      outcome: .complete, effectiveFrames: frames, sizeBytes: size, sha256: sha256, story: story,
      noiseFloorDb: end.noiseFloorDb, bars: end.bars, ledger: TakeStory.embedded(store.records))
    do throws(SealError) {
      let file = try partial.seal(manifest: Array(manifest.text.utf8))
      return SealedTake(
        path: file.path, effectiveFrames: frames, sizeBytes: size, sha256: sha256,
        pauseCount: story.pauses.count, outcome: .complete, endedBy: story.endedBy ?? .user,
        missingMs: manifest.missingMs, context: story.description?.contextJSON, faults: end.faults,
        warning: file.warning)
    } catch { throw Failures.seal(error) }
  }

  private func discardNow(_ end: SignalThread.End) {
    guard let partial = running.withLock({ $0?.partial }) else { return }
    do throws(DiskError) {
      let path = try partial.discard()
      events.push(.state(.discarded, effectiveFrames: end.effectiveFrames))
      events.push(.discarded(path))
    } catch {
      _ = machine.withLock { $0.finished(sealed: false) }
      events.push(.state(.failed, effectiveFrames: end.effectiveFrames))
      events.push(
        .failed(
          RecorderFailure(
            code: 74, kind: "discard_failed", path: partial.partialPath,
            message:
              "can't move the take to the trash: \(error.text); it stays as \(partial.partialPath.display)")))
    }
  }
}

extension SignalThread.End {
  /// The level of the quietest tenth, without the DC part; the take's own level where it is too short to tell.
  var noiseFloorDb: Double {
    let mean = summary.frames > 0 ? summary.sum / Double(summary.frames) : 0
    let quiet = quietMeanSquare ?? (summary.frames > 0 ? summary.sumOfSquares / Double(summary.frames) : 0)
    return decibels(meanSquare: max(0, quiet - mean * mean))
  }
}

extension ChannelChoice {
  /// As `--channel` takes it.
  public var name: String {
    switch self {
    case .channel(let number): "\(number)"
    case .mix: "mix"
    }
  }
}
