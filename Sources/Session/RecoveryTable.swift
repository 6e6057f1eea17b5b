/// What the disk shows of a partial take, as far as it decides what becomes of it.
public struct RecoveryFacts: Sendable, Equatable {
  public enum Ledger: Sendable, Equatable, CaseIterable {
    case missing, empty
    /// No ledger of ours, or one without its first record.
    case unusable
    /// Of a later version of the program.
    case newer
    /// Whole records, then bytes that are none.
    case torn
    case whole
  }
  public enum Audio: Sendable, Equatable, CaseIterable {
    case missing
    /// No head that can be read.
    case headless
    case headOnly
    /// Whole pages; what follows them, if anything, is a torn one.
    case pages
    /// Pages are lost between whole ones.
    case holed
    /// The last page, with the end-of-stream flag.
    case ended
  }
  public enum Manifest: Sendable, Equatable, CaseIterable {
    case missing
    /// Torn, or not of this audio: a seal that was interrupted while it wrote it.
    case unusable
    case newer
    /// It tells this very `audio.opus`, size and checksum.
    case fits
    /// There is no `audio.opus`, and a sealed take beside the partial one is what it tells.
    case fitsSealed
  }
  public var recording: Bool
  public var ledger: Ledger
  public var audio: Audio
  /// Packets in the tails that follow on the audio's (from packet 0 where that has none).
  public var hasTail: Bool
  public var manifest: Manifest
  /// The take of this ledger stands sealed beside it, its manifest too.
  public var isSealed: Bool

  public init(
    recording: Bool, ledger: Ledger, audio: Audio, hasTail: Bool, manifest: Manifest, isSealed: Bool
  ) {
    self.recording = recording
    self.ledger = ledger
    self.audio = audio
    self.hasTail = hasTail
    self.manifest = manifest
    self.isSealed = isSealed
  }
}

/// What recovery does with a partial take.
public enum RecoveryDecision: Sendable, Equatable {
  /// Its recorder is alive.
  case refuse
  /// A newer program wrote it: that one can read it. Nothing is touched.
  case leave
  /// Sealing had come up to the commit: go on from there.
  case commit
  /// It had come beyond: the manifest is still to be moved, or only the folder to be removed.
  case finish
  /// Write the end behind the whole pages, make the manifest, seal.
  case seal(Head, Story)
  /// It was killed before its first packet: a take of 0 frames.
  case sealEmpty
  /// Nothing can be heard of it: out of the way, kept whole.
  case setAside(String)

  public enum Head: Sendable, Equatable { case kept, fromLedger }
  public enum Story: Sendable, Equatable {
    case whole
    /// What stands behind the damage isn't known.
    case cut
    /// Pauses and marks aren't known.
    case unknown
  }
}

extension RecoveryFacts {
  /// The table of `docs/ARCHITECTURE.md`; a test walks all its combinations.
  public var decision: RecoveryDecision {
    if recording { return .refuse }
    if ledger == .newer || manifest == .newer { return .leave }
    let told = ledger == .whole || ledger == .torn
    let story: RecoveryDecision.Story =
      switch ledger {
      case .whole: .whole
      case .torn: .cut
      case .missing, .empty, .unusable, .newer: .unknown
      }
    switch audio {
    case .missing:
      if manifest == .fitsSealed || isSealed { return .finish }
      if told, hasTail { return .seal(.fromLedger, story) }
      return .setAside("its audio is missing")
    case .headless:
      guard told else {
        return .setAside("its audio has no head that can be read, and the ledger doesn't tell it")
      }
      return hasTail ? .seal(.fromLedger, story) : .sealEmpty
    case .headOnly:
      if hasTail { return .seal(.kept, story) }
      return told ? .sealEmpty : .setAside("it holds no audio")
    case .pages, .holed: return .seal(.kept, story)
    case .ended: return manifest == .fits ? .commit : .seal(.kept, story)
    }
  }
}
