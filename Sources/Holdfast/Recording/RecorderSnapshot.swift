import Capture
import Platform
import Session
import Signal
import Synchronization

/// What a screen draws, as it was at one instant.
public struct RecorderSnapshot: Sendable, Equatable {
  public var state: TakeState
  /// 48 kHz frames in the take.
  public var effectiveFrames: Int64
  /// The newest level window, dBFS, −160…0; of a take that is armed or paused, what is heard now.
  public var levelDb: Double
  public var peakDb: Double
  /// The newest 34 bars, 0…1 to a thousandth, oldest first. They hold in a pause.
  public var bars: [Double]
  public var speaking: Bool
  /// Pauses that the person made.
  public var pauseCount: Int
  /// What is missing to the shortest valid take, rounded up to whole milliseconds; 0 where it is long enough.
  public var missingMs: Int64
  public var warnings: Set<RecorderWarning>

  /// Effective time in milliseconds.
  public var effectiveMs: Int64 { milliseconds(frames: effectiveFrames) }
  /// There is a take, and it is long enough.
  public var canSubmit: Bool {
    missingMs == 0 && effectiveFrames > 0 && (state.isTaking || state == .sealing || state == .sealed)
  }
}

/// Keeps the newest snapshot. Written under a lock by the recorder's threads some 30 times a second; read by anybody
/// without one: a reader that meets a write reads once more (a sequence lock).
final class SnapshotCell: Sendable {
  /// Effective frames so far; the signal thread counts them here.
  let frames = Atomic<Int64>(0)
  private let state = Atomic<Int>(0)

  private struct Draft {
    var rmsDb = -160.0
    var peakDb = -160.0
    var bars = [Double](repeating: 0, count: LiveBars.count)
    var speaking = false
    var pauses = 0
    var warnings: Set<RecorderWarning> = []

    mutating func set(_ warning: RecorderWarning, _ active: Bool) {
      if active { warnings.insert(warning) } else { warnings.remove(warning) }
    }
  }
  private let draft = Mutex(Draft())

  private let sequence = Atomic<UInt64>(0)
  private let rms = Atomic<UInt64>((-160.0).bitPattern)
  private let peak = Atomic<UInt64>((-160.0).bitPattern)
  /// Bit 0: speaking; 1…15 warnings; from 16 on the pauses.
  private let flags = Atomic<UInt64>(0)
  // Six bars of ten bits each.
  private let bars0 = Atomic<UInt64>(0)
  private let bars1 = Atomic<UInt64>(0)
  private let bars2 = Atomic<UInt64>(0)
  private let bars3 = Atomic<UInt64>(0)
  private let bars4 = Atomic<UInt64>(0)
  private let bars5 = Atomic<UInt64>(0)

  // MARK: writing; any thread

  func note(_ state: TakeState) { self.state.store(Self.number(state), ordering: .releasing) }
  func notePause() { change { $0.pauses += 1 } }
  func begin(pauses: Int) { change { $0.pauses = pauses } }
  /// What is heard while nothing is kept.
  func noteIdle(_ level: Level, bars: [Double]?) {
    change { draft in
      (draft.rmsDb, draft.peakDb) = (level.rmsDb, level.peakDb)
      if let bars { draft.bars = bars }
    }
  }
  func note(_ event: RecorderEvent) {
    switch event {
    case .level(let level, let bars):
      change { ($0.rmsDb, $0.peakDb, $0.bars) = (level.rmsDb, level.peakDb, bars) }
    case .speech(let speech): change { $0.speaking = speech.speaking }
    case .warning(let warning, let active, _): change { $0.set(warning, active) }
    case .lowDisk(let notice, _): change { $0.set(.lowDisk, notice != .enough) }
    case .sealed, .discarded, .failed: change { $0.speaking = false }
    case .state, .mark, .gap, .filesystem, .autoPause, .interrupted, .resumed: break
    }
  }

  private func change(_ body: (inout Draft) -> Void) {
    draft.withLock { draft in
      body(&draft)
      let now = sequence.load(ordering: .relaxed)
      sequence.store(now + 1, ordering: .relaxed)
      atomicMemoryFence(ordering: .releasing)
      rms.store(draft.rmsDb.bitPattern, ordering: .relaxed)
      peak.store(draft.peakDb.bitPattern, ordering: .relaxed)
      var bits: UInt64 = draft.speaking ? 1 : 0
      for (i, warning) in RecorderWarning.allCases.enumerated() where draft.warnings.contains(warning) {
        bits |= 1 << UInt64(i + 1)
      }
      flags.store(bits | UInt64(draft.pauses) << 16, ordering: .relaxed)
      func word(_ index: Int) -> UInt64 {
        (0..<6).reduce(0) { word, i in
          let at = index * 6 + i
          guard at < draft.bars.count else { return word }
          return word | UInt64((max(0, min(1, draft.bars[at])) * 1_000).rounded()) << UInt64(10 * i)
        }
      }
      bars0.store(word(0), ordering: .relaxed)
      bars1.store(word(1), ordering: .relaxed)
      bars2.store(word(2), ordering: .relaxed)
      bars3.store(word(3), ordering: .relaxed)
      bars4.store(word(4), ordering: .relaxed)
      bars5.store(word(5), ordering: .relaxed)
      sequence.store(now + 2, ordering: .releasing)
    }
  }

  // MARK: reading; any thread, no lock

  var currentState: TakeState { Self.state(state.load(ordering: .acquiring)) }

  func snapshot(minValidMs: Int64) -> RecorderSnapshot {
    while true {
      let before = sequence.load(ordering: .acquiring)
      let (rms, peak) = (rms.load(ordering: .relaxed), peak.load(ordering: .relaxed))
      let flags = flags.load(ordering: .relaxed)
      let words = [
        bars0.load(ordering: .relaxed), bars1.load(ordering: .relaxed), bars2.load(ordering: .relaxed),
        bars3.load(ordering: .relaxed), bars4.load(ordering: .relaxed), bars5.load(ordering: .relaxed),
      ]
      atomicMemoryFence(ordering: .acquiring)
      guard before % 2 == 0, sequence.load(ordering: .relaxed) == before else { continue }
      let frames = frames.load(ordering: .relaxed)
      return RecorderSnapshot(
        state: currentState, effectiveFrames: frames, levelDb: Double(bitPattern: rms),
        peakDb: Double(bitPattern: peak),
        bars: (0..<LiveBars.count).map { Double(words[$0 / 6] >> UInt64(10 * ($0 % 6)) & 1_023) / 1_000 },
        speaking: flags & 1 == 1, pauseCount: Int(flags >> 16),
        missingMs: Manifest.missingMs(frames: frames, minValidMs: minValidMs),
        warnings: Set(
          RecorderWarning.allCases.enumerated().filter { flags >> UInt64($0.offset + 1) & 1 == 1 }.map(
            \.element)))
    }
  }

  private static let simple: [TakeState] = [
    .idle, .preparing, .armed, .recording, .paused, .sealing, .sealed, .failed, .discarded, .denied,
    .unavailable,
  ]
  private static func number(_ state: TakeState) -> Int {
    if case .interrupted(let reason, let whilePaused) = state {
      return 100 + 2 * (InterruptionReason.allCases.firstIndex(of: reason) ?? 0) + (whilePaused ? 1 : 0)
    }
    return simple.firstIndex(of: state) ?? 0
  }
  private static func state(_ number: Int) -> TakeState {
    guard number >= 100 else { return simple[number] }
    return .interrupted(InterruptionReason.allCases[(number - 100) / 2], whilePaused: number % 2 == 1)
  }
}
