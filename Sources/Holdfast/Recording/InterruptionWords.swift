import Session

extension InterruptionReason {
  /// For a person: what happened, and what to do, one line.
  ///
  /// - Parameter waitSeconds: how long the device is waited for.
  public func text(waitSeconds: Int64) -> String {
    let wait =
      waitSeconds > 0
      ? "the take goes on when it is back, and is sealed as it is after \(waitSeconds) s"
      : "the take is sealed as it is"
    switch self {
    case .deviceLost: return "the microphone is gone: plug it in again; \(wait)"
    case .serverGone: return "the sound server is gone: start it again; \(wait)"
    case .deviceTaken: return "another program has taken the microphone: close it there; \(wait)"
    case .deviceSilent:
      return "the microphone has delivered nothing for 2 s: look at its cable and its switch; \(wait)"
    case .suspended: return "the machine slept: what was said meanwhile is not in the take"
    case .overrunStorm:
      return
        "the machine, or its disk, was too busy to listen: close what keeps it busy; sound is missing here"
    case .routeChanged: return "another microphone is heard now: look whether it is the one you want"
    case .diskFull: return "the disk is full: make room within a minute; until then the take waits in memory"
    case .diskReadonly:
      return
        "the disk has become read-only: make it writable within a minute; until then the take waits in memory"
    case .diskError: return "the disk fails: look at its cable; for a minute the take waits in memory"
    case .folderGone:
      return
        "the take's file or folder was deleted, changed, or may no longer be written to: leave the takes folder alone while it records"
    case .left: return "the take is kept unfinished"
    case .killed: return "the recorder was killed"
    }
  }
}
