import Encoding
import Platform
import Session
import Signal

/// The kept frames' way: meter, bars, packets, and the ledger's records. The signal thread's own.
struct TakePath {
  private let encoder: OpusEncoder
  private let onEvent: @Sendable (RecorderEvent) -> Void
  private let clockDrift: @Sendable () -> ClockDrift?
  private var driftTold: Int64 = 0  // seconds it had been measured over
  private var queue: StoreQueue?
  private var meter = Meter()
  private var bars = LiveBars()
  private var silence = NoSignalDetector(rate: takeRate)
  private var isSilent = false
  private var silences = 0  // stretches that were told
  private var clipping = ClippingWatch()
  private var quiet = QuietWatch()
  private var quietBlocks = 0  // of `silence`, seen by `quiet`
  private var isDiskSlow = false
  private var speech: SpeechDetector
  /// Effective frames yet to come at which nothing follows on what came before.
  private var edges: [Int64] = []
  private var frames = [Float](repeating: 0, count: packetFrames)
  private var frameCount = 0
  private var packet = [UInt8](repeating: 0, count: OpusEncoder.largestPacket)
  private var packets: Int64 = 0
  private var lastSummary: Int64 = 0
  private var faults = SampleFaults()
  private var heardClips: Int64 = 0  // clipped runs of the source, those of a pause too
  private var keptClips: Int64 = 0  // of what is in the take, as exactly as the source is read
  private var ledgerCapture: Int64 = 0
  private var ledgerEffective: Int64 = 0
  private(set) var failure: OpusError?
  private let continuing: Continuation?
  private let earlierFaults: SampleFaults
  /// The next packet only primes the encoder: the take has it already.
  private var dropsPacket = false

  init(
    encoder: OpusEncoder, continuing: Continuation?, minPauseMs: Int64,
    onEvent: @escaping @Sendable (RecorderEvent) -> Void,
    clockDrift: @escaping @Sendable () -> ClockDrift? = { nil }
  ) {
    self.encoder = encoder
    self.clockDrift = clockDrift
    self.onEvent = onEvent
    self.continuing = continuing
    earlierFaults = continuing?.faults ?? SampleFaults()
    speech = continuing?.speech ?? SpeechDetector(minPauseMs: minPauseMs)
    guard let continuing else { return }
    (meter, bars, silence) = (continuing.meter, continuing.bars, continuing.silence)
    (isSilent, silences) = (silence.isActive, silence.stretches.count)
    clipping = ClippingWatch(from: continuing.effectiveFrames)
    quietBlocks = silence.blocks
    packets = continuing.packets
    lastSummary = continuing.effectiveFrames
    ledgerCapture = continuing.records.last?.captureFrame ?? 0
    ledgerEffective = continuing.effectiveFrames
    frameCount = continuing.prefix.count
    frames.replaceSubrange(0..<frameCount, with: continuing.prefix)
    dropsPacket = packets > 0
  }

  var hasBegun: Bool { queue != nil }

  mutating func begin(_ queue: StoreQueue, _ event: StreamEvent, _ format: SourceFormat) {
    self.queue = queue
    ledgerStart = event.captureFrame - ledgerCapture
    if continuing != nil {
      record(
        .continued(event.time, deviceRate: format.rate, deviceChannels: format.channels),
        capture: event.captureFrame, effective: ledgerEffective)
      if continuing?.wasSpeaking == true {
        record(
          .speech(speaking: false, atFrame: ledgerEffective), capture: event.captureFrame,
          effective: ledgerEffective)
      }
    } else {
      record(.start(event.time), capture: event.captureFrame, effective: 0)
    }
  }
  private var ledgerStart: Int64 = 0  // the ledger counts device frames from the take's start

  /// - Parameter clippedRuns: of the source so far, these samples included.
  mutating func keep(_ samples: Span<Float>, captureFrames: Int64, clippedRuns: Int64) {
    let clips = max(0, clippedRuns - heardClips)
    (heardClips, keptClips) = (heardClips + clips, keptClips + clips)
    warn(count: samples.count, clipped: clips > 0)
    var first = 0
    while first < samples.count {
      while let edge = edges.first, edge <= speech.frames {
        edges.removeFirst()
        closeSpeech(captureFrames)
      }
      var n = min(samples.count - first, packetFrames - frameCount)
      if let edge = edges.first { n = min(n, Int(edge - speech.frames)) }
      let part = samples.extracting(first..<(first + n))
      meter.push(part) { level in
        bars.push(level.bar)
        onEvent(.level(level, bars: bars.bars))
      }
      hear(part, captureFrames)
      silence.push(part)
      tellSilence()
      if silence.blocks != quietBlocks { warnOfQuiet() }
      let at = frameCount
      var target = frames.mutableSpan
      copy(part, to: &target, at: at)
      frameCount += n
      first += n
      if frameCount == packetFrames { encode() }
      if meter.totals.frames - lastSummary >= Int64(takeRate) {
        lastSummary = meter.totals.frames
        summarise(meter.totals, captureFrames: captureFrames)
        noteDrift(captureFrames, every: 60)
      }
    }
  }

  private mutating func tellSilence() {
    // One that began and ended since the last look, or ended: its end, behind its start where that wasn't told yet.
    if silence.stretches.count > silences, let stretch = silence.stretches.last {
      silences = silence.stretches.count
      if !isSilent { onEvent(.warning(.noSignal, active: true, atFrame: stretch.lowerBound)) }
      onEvent(.warning(.noSignal, active: false, atFrame: stretch.upperBound))
      isSilent = false
    }
    if let since = silence.activeSince, !isSilent {
      isSilent = true
      onEvent(.warning(.noSignal, active: true, atFrame: since))
    }
  }

  /// Clipping is told as exactly as the source is read: to a period of a device, to 100 ms of a file.
  private mutating func warn(count: Int, clipped: Bool) {
    guard let frame = clipping.push(count: count, clipped: clipped) else { return }
    onEvent(.warning(.clipping, active: clipping.isActive, atFrame: frame))
  }
  private mutating func warnOfQuiet() {
    quietBlocks = silence.blocks
    let changed = quiet.push(
      power: Float(silence.blockMeanSquare), speaking: speech.isSpeaking, hasSignal: !silence.isActive)
    if changed { onEvent(.warning(.tooQuiet, active: quiet.isActive, atFrame: speech.frames)) }
  }

  /// What follows doesn't belong to what came before.
  ///
  /// - Parameter after: 48 kHz frames still to come that are neither, as the silence that stands for lost ones.
  mutating func edge(captureFrames: Int64, after: Int64 = 0) {
    closeSpeech(captureFrames)
    if after > 0 { edges.append(speech.frames + after) }
  }
  private mutating func closeSpeech(_ captureFrames: Int64) {
    var changes: [SpeechChange] = []
    speech.edge { changes.append($0) }
    tell(changes, captureFrames)
  }
  private mutating func hear(_ samples: Span<Float>, _ captureFrames: Int64) {
    var change: SpeechChange?
    var more: [SpeechChange] = []  // hardly ever: two within 20 ms
    speech.push(samples) { if change == nil { change = $0 } else { more.append($0) } }
    if let change { tell([change] + more, captureFrames) }
  }
  private mutating func tell(_ changes: [SpeechChange], _ captureFrames: Int64) {
    for change in changes {
      record(
        .speech(speaking: change.speaking, atFrame: change.atFrame), capture: captureFrames,
        effective: speech.frames)
      onEvent(.speech(change))
    }
  }

  private mutating func encode() {
    frameCount = 0
    guard failure == nil else { return }
    do throws(OpusError) {
      let (encoder, samples) = (encoder, frames)  // references, no copies: accesses mustn't overlap in `self`
      var room = packet.mutableSpan
      let size = try encoder.encode(samples.span, into: &room)
      if dropsPacket {
        dropsPacket = false
        return
      }
      queue?.push(.packet, packet.span.extracting(0..<size))
      packets += 1
      if let slow = queue?.isDiskSlow, slow != isDiskSlow {
        isDiskSlow = slow
        onEvent(.warning(.diskSlow, active: slow, atFrame: packets * Int64(packetFrames)))
      }
    } catch { failure = error }
  }

  @discardableResult
  private mutating func summarise(_ totals: LevelTotals, captureFrames: Int64) -> LevelSummary {
    var summary = LevelSummary()
    summary.totals = totals
    summary.pendingEnergy = meter.pendingEnergy
    summary.notFinite = earlierFaults.notFinite + faults.notFinite
    summary.over = earlierFaults.over + faults.over
    summary.clippedRuns = earlierFaults.clippedRuns + keptClips
    summary.bins = meter.takeFinishedBins()
    record(.levels(summary), capture: captureFrames, effective: totals.frames)
    return summary
  }
  /// - Parameter seconds: how much more must have been heard since it was told.
  private mutating func noteDrift(_ captureFrames: Int64, every seconds: Int64) {
    guard let drift = clockDrift(), drift.seconds >= driftTold + seconds else { return }
    driftTold = drift.seconds
    record(.drift(drift), capture: captureFrames, effective: meter.totals.frames)
  }
  /// What the samples were found to be so far; the next summary has it.
  mutating func found(_ faults: SampleFaults) {
    self.faults = faults
    heardClips = max(heardClips, faults.clippedRuns)  // what nobody kept meanwhile wasn't the take's
  }

  /// Frame counts of the ledger never fall, also where a summary and a transition meet in one block.
  mutating func record(_ event: LedgerEvent, capture: Int64, effective: Int64) {
    ledgerCapture = max(ledgerCapture, capture - ledgerStart)
    ledgerEffective = max(ledgerEffective, effective)
    let bytes = Ledger.encode(
      LedgerRecord(captureFrame: ledgerCapture, effectiveFrame: ledgerEffective, event: event))
    queue?.push(.ledger, bytes.span)
  }

  /// Pads the last packets: n frames need ceil((n + pre-skip) / 960) packets and end at granule n + pre-skip.
  mutating func finish(_ conformer: Conformer, total: Int64) -> TakeEnd {
    let granule = total + Int64(encoder.preSkip)
    let needed = (granule + Int64(packetFrames) - 1) / Int64(packetFrames)
    while packets < needed, failure == nil {
      let filled = frameCount
      var target = frames.mutableSpan
      for i in filled..<packetFrames { target[i] = 0 }
      encode()
    }
    found(conformer.faults)
    closeSpeech(conformer.deviceFrames)
    noteDrift(conformer.deviceFrames, every: 1)
    let last = summarise(meter.finalTotals, captureFrames: conformer.deviceFrames)
    return TakeEnd(
      effectiveFrames: total, captureFrames: conformer.deviceFrames, granule: granule, summary: last,
      bars: meter.bars(), quietMeanSquare: meter.overview.quietMeanSquare(), faults: conformer.faults,
      failure: failure)
  }

  /// The last record of all.
  mutating func recordEnd(_ event: LedgerEvent) {
    record(event, capture: 0, effective: 0)
    queue?.end()
  }
}
