/// What a ledger tells of a take. Timer, marks and manifest all come from here, so they can't disagree.
public struct TakeStory: Sendable, Equatable {
  public struct Pause: Sendable, Equatable {
    /// Effective frame of the pause.
    public var frame: Int64
    /// How long it lasted by the frames the device delivered; nil where a kill came upon it.
    public var lengthMs: Int64?
  }
  /// Silence that was left out.
  public struct LeftOut: Sendable, Equatable {
    /// Effective frame of the joint's fade-out.
    public var frame: Int64
    /// How much isn't in the take, by the frames the device delivered; nil where a kill came upon it.
    public var lengthMs: Int64?
  }
  public struct Mark: Sendable, Equatable {
    public var frame: Int64
    public var label: String?
  }
  public struct Interruption: Sendable, Equatable {
    public var frame: Int64
    public var reason: InterruptionReason
    /// By CLOCK_BOOTTIME; nil where the take ended in it.
    public var lengthMs: Int64?
    fileprivate var sinceBootNs: Int64?  // nil once it is over
  }
  public struct PlacedGap: Sendable, Equatable {
    public var frame: Int64
    public var gap: Gap
  }

  public var description: TakeDescription?
  public var startedMs: Int64?
  public var endedMs: Int64?
  public var endedBy: EndedBy?
  public var submit = false
  public var pauses: [Pause] = []
  public var autoPauses: [LeftOut] = []
  public var marks: [Mark] = []
  public var interruptions: [Interruption] = []
  public var gaps: [PlacedGap] = []
  /// Runs of speech, in effective frames, in order.
  public var speech: [Range<Int64>] = []
  /// Unbroken runs of a device.
  public var parts = 0
  /// Of the device, where it was heard for a minute; of several parts the last one's.
  public var clockDrift: ClockDrift?
  /// The newest summary, with the bins of all summaries in order.
  public var levels = LevelSummary()

  /// Effective time that stands for lost frames.
  public var gapFrames: Int64 { gaps.reduce(0) { $1.gap.filled ? $0 &+ $1.gap.frames : $0 } }

  /// Tells the story of `records`, each clamped to `frames` effective frames where given (a recovered take's length).
  public init(_ records: [LedgerRecord], clampedTo frames: Int64? = nil) {
    var openPause: Int64?  // capture frame
    var openSilence: Int64?  // capture frame
    var openSpeech: Int64?
    func within(_ frame: Int64) -> Int64 { frames.map { min($0, frame) } ?? frame }
    func length(from start: Int64, _ record: LedgerRecord) -> Int64? {
      guard let rate = description?.deviceRate else { return nil }
      return Int64((Double(record.captureFrame - start) * 1000 / Double(rate)).rounded(.down))
    }
    func endPause(_ record: LedgerRecord) {
      guard let from = openPause else { return }
      pauses[pauses.count - 1].lengthMs = length(from: from, record)
      openPause = nil
    }
    func endSilence(_ record: LedgerRecord) {
      guard let from = openSilence else { return }
      autoPauses[autoPauses.count - 1].lengthMs = length(from: from, record)
      openSilence = nil
    }
    for record in records {
      let at = frames.map { min($0, record.effectiveFrame) } ?? record.effectiveFrame
      switch record.event {
      case .begin(let description): self.description = description
      case .start(let time):
        startedMs = time.wallMs
        parts += 1
      case .pause:
        pauses.append(Pause(frame: at, lengthMs: nil))
        openPause = record.captureFrame
      case .resume: endPause(record)
      case .gap(let gap): gaps.append(PlacedGap(frame: at, gap: gap))
      case .mark(let label): marks.append(Mark(frame: at, label: label))
      case .interruption(let reason, let time):
        // The ledger ends somewhere in what a kill came upon: it doesn't tell how long that was.
        if reason == .killed { (openPause, openSilence) = (nil, nil) }
        interruptions.append(
          Interruption(frame: at, reason: reason, lengthMs: nil, sinceBootNs: time.bootNs))
      case .continued(let time, let rate, let channels, let reason):
        description?.deviceRate = rate
        description?.deviceChannels = channels
        if reason?.breaksSound ?? true { parts += 1 }
        for i in interruptions.indices {
          guard let from = interruptions[i].sinceBootNs, reason?.ends(interruptions[i].reason) ?? true else {
            continue
          }
          interruptions[i].lengthMs = max(0, time.bootNs &- from) / 1_000_000
          interruptions[i].sinceBootNs = nil
        }
      case .stop(let by, let time, let submit):
        endPause(record)
        endSilence(record)
        endedBy = by
        endedMs = time.wallMs
        self.submit = submit
      case .levels(let summary):
        levels.goOn(with: summary)
      case .speech(true, let frame): openSpeech = max(within(frame), speech.last?.upperBound ?? 0)
      case .speech(false, let frame):
        if let from = openSpeech, within(frame) > from { speech.append(from..<within(frame)) }
        openSpeech = nil
      case .silence(true):
        autoPauses.append(LeftOut(frame: at, lengthMs: nil))
        openSilence = record.captureFrame
      case .silence(false): endSilence(record)
      case .drift(let drift): clockDrift = drift
      case .unknown: break
      }
    }
    // A kill came upon someone who spoke.
    if let from = openSpeech, let end = frames ?? records.last?.effectiveFrame, end > from {
      speech.append(from..<end)
    }
  }

  /// What the take was still interrupted by when its ledger ended: the newest; nil where it was recorded until then.
  public var openInterruption: InterruptionReason? { interruptions.last { $0.lengthMs == nil }?.reason }

  /// Effective frames at which sound doesn't belong to what came before it.
  public var edges: [Int64] {
    var all = pauses.map(\.frame) + autoPauses.map(\.frame)
    all += interruptions.filter(\.reason.breaksSound).map(\.frame)
    for gap in gaps {
      all.append(gap.frame)
      if gap.gap.filled { all.append(gap.frame &+ gap.gap.frames) }
    }
    return all.sorted()
  }
  /// What lies between two runs of speech without an edge.
  public var speechPauses: [Range<Int64>] {
    var edges = edges[...]
    return zip(speech, speech.dropFirst()).compactMap { before, after in
      while let edge = edges.first, edge < before.upperBound { edges.removeFirst() }
      guard after.lowerBound > before.upperBound, edges.first.map({ $0 > after.lowerBound }) ?? true else {
        return nil
      }
      return before.upperBound..<after.lowerBound
    }
  }

  /// The records without speech, without level summaries but the last, whose bins are left out, and without clock drifts but the
  /// last: what the manifest embeds. It has to fit into the reserve on a full disk; the bars that the bins are for stand in the
  /// manifest.
  public static func embedded(_ records: [LedgerRecord]) -> [UInt8] {
    var bytes = Ledger.header
    let last = records.lastIndex { if case .levels = $0.event { true } else { false } }
    let lastDrift = records.lastIndex { if case .drift = $0.event { true } else { false } }
    for (i, record) in records.enumerated() {
      if case .speech = record.event { continue }  // its runs stand in the manifest
      if case .drift = record.event, i != lastDrift { continue }
      guard case .levels(var summary) = record.event else {
        bytes += Ledger.encode(record)
        continue
      }
      guard i == last else { continue }
      summary.bins = []
      var kept = record
      kept.event = .levels(summary)
      bytes += Ledger.encode(kept)
    }
    return bytes
  }
}
