import Session
import Testing

/// Every combination of what a disk can show, and what must be true of the decision whatever the table says.
@Suite struct RecoveryTableTests {
  private var all: [RecoveryFacts] {
    var all: [RecoveryFacts] = []
    for recording in [false, true] {
      for ledger in RecoveryFacts.Ledger.allCases {
        for audio in RecoveryFacts.Audio.allCases {
          for hasTail in [false, true] {
            for manifest in RecoveryFacts.Manifest.allCases {
              for isSealed in [false, true] {
                all.append(
                  RecoveryFacts(
                    recording: recording, ledger: ledger, audio: audio, hasTail: hasTail, manifest: manifest,
                    isSealed: isSealed))
              }
            }
          }
        }
      }
    }
    return all
  }

  @Test func `no row gives up audio, touches a live take, or trusts what can't be trusted`() {
    #expect(all.count == 2 * 6 * 6 * 2 * 5 * 2)
    for facts in all {
      let decision = facts.decision
      let there = "\(facts) → \(decision)"
      if facts.recording {
        #expect(decision == .refuse, "\(there)")
        continue
      }
      if facts.ledger == .newer || facts.manifest == .newer {
        #expect(decision == .leave, "\(there)")
        continue
      }
      let told = facts.ledger == .whole || facts.ledger == .torn
      let hasPages = [.pages, .holed, .ended].contains(facts.audio)
      switch decision {
      case .setAside, .sealEmpty: #expect(!hasPages && !(facts.hasTail && told), "\(there)")
      case .commit: #expect(facts.audio == .ended && facts.manifest == .fits, "\(there)")
      case .finish:
        #expect(facts.audio == .missing && (facts.manifest == .fitsSealed || facts.isSealed), "\(there)")
      case .seal(let head, let story):
        #expect(hasPages || facts.hasTail, "\(there)")
        #expect(head == .kept || told, "\(there)")
        #expect((story == .unknown) == !told, "\(there)")
        #expect((story == .cut) == (facts.ledger == .torn), "\(there)")
      case .refuse, .leave: Issue.record("\(there)")
      }
      // What has no audio is never called a take unless the ledger says that it began.
      if case .sealEmpty = decision { #expect(told, "\(there)") }
    }
  }
}
