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
}
