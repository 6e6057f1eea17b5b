import Encoding
import Glibc
import Platform
import Session
import Signal
import Synchronization

/// A command of the user on its way to the frame it belongs to.
struct GateCommand: Sendable {
  enum Kind: Sendable {
    case pause, resume
    case mark(label: String?)
  }
  var kind: Kind
  /// Device frames captured when it arrived.
  var captureFrame: Int64
  var time: EventTime
}

/// Everything between the ring and the packets: conform, clock, meter, bars, encode. One thread runs it.
final class SignalThread: @unchecked Sendable {
  private let ring: FrameRing
  private let filled: CountingSemaphore
  private let queue: StoreQueue
  private let conformer: Conformer
  private let encoder: OpusEncoder
  private var clock: TakeClock
  private var meter = Meter()
  private var bars = LiveBars()
  private var frames = [Float](repeating: 0, count: packetFrames)
  private var frameCount = 0
  private var packet = [UInt8](repeating: 0, count: OpusEncoder.largestPacket)
  private(set) var packets: Int64 = 0
  private var lastSummary: Int64 = 0
  private var marks: [GateCommand] = []
  private var pauses: [GateCommand] = []
  private var encoderFailure: OpusError?
  private let effective = Atomic<Int64>(0)

  /// Commands not yet scheduled; pushed by any thread, with the capture frame read under this lock.
  private let commands = Mutex<[GateCommand]>([])
  private let onEvent: @Sendable (RecorderEvent) -> Void
  private let onRoom: @Sendable () -> Void
  private let onLimit: @Sendable () -> Void

  init(
    ring: FrameRing, filled: CountingSemaphore, queue: StoreQueue, conformer: Conformer, encoder: OpusEncoder,
    maxFrames: Int64?, onEvent: @escaping @Sendable (RecorderEvent) -> Void,
    onRoom: @escaping @Sendable () -> Void, onLimit: @escaping @Sendable () -> Void
  ) {
    self.ring = ring
    self.filled = filled
    self.queue = queue
    self.conformer = conformer
    self.encoder = encoder
    clock = TakeClock(maxFrames: maxFrames)
    self.onEvent = onEvent
    self.onRoom = onRoom
    self.onLimit = onLimit
  }

  /// Effective frames so far. Any thread.
  var effectiveFrames: Int64 { effective.load(ordering: .relaxed) }

  /// Schedules a command at the frame captured now, or at a given one that isn't captured yet. Any thread.
  func command(_ kind: GateCommand.Kind, atCaptureFrame frame: Int64?, time: EventTime) {
    commands.withLock {
      $0.append(GateCommand(kind: kind, captureFrame: frame ?? ring.written, time: time))
    }
    filled.post()
  }

  /// What the last frames made of the take; valid once `run` has returned.
  struct End {
    var effectiveFrames: Int64
    var captureFrames: Int64
    var granule: Int64
    var summary: LevelSummary
    var bars: [Double]
    var quietMeanSquare: Double?
    var faults: SampleFaults
    var failure: OpusError?
  }

  /// Runs until the ring is closed and empty, or the limit is reached; then brings out what is still inside.
  func run(start: EventTime) -> End {
    record(.start(start), capture: 0, effective: 0)
    onEvent(.state(.recording, effectiveFrames: 0))
    while encoderFailure == nil, !clock.isFull {
      let closed = ring.isClosed  // before `written`: what it says is final then
      let written = ring.written
      schedule()
      while ring.consumed < written, !clock.isFull, encoderFailure == nil {
        let n = ring.read(atMost: min(Int(written - ring.consumed), max(480, ring.format.rate / 10))) {
          bytes in
          conformer.push(bytes, count: bytes.byteCount / ring.format.bytesPerFrame) { span, count in
            pass(&span, count)
          }
        }
        if n == 0 { break }
        onRoom()
      }
      if closed, ring.consumed == ring.written { break }
      if !clock.isFull, encoderFailure == nil { filled.wait() }
    }
    schedule()
    if clock.isFull {
      onLimit()
    } else {
      conformer.finish { span, count in pass(&span, count) }
      var none = InlineArray<1, Float>(repeating: 0)
      var span = none.mutableSpan
      pass(&span, 0)  // commands at the very end
    }
    return finish()
  }

  private func schedule() {
    let new = commands.withLock { list in
      defer { list.removeAll() }
      return list
    }
    for command in new {
      let position = takeFrames(deviceFrames: command.captureFrame, rate: ring.format.rate)
      switch command.kind {
      case .pause:
        pauses.append(command)
        clock.schedule(.pause, at: position, captureFrame: command.captureFrame)
      case .resume:
        pauses.append(command)
        clock.schedule(.resume, at: position, captureFrame: command.captureFrame)
      case .mark:
        marks.append(command)
        clock.schedule(.mark(marks.count - 1), at: position, captureFrame: command.captureFrame)
      }
    }
  }

  private func pass(_ span: inout MutableSpan<Float>, _ count: Int) {
    clock.pass(&span, count: count) { kept in
      keep(kept)
    } transition: {
      taken($0)
    }
    effective.store(clock.effectiveFrames, ordering: .relaxed)
  }

  private func taken(_ transition: TakeClock.Transition) {
    let at = transition.effectiveFrame
    switch transition.command {
    case .pause where transition.closed: onEvent(.state(.paused, effectiveFrames: at))
    case .pause: record(.pause(time(of: transition)), capture: transition.captureFrame, effective: at)
    case .resume:
      record(.resume(time(of: transition)), capture: transition.captureFrame, effective: at)
      onEvent(.state(.recording, effectiveFrames: at))
    case .mark(let number):
      guard case .mark(let label) = marks[number].kind else { return }
      record(.mark(label: label), capture: transition.captureFrame, effective: at)
      onEvent(.mark(effectiveFrames: at, label: label))
    }
  }
  private func time(of transition: TakeClock.Transition) -> EventTime {
    guard let i = pauses.firstIndex(where: { $0.captureFrame == transition.captureFrame }) else {
      return .now
    }
    return pauses.remove(at: i).time
  }

  /// The kept frames' way: meter, bars, packets.
  private func keep(_ samples: Span<Float>) {
    var first = 0
    while first < samples.count {
      let n = min(samples.count - first, packetFrames - frameCount)
      let part = samples.extracting(first..<(first + n))
      meter.push(part) { level in
        bars.push(level.bar)
        onEvent(.level(level, bars: bars.bars))
      }
      var target = frames.mutableSpan
      copy(part, to: &target, at: frameCount)
      frameCount += n
      first += n
      if frameCount == packetFrames { encode() }
      if meter.totals.frames - lastSummary >= Int64(takeRate) { summarise() }
    }
  }

  private func encode() {
    frameCount = 0
    guard encoderFailure == nil else { return }
    do throws(OpusError) {
      var room = packet.mutableSpan
      let size = try encoder.encode(frames.span, into: &room)
      queue.push(.packet, packet.span.extracting(0..<size))
      packets += 1
    } catch { encoderFailure = error }
  }

  private func summarise() {
    let totals = meter.totals
    lastSummary = totals.frames
    let summary = summary(totals, pending: meter.pendingEnergy)
    record(.levels(summary), capture: conformer.deviceFrames, effective: totals.frames)
  }
  private func summary(_ totals: LevelTotals, pending: Double) -> LevelSummary {
    var summary = LevelSummary()
    summary.frames = totals.frames
    summary.sum = totals.sum
    summary.sumOfSquares = totals.sumOfSquares
    summary.peak = totals.peak
    summary.pendingEnergy = pending
    summary.notFinite = conformer.faults.notFinite
    summary.over = conformer.faults.over
    summary.clippedRuns = conformer.faults.clippedRuns
    summary.bins = meter.takeFinishedBins()
    return summary
  }

  private var ledgerCapture: Int64 = 0
  private var ledgerEffective: Int64 = 0
  /// Frame counts of the ledger never fall, also where a summary and a transition meet in one block.
  private func record(_ event: LedgerEvent, capture: Int64, effective: Int64) {
    ledgerCapture = max(ledgerCapture, capture)
    ledgerEffective = max(ledgerEffective, effective)
    let bytes = Ledger.encode(
      LedgerRecord(captureFrame: ledgerCapture, effectiveFrame: ledgerEffective, event: event))
    queue.push(.ledger, bytes.span)
  }

  /// Pads the last packets: n frames need ceil((n + pre-skip) / 960) packets and end at granule n + pre-skip.
  private func finish() -> End {
    let total = clock.effectiveFrames
    let granule = total + Int64(encoder.preSkip)
    let needed = (granule + Int64(packetFrames) - 1) / Int64(packetFrames)
    while packets < needed, encoderFailure == nil {
      var target = frames.mutableSpan
      for i in frameCount..<packetFrames { target[i] = 0 }
      encode()
    }
    let last = summary(meter.finalTotals, pending: meter.pendingEnergy)
    record(.levels(last), capture: conformer.deviceFrames, effective: total)
    return End(
      effectiveFrames: total, captureFrames: conformer.deviceFrames, granule: granule, summary: last,
      bars: meter.bars(), quietMeanSquare: meter.overview.quietMeanSquare(), faults: conformer.faults,
      failure: encoderFailure)
  }

  /// Writes the stop; the signal thread's last record.
  func recordStop(_ by: EndedBy, at end: End) {
    record(.stop(by, .now, submit: false), capture: end.captureFrames, effective: end.effectiveFrames)
    queue.end()
  }
}

extension EventTime {
  static var now: EventTime { EventTime(wallMs: Stamp.wallMilliseconds, bootNs: Stamp.bootNanoseconds) }
}
