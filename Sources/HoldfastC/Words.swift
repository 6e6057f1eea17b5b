import CHoldfast
import Holdfast

extension holdfast_status {
  var code: Int32 { Int32(truncatingIfNeeded: rawValue) }
}

extension TakeState {
  var number: Int32 {
    let word: holdfast_state =
      switch self {
      case .idle: HOLDFAST_IDLE
      case .preparing: HOLDFAST_PREPARING
      case .armed: HOLDFAST_ARMED
      case .recording: HOLDFAST_RECORDING
      case .paused: HOLDFAST_PAUSED
      case .interrupted: HOLDFAST_INTERRUPTED
      case .sealing: HOLDFAST_SEALING
      case .sealed: HOLDFAST_SEALED
      case .failed: HOLDFAST_FAILED
      case .discarded: HOLDFAST_DISCARDED
      case .denied: HOLDFAST_DENIED_STATE
      case .unavailable: HOLDFAST_UNAVAILABLE
      }
    return Int32(word.rawValue)
  }
  var reason: Int32 { if case .interrupted(let reason, _) = self { reason.number } else { 0 } }
}

extension InterruptionReason {
  var number: Int32 {
    let word: holdfast_reason =
      switch self {
      case .deviceLost: HOLDFAST_DEVICE_LOST
      case .suspended: HOLDFAST_SUSPENDED
      case .serverGone: HOLDFAST_SERVER_GONE
      case .deviceTaken: HOLDFAST_DEVICE_TAKEN
      case .overrunStorm: HOLDFAST_OVERRUN_STORM
      case .deviceSilent: HOLDFAST_DEVICE_SILENT
      case .routeChanged: HOLDFAST_ROUTE_CHANGED
      case .diskFull: HOLDFAST_DISK_FULL
      case .diskReadonly: HOLDFAST_DISK_READONLY
      case .diskError: HOLDFAST_DISK_ERROR
      case .folderGone: HOLDFAST_FOLDER_GONE
      case .left: HOLDFAST_LEFT
      case .killed: HOLDFAST_KILLED
      }
    return Int32(word.rawValue)
  }
}

extension RecorderWarning {
  var bit: UInt32 {
    let word: holdfast_warning =
      switch self {
      case .noSignal: HOLDFAST_NO_SIGNAL
      case .clipping: HOLDFAST_CLIPPING
      case .tooQuiet: HOLDFAST_TOO_QUIET
      case .silence: HOLDFAST_SILENCE
      case .diskSlow: HOLDFAST_DISK_SLOW
      case .lowDisk: HOLDFAST_LOW_DISK
      }
    return word.rawValue
  }
}

extension TakeMachine.Action {
  /// A call at the wrong time, words that are too long, or done.
  var status: Int32 {
    switch self {
    case .reject(.labelTooLong): HOLDFAST_USAGE.code
    case .reject: HOLDFAST_STATE.code
    default: HOLDFAST_OK.code
    }
  }
}
