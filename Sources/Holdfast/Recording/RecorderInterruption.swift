import Platform
import Session
import Store
import Synchronization

/// What the source's and the disk's troubles make of a take under way.
extension Recorder {
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
  func sourceAway(_ reason: InterruptionReason, since: EventTime) -> Bool {
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
  func sourceMissed(_ reason: InterruptionReason, since: EventTime) {
    guard state.isTaking, sourceAway(reason, since: since) else { return }
    sourceBack()
  }
  /// On the capture thread, before the frames can be seen.
  func sourceBack() {
    advance { machine in
      guard case .interrupted(let reason, _) = machine.state, machine.opened() == .joinSource else { return }
      let state = machine.state
      running.withLock { $0?.signal.command(.resumed(reason, state, movedTo: nil), time: .now) }
    }
  }

  var diskNews: DiskNews {
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
}
