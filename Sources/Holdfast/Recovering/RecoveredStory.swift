import Encoding
import Platform
import Session
import Signal
import Store

/// The ledger of a recovered take: what there was, what recovery found lost, and an end.
struct RecoveredStory {
  /// A power cut loses at most what the last sync hadn't brought to the disk, a kill what hadn't been written.
  static let powerCutMs: Int64 = 1_000
  static let killMs: Int64 = 50
  /// A source that isn't live is read ahead as far as ring and packet queue reach.
  static let readAheadMs: Int64 = 62_000

  private(set) var records: [LedgerRecord]
  /// When the last of it was written.
  private let lastTime: EventTime
  private let isStopped: Bool
  private let wasLeft: Bool
  private let isKnown: Bool
  /// What a disk that took nothing may have cost at the end.
  private let unstoredMs: Int64
  private let isLive: Bool

  /// - Parameters:
  ///   - ledger: its whole records.
  ///   - known: false where they don't tell what take it is.
  ///   - writtenMs: when its files were written last, ms since 1970.
  ///   - silentMs: for how long its recorder lived on without writing its ledger.
  init(_ ledger: [LedgerRecord], _ plan: PartialAudio, known: Bool, writtenMs: Int64?, silentMs: Int64?) {
    // A recorder that lived on for seconds without writing, though there was something to be written, had a disk that took
    // nothing.
    let silent = silentMs ?? 0
    unstoredMs = silent > 2_500 && Self.wasKeeping(ledger) ? silent : 0
    let modified = writtenMs ?? Stamp.wallMilliseconds
    let times = ledger.compactMap(\.event.time)
    isKnown = known
    isLive = TakeStory(ledger).description?.live ?? true
    lastTime = Self.time(wallMs: modified, after: times.last)
    isStopped = ledger.contains { if case .stop = $0.event { true } else { false } }
    var left = false
    for record in ledger {
      switch record.event {
      case .interruption(let reason, _): left = reason == .left
      case .continued: left = false
      default: break
      }
    }
    wasLeft = left
    if known {
      records = ledger
      Self.addStart(to: &records, writtenMs: modified)
    } else {
      let description = TakeDescription(
        takeID: "unknown-\(String(plan.serial, radix: 16))", context: nil, createdMs: modified, source: "",
        deviceRate: takeRate, deviceChannels: 1, channel: "1", bitrate: 0, complexity: 0,
        preSkip: plan.preSkip, serial: plan.serial, maxMs: 0, minValidMs: 0, encoder: "")
      records = [
        LedgerRecord(captureFrame: 0, effectiveFrame: 0, event: .begin(description)),
        LedgerRecord(captureFrame: 0, effectiveFrame: 0, event: .start(lastTime)),
      ]
    }
    for hole in plan.holes { insert(hole, plan.preSkip) }
  }

  /// Sound went into the take when the ledger ends: no pause, no silence that is left out, no device that is away.
  private static func wasKeeping(_ ledger: [LedgerRecord]) -> Bool {
    var (paused, left, away) = (false, false, false)
    for record in ledger {
      switch record.event {
      case .pause: (paused, left) = (true, false)
      case .resume: paused = false
      case .silence(let leftOut): left = leftOut
      case .interruption(let reason, _): away = away || reason.breaksSound
      case .continued(_, _, _, let reason): if reason?.breaksSound ?? true { away = false }
      default: break
      }
    }
    return !paused && !left && !away
  }

  /// A take that was killed between its first record and its start has one all the same.
  static func addStart(to records: inout [LedgerRecord], writtenMs: Int64) {
    if records.contains(where: { if case .start = $0.event { true } else { false } }) { return }
    let created = TakeStory(records).description?.createdMs ?? writtenMs
    records.insert(
      LedgerRecord(captureFrame: 0, effectiveFrame: 0, event: .start(Self.time(wallMs: created, after: nil))),
      at: min(1, records.count))
  }
  /// A hole is a gap that silence stands for.
  private mutating func insert(_ hole: PartialAudio.Hole, _ preSkip: Int) {
    let at = max(0, hole.firstPacket * Int64(packetFrames) - Int64(preSkip))
    let index = records.firstIndex { $0.effectiveFrame > at } ?? records.count
    let gap = Gap(
      frames: hole.packets * Int64(packetFrames), filled: true, measuredBy: "recovery", uncertaintyFrames: 0)
    records.insert(
      LedgerRecord(
        captureFrame: index > 0 ? records[index - 1].captureFrame : 0, effectiveFrame: at, event: .gap(gap)),
      at: index)
  }

  /// All records, with an end where there was none.
  func closed(_ levels: LevelSummary) -> [LedgerRecord] {
    var all = records
    let capture = all.last?.captureFrame ?? 0
    let effective = max(all.last?.effectiveFrame ?? 0, levels.frames)
    func add(_ event: LedgerEvent) {
      all.append(LedgerRecord(captureFrame: capture, effectiveFrame: effective, event: event))
    }
    add(.levels(levels))
    if !isStopped {
      if !wasLeft { add(.interruption(.killed, lastTime)) }
      add(.stop(.left, lastTime, submit: false))
    }
    return all
  }

  /// The most that can be lost, in ms.
  func lostMsMax(_ plan: PartialAudio, _ contents: PartialContents) -> Int64 {
    let told = plan.knownFrames
    // What a packet that isn't whole still holds belongs to the bounds.
    let behind = told - plan.frames > Int64(2 * packetFrames) ? told - plan.frames : 0
    var known = (behind + plan.holeFrames + 47) / 48
    // A page, and what wasn't synced: all that a tail may hold.
    if !plan.isComplete, !plan.isEnded, contents.hasDamagedTail { known += 2_000 }
    if plan.isComplete || plan.isEnded || wasLeft { return known }
    known += unstoredMs
    if !isKnown { return known + Self.powerCutMs }
    if !isLive { return known + Self.readAheadMs }
    return known + (isOfThisBoot ? Self.killMs : Self.powerCutMs)
  }
  /// When a file was written last, by its stamp; the time since boot is the last known one's, gone on.
  static func time(wallMs: Int64, after last: EventTime?) -> EventTime {
    guard let last else { return EventTime(wallMs: wallMs, bootNs: 0) }
    let later = min(max(0, wallMs.subtractingReportingOverflow(last.wallMs).partialValue), 1 << 40)
    return EventTime(wallMs: wallMs, bootNs: last.bootNs &+ later &* 1_000_000)
  }
  /// Whether the machine has run since: wall clock less time since boot is the same now. A clock that was set meanwhile
  /// looks like a new boot, which promises less.
  private var isOfThisBoot: Bool {
    guard let time = records.compactMap(\.event.time).last else { return false }
    let then = time.wallMs - time.bootNs / 1_000_000
    let now = Stamp.wallMilliseconds - Stamp.bootNanoseconds / 1_000_000
    return abs(then.subtractingReportingOverflow(now).partialValue) < 2_000
  }
}
