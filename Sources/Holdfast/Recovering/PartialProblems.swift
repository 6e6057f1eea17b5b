import Encoding
import Platform
import Session
import Signal
import Store

/// What is wrong with a partial take, for `inspect` and `recover` alike.
enum PartialProblems {
  static func list(_ plan: PartialAudio, _ contents: PartialContents) -> [InspectProblem] {
    var problems: [InspectProblem] = []
    func ms(_ frames: Int64) -> Int64 { milliseconds(frames: max(0, frames)) }
    if plan.headIsRebuilt {
      problems.append(
        InspectProblem(
          kind: "header", offset: 0, message: "its head was damaged: it is made anew out of the ledger"))
    }
    for hole in plan.holes {
      problems.append(
        InspectProblem(
          kind: "hole", offset: hole.offset, bytes: hole.bytes,
          atMs: ms(hole.firstPacket * Int64(packetFrames) - Int64(plan.preSkip)),
          lengthMs: hole.packets * 20, costsAudio: true,
          message: "\(hole.packets * 20) ms of its audio are lost here; silence stands in their place"))
    }
    if plan.cutBytes > 0 {
      problems.append(
        InspectProblem(
          kind: "cut", bytes: plan.cutBytes,
          message: "\(plan.cutBytes) bytes at the end of its audio are no whole page"))
    }
    let told = plan.knownFrames
    // The ledger is written behind the packets: it is never ahead of them by more than what one packet still holds.
    if told - plan.frames > Int64(2 * packetFrames) {
      problems.append(
        InspectProblem(
          kind: "end_lost", atMs: ms(plan.frames), lengthMs: ms(told - plan.frames), costsAudio: true,
          message: "\(ms(told - plan.frames)) ms at its end are lost"
            + (plan.strandedPackets > 0
              ? "; \(plan.strandedPackets * 20) ms of them don't follow on what is there, and are kept apart"
              : "")))
    }
    for name in contents.missing {
      problems.append(InspectProblem(kind: "missing_file", message: "its file \(name.display) is missing"))
    }
    for (i, tail) in contents.tails.enumerated() where tail.tornBytes > 0 {
      problems.append(
        InspectProblem(
          kind: "tail", bytes: Int64(tail.tornBytes),
          message: "\(tail.tornBytes) bytes of \(TakeName.Inside.tails[i].display) are no whole record"))
    }
    if let problem = ledger(contents.ledger) { problems.append(problem) }
    return problems
  }

  private static func ledger(_ ledger: LedgerContents) -> InspectProblem? {
    switch ledger.fault {
    case .torn(let offset, let bytes):
      InspectProblem(
        kind: "ledger", offset: Int64(offset), bytes: Int64(bytes),
        message:
          "\(bytes) bytes of its ledger are no whole record: pauses and marks behind them are not known")
    case .newerVersion(let version):
      InspectProblem(kind: "ledger", message: "its ledger has version \(version): a newer holdfast wrote it")
    case .empty, .notALedger:
      InspectProblem(kind: "ledger", message: "its ledger can't be read: pauses and marks are not known")
    case nil: nil
    }
  }
}
