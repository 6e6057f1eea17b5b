import Capture
import Encoding
import Platform
import Session
import Signal
import Store
import Synchronization

/// A take under way: its files, and the threads that fill them.
struct Taking: Sendable {
  let box: PartialBox
  let queue: StoreQueue
  let store: StoreThread
  let storeThread: Thread
  let sync: SyncThread
  let syncThread: Thread
}

extension Recorder {
  /// Makes everything between the source and the packets. No file is made, no thread runs.
  func open(_ box: SourceBox) throws(RecorderFailure) {
    let source = box.source
    let format = source.format
    let conformer: Conformer
    do throws(ConformError) {
      conformer = try Conformer(
        format: format, choice: settings.channel, quality: settings.quality, fullScale: source.fullScale)
    } catch { throw Failures.conform(error) }
    let encoder: OpusEncoder
    do throws(OpusError) {
      if let continuing { encoder = continuing.encoder } else { encoder = try OpusEncoder(settings.encoder) }
    } catch {
      throw RecorderFailure(code: 64, kind: "encoder", message: "libopus refuses the settings: \(error.text)")
    }
    let ring = FrameRing(format: format, block: source.periodFrames)
    let losses = LossRing()
    let filled = CountingSemaphore()
    let isDevice = settings.live && settings.sourceKind == "alsa"
    let capture = CaptureThread(
      source: source, ring: ring, losses: losses, filled: filled, live: settings.live, isDevice: isDevice,
      absence: settings.absence, onAway: { [weak self] in self?.sourceAway($0, since: $1) ?? false },
      onMissed: { [weak self] in self?.sourceMissed($0, since: $1) },
      onBack: { [weak self] in self?.sourceBack() })
    let limit = settings.maxMs > 0 ? settings.maxMs.multipliedReportingOverflow(by: 48) : (0, true)
    let signal = SignalThread(
      ring: ring, losses: losses, filled: filled, conformer: conformer, encoder: encoder, gaps: settings.gaps,
      maxFrames: limit.1 ? nil : limit.0, preRollFrames: settings.preRollMs * 48, continuing: continuing,
      minPauseMs: settings.minPauseMs,
      silence: SilenceRules(
        pauseAfterMs: settings.autoPauseMs, stopAfterMs: settings.stopAfterSilenceMs), cell: cell,
      onEvent: { [weak self] in self?.tell($0) }, onRoom: { capture.wakeForSpace() },
      onLimit: { [weak self] in self?.stop($0) }, until: { capture.away?.until },
      clockDrift: { capture.clockDrift })
    running.withLock {
      $0 = Running(
        capture: capture, signal: signal, encoder: EncoderBox(encoder: encoder), format: format,
        isDevice: isDevice)
    }
  }

  /// Starts the capture and signal threads.
  func run() throws(RecorderFailure) {
    guard let running = running.withLock({ $0 }) else { return }
    var captureThread: Thread?
    do throws(Errno) {
      let first = try Thread(name: "hf-capture") { running.capture.run() }
      captureThread = first
      let last = try Thread(name: "hf-signal") {
        if running.isDevice { raisePriority() }
        self.runSignal(running.signal, first)
      }
      signalThread.withLock { $0 = last }
    } catch {
      running.capture.abandon()
      captureThread?.join()
      if let taking = running.taking { neverBegun(taking) }
      running.inhibitor?.release()
      self.running.withLock { $0 = nil }
      throw Self.threadFailure(error)
    }
  }
  private static func threadFailure(_ error: Errno) -> RecorderFailure {
    RecorderFailure(code: 74, kind: "thread", message: "can't start a thread: \(error.text)")
  }

  /// Makes the partial take, starts the threads that fill it, and tells the signal thread to begin.
  func beginTake() throws(RecorderFailure) {
    guard let running = running.withLock({ $0 }) else { throw Self.sourceEnded(settings.inputPath) }
    let begun: Continuation.Resumed
    let records: [LedgerRecord]
    if let continuing {
      begun = try continuing.begin(reserve: PartialTake.reserveSize(bitrate: settings.encoder.bitrate))
      records = continuing.records
    } else {
      (begun, records) = try beginNew(running)
    }
    let bytesPerMinute = settings.encoder.bitrate / 8 * 60
    let queue = StoreQueue(
      capacity: max(240_000, bytesPerMinute + bytesPerMinute / 4), wakeAt: settings.live ? 1 : 16_384)
    let box = PartialBox(begun.partial)
    standing.withLock { $0 = begun.partial.place.audioPath }
    // What comes from a file can be had again.
    let patience = settings.live ? StoreThread.patience : 0
    let news = diskNews
    let store = StoreThread(
      queue: queue, box: box, writer: begun.writer, digest: begun.digest, records: records,
      patience: patience, news: news)
    // Packets, their page and their tail records, and a summary a second.
    let bytesPerSecond = Double(settings.encoder.bitrate) / 8 * 1.05 + 600
    let sync = SyncThread(
      box: box, clock: queue.clock, elsewhere: elsewhere, patience: patience,
      bytesPerSecond: bytesPerSecond, news: news)
    let isDevice = running.isDevice
    let taking: Taking
    var storeThread: Thread?
    do throws(Errno) {
      let first = try Thread(name: "hf-store") {
        if isDevice { raisePriority() }
        store.run()
      }
      storeThread = first
      taking = Taking(
        box: box, queue: queue, store: store, storeThread: first, sync: sync,
        syncThread: try Thread(name: "hf-sync") { sync.run() })
    } catch {
      queue.end()
      storeThread?.join()
      removeUnbegun(box)
      throw Self.threadFailure(error)
    }
    let inhibitor = settings.inhibitsSleep && settings.live ? SleepInhibitor() : nil
    let isOver = self.running.withLock { running in
      guard running?.isOver == false else { return true }
      running?.taking = taking
      running?.inhibitor = inhibitor
      return false
    }
    // The source of an armed recorder has ended while the files were made: nobody would ever fill them.
    guard !isOver else {
      inhibitor?.release()
      neverBegun(taking)
      throw Self.sourceEnded(settings.inputPath)
    }
    running.signal.command(.start(queue), time: .now)
  }

  private func beginNew(
    _ running: Running
  ) throws(RecorderFailure) -> (Continuation.Resumed, [LedgerRecord]) {
    guard let digest = Digest() else {
      throw RecorderFailure(code: 74, kind: "digest", message: "OpenSSL gives no SHA-256 on this machine")
    }
    let preSkip = running.encoder.encoder.preSkip
    let takeID = settings.takeID ?? Disk.randomHex(bytes: 16)
    let serial: UInt32 = Digest.sha256(Array(takeID.utf8)).get(0)
    let writer = OggOpusWriter(serial: serial, preSkip: preSkip)
    let headers = writer.headers()
    let description = TakeDescription(
      takeID: takeID, context: settings.context, createdMs: Stamp.wallMilliseconds,
      source: settings.sourceKind, deviceRate: running.format.rate,
      deviceChannels: running.format.channels,
      channel: settings.channel.name, bitrate: settings.encoder.bitrate,
      complexity: settings.encoder.complexity, preSkip: preSkip, serial: serial, gaps: settings.gaps,
      maxMs: settings.maxMs, minValidMs: settings.minValidMs, encoder: OpusEncoder.libraryVersion,
      live: settings.live)
    // A front end's own words must fit into one record of the ledger.
    let words = (settings.context?.utf8.count ?? 0, takeID.utf8.count)
    guard max(words.0, words.1) <= TakeDescription.largestContext else {
      throw RecorderFailure(
        code: 64, kind: "usage",
        message: "a take's context and its id may have \(TakeDescription.largestContext) bytes each")
    }
    let begin = LedgerRecord(captureFrame: 0, effectiveFrame: 0, event: .begin(description))
    let partial = try makePartial(headers: headers, begin: begin)
    digest.update(headers.span)
    return (Continuation.Resumed(partial: partial, writer: writer, digest: digest), [begin])
  }

  private func makePartial(headers: [UInt8], begin: LedgerRecord) throws(RecorderFailure) -> PartialTake {
    // 30 s of audio and ledger, the reserve, and what sealing writes.
    let bitrate = settings.encoder.bitrate
    let reserve = PartialTake.reserveSize(bitrate: bitrate)
    let needed = Int64(bitrate / 8 * 33 + 30 * 1_300) + reserve + 16_384
    var attempts = 0
    while true {
      let (folder, name) = try place()
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
  /// Whether the file that was asked for can be a take's, before any device is opened for it.
  func checkOutput() throws(RecorderFailure) {
    guard continuing == nil, settings.output != nil else { return }
    let (folder, name) = try place()
    do throws(OutputError) { try name.check() } catch {
      throw Failures.output(error, path: folder.appending(name.audio))
    }
  }
  private func place() throws(RecorderFailure) -> (folder: Path, name: TakeName) {
    if let output = settings.output {
      guard output.bytes.last != UInt8(ascii: "/") else {
        throw Failures.output(.wrongKind(.folder), path: output)
      }
      return (output.parent, TakeName(audio: output.name))
    }
    guard let standard = settings.takesFolder else {
      throw RecorderFailure(
        code: 73, kind: "no_folder",
        message: "no folder for takes: neither XDG_DATA_HOME nor HOME is set; name a file with -o FILE.opus")
    }
    do throws(DiskError) {
      try Disk.makeFolders(standard)
      return (standard, try TakesFolder.newName(in: standard))
    } catch { throw Failures.disk(error, at: standard, doing: "can't use the takes folder") }
  }

  // MARK: interruptions

  /// Decides, and gives the signal thread its place in the take; one step, so that commands keep their order.
  ///
  /// - Returns: whether the take is interrupted now.
  @discardableResult
  private func interruption(
    at time: EventTime = .now, _ decide: (inout TakeMachine) -> (TakeMachine.Action, Path?)
  ) -> Bool {
    advance { machine in
      let (action, path) = decide(&machine)
      let kind: StreamEvent.Kind
      switch action {
      case .awaitSource(let reason), .awaitDisk(let reason): kind = .interrupted(reason, machine.state)
      case .diskIsBack(let reason): kind = .resumed(reason, machine.state, movedTo: path)
      default: return machine.state.isInterrupted
      }
      running.withLock { $0?.signal.command(kind, time: time) }
      return machine.state.isInterrupted
    }
  }
  private func sourceAway(_ reason: InterruptionReason, since: EventTime) -> Bool {
    interruption(at: since) { machine in
      let action = machine.interrupted(reason)
      // Tried again for nothing: the front end that asked for it is told so.
      if action == .none, settings.absence == .ask, machine.state.isInterrupted {
        tell(
          .interrupted(reason, effectiveFrames: effectiveFrames))
      }
      return (action, nil)
    }
  }
  /// Frames were away and are back; what an armed recorder missed is nobody's loss.
  private func sourceMissed(_ reason: InterruptionReason, since: EventTime) {
    guard state.isTaking, sourceAway(reason, since: since) else { return }
    sourceBack()
  }
  /// On the capture thread, before the frames can be seen.
  private func sourceBack() {
    advance { machine in
      guard case .interrupted(let reason, _) = machine.state, machine.opened() == .joinSource else { return }
      let state = machine.state
      running.withLock { $0?.signal.command(.resumed(reason, state, movedTo: nil), time: .now) }
    }
  }

  private var diskNews: DiskNews {
    DiskNews(
      onTrouble: { [weak self] part, reason in
        guard let self else { return }
        diskTrouble.withLock { $0[part] = reason }
        interruption { ($0.diskFailed(reason), nil) }
      },
      onRecovery: { [weak self] part, path in
        guard let self else { return }
        if let path { standing.withLock { $0 = path } }
        let others = diskTrouble.withLock { trouble in
          trouble[part] = nil
          return trouble.values.first
        }
        interruption { machine in (others.map { machine.diskFailed($0) } ?? machine.diskWorks(), path) }
      },
      onGivenUp: { [weak self] in self?.stop(.disk) },
      onLowDisk: { [weak self] notice in
        guard let self else { return }
        tell(.lowDisk(notice, effectiveFrames: effectiveFrames))
      },
      onMissing: { [weak self] in self?.tell(.filesystem($0, $1)) })
  }

  // MARK: ending

  /// The signal thread: runs the take, then waits for the others, and ends it.
  private func runSignal(_ signal: SignalThread, _ captureThread: Thread) {
    let end = signal.run()
    running.withLock { $0?.capture.abandon() }  // a limit ends the take before the source
    if signal.captureHangs {
      hung.store(true, ordering: .releasing)  // it is left in the device's hands
    } else {
      captureThread.join()
    }
    var source = running.withLock { $0?.capture.end } ?? CaptureThread.End()
    if signal.captureHangs, let away = running.withLock({ $0?.capture.away }) {
      source.failure = .device(away.fault)
      source.waitedMs = away.forMs
    }
    problems.withLock { $0 = source.problems }
    let taking = running.withLock { running in
      running?.isOver = true
      return running?.taking
    }
    if let end, let taking {
      stop(source.failure?.fault != nil ? .device : .sourceEnd)  // no-op where it was stopped before
      let by = endedBy.withLock { $0 }
      // It was away, and nobody waits for it any more.
      if by != .device, source.failure?.fault != nil { source.failure = nil }
      let left = if case .interrupted(.left, _) = state { true } else { false }
      signal.recordEnd(left ? .interruption(.left, .now) : .stop(by, .now, submit: false))
      taking.store.hurry()
      taking.storeThread.join()
      taking.sync.stop()
      taking.syncThread.join()
      if advance({ $0.drained() }) == .seal {
        tell(.state(.sealing, effectiveFrames: end.effectiveFrames))
        seal(taking, end, source)
      } else if left {
        keepPartial(taking, end)
      } else {
        discardNow(taking.box.current, end)
      }
    } else {
      if let taking { neverBegun(taking) }
      endedArmed(source)
    }
    running.withLock { $0?.inhibitor }?.release()
    taking?.box.current.place.sweepTrash()
    running.withLock { $0 = nil }
    events.close()
    ended.post()
  }

  /// A take whose source ended before the start could take effect: its files go, but for those that were there before.
  private func neverBegun(_ taking: Taking) {
    taking.queue.end()
    taking.store.hurry()
    taking.storeThread.join()
    taking.sync.stop()
    taking.syncThread.join()
    removeUnbegun(taking.box)
  }
  private func removeUnbegun(_ box: PartialBox) {
    guard continuing == nil else { return }
    box.current.removeLeftovers()
    standing.withLock { $0 = nil }
  }
  private static func sourceEnded(_ input: Path?) -> RecorderFailure {
    RecorderFailure(
      code: 66, kind: "no_take", path: input,
      message: "the source ended before a take was begun: nothing is recorded")
  }

  /// The source went away, or was let go, before a take began.
  private func endedArmed(_ source: CaptureThread.End) {
    if let failure = source.failure {
      _ = advance { $0.refused(permission: false) }
      tell(.failed(Failures.armed(failure, input: settings.inputPath)))
    } else if state == .armed {
      stop(.sourceEnd)
      tell(.failed(Self.sourceEnded(settings.inputPath)))
    } else if state == .recording {  // it was just to begin
      _ = advance { $0.refused(permission: false) }
      tell(.failed(Self.sourceEnded(settings.inputPath)))
    }
    tell(.state(state, effectiveFrames: 0))
  }

  private func seal(_ taking: Taking, _ end: TakeEnd, _ source: CaptureThread.End) {
    // After a disk failure the take is what the disk has: whole packets, as recovery would seal them. Where only the
    // last tail couldn't be written, the last page holds all of it.
    let store = taking.store
    store.gather()
    let granule = max(
      end.granule - end.effectiveFrames, min(end.granule, store.packets * Int64(packetFrames)))
    let frames = max(0, granule - (end.granule - end.effectiveFrames))
    do throws(RecorderFailure) {
      let take = try sealed(taking, end, granule: granule, frames: frames)
      standing.withLock { $0 = take.path }
      _ = advance { $0.finished(sealed: true) }
      tell(.state(.sealed, effectiveFrames: frames))
      tell(.sealed(take))
      if let failure = loss(take, end, taking, source) { tell(.failed(failure)) }
    } catch {
      _ = advance { $0.finished(sealed: false) }
      tell(.state(.failed, effectiveFrames: frames))
      tell(.failed(error))
    }
  }

  /// Why a sealed take doesn't hold all that there was.
  private func loss(
    _ take: SealedTake, _ end: TakeEnd, _ taking: Taking, _ source: CaptureThread.End
  ) -> RecorderFailure? {
    let lost = end.effectiveFrames - take.effectiveFrames
    if let error = taking.store.failure ?? taking.sync.failure, lost > 0 || take.endedBy == .disk {
      return Failures.disk(error, take, lostFrames: lost)
    }
    if take.isElsewhere {
      return RecorderFailure(
        code: 74, kind: "folder_gone", path: take.path,
        message:
          "the take's folder or file was deleted while it was recorded, or may no longer be written to; it is whole, and now \(take.path.display)"
          + taking.box.sweep().map { "; what was recorded until then stands in \($0.display) too" }.joined()
      )
    }
    if let failure = end.failure {
      return RecorderFailure(
        code: 74, kind: "encoder", path: take.path,
        message: "libopus failed (\(failure.text)); the take is sealed up to there")
    }
    if let failure = source.failure {
      return Failures.midway(failure, take, input: settings.inputPath, waitedMs: source.waitedMs)
    }
    return source.damage.map { Failures.damaged($0, take, input: settings.inputPath) }
  }

  private func sealed(
    _ taking: Taking, _ end: TakeEnd, granule: Int64, frames: Int64
  ) throws(RecorderFailure) -> SealedTake {
    let store = taking.store
    try follow(taking.box)
    let partial = taking.box.current
    let size: Int64
    let sha256: String
    do throws(DiskError) { (size, sha256) = try store.finish(granule: granule) } catch {
      throw Failures.lastPage(error, partial: partial.place.partialPath)
    }
    let records = store.records.map { $0.clamped(to: frames) }
    let story = TakeStory(records, clampedTo: frames)
    let manifest = Manifest(
      outcome: .complete, effectiveFrames: frames, sizeBytes: size, sha256: sha256, story: story,
      noiseFloorDb: end.noiseFloorDb, bars: end.bars,
      speech: SpeechFigures(story, frames: frames), ledger: TakeStory.embedded(records))
    let file: SealedFile
    do throws(RecorderFailure) {
      file = try manifest.seal { (bytes) throws(SealError) in try partial.seal(manifest: bytes) }
    } catch {
      // It went while it was sealed: once more, in another folder.
      guard error.path == partial.place.partialPath, partial.isGone, (try? follow(taking.box)) != nil,
        taking.box.current !== partial
      else {
        throw error
      }
      let moved = taking.box.current
      file = try manifest.seal { (bytes) throws(SealError) in try moved.seal(manifest: bytes) }
    }
    return SealedTake(
      path: file.path, effectiveFrames: frames, sizeBytes: size, sha256: sha256,
      pauseCount: story.pauses.count, outcome: .complete, endedBy: story.endedBy ?? .user,
      missingMs: manifest.missingMs, context: story.description?.contextJSON, faults: end.faults,
      isElsewhere: taking.box.isElsewhere, warning: file.warning)
  }

  /// A take whose folder has gone since the last look is moved to the default takes folder now.
  private func follow(_ box: PartialBox) throws(RecorderFailure) {
    guard box.current.isGone else { return }
    do throws(DiskError) { _ = try box.move(into: elsewhere) } catch {
      // Where only the audio's name is lost the seal makes it anew.
      if box.current.place.isGone { throw Failures.folderGone(box.current.place.partialPath, error) }
    }
  }
  /// Where a take goes whose folder has gone: the default takes folder; where that can't be, the folder it was in, then the
  /// temporary one. A voice in the wrong place is better than none.
  private var elsewhere: [Path] {
    let temporary = settings.temporaryFolder
    return [settings.takesFolder, settings.output?.parent, temporary].compactMap { $0 }
  }

  /// The front end has left: everything is on the disk, and stays as it is.
  private func keepPartial(_ taking: Taking, _ end: TakeEnd) {
    var failure = taking.store.failure
    do throws(DiskError) { try taking.box.current.sync() } catch { failure = failure ?? error }
    tell(.state(state, effectiveFrames: end.effectiveFrames))
    tell(.interrupted(.left, effectiveFrames: end.effectiveFrames))
    if let failure {
      tell(.failed(Failures.leaving(failure, taking.box.current.place.partialPath)))
    }
  }

  private func discardNow(_ partial: PartialTake, _ end: TakeEnd) {
    do throws(DiskError) {
      let path = try partial.place.discard()
      tell(.state(.discarded, effectiveFrames: end.effectiveFrames))
      tell(.discarded(path, take: partial.place.audioPath))
    } catch {
      _ = advance { $0.finished(sealed: false) }
      tell(.state(.failed, effectiveFrames: end.effectiveFrames))
      tell(.failed(Failures.discarding(error, partial.place.partialPath)))
    }
  }
}
