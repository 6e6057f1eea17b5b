/// Why a take is interrupted.
public enum InterruptionReason: String, Sendable, CaseIterable {
  /// Unplugged, or its driver failed.
  case deviceLost = "device_lost"
  /// The machine slept.
  case suspended
  /// The sound server doesn't answer.
  case serverGone = "server_gone"
  /// Another program has the device.
  case deviceTaken = "device_taken"
  /// Over 20 overruns in a second, or one loss of over 2 s.
  case overrunStorm = "overrun_storm"
  /// It runs, and yet no frames came for 2 s.
  case deviceSilent = "device_silent"
  /// The sound server listens to something else now; told where it tells.
  case routeChanged = "route_changed"
  /// No space, a quota, or the longest file allowed.
  case diskFull = "disk_full"
  /// The file system was made read-only.
  case diskReadonly = "disk_readonly"
  /// Any other failure of the disk.
  case diskError = "disk_error"
  /// The take's folder or file was deleted or replaced, or its rights taken away.
  case folderGone = "folder_gone"
  /// The person went away and kept the take.
  case left
  /// The recorder was killed, or the power went; known at the next launch.
  case killed

  /// What comes after it doesn't follow on what came before: sound is missing in between, and a joint stands for it.
  /// Trouble with the disk or the folder stops no capture.
  public var breaksSound: Bool { !isDisk && self != .folderGone }
  /// Whether this, when it is over, ends `other` too: sound that comes again ends all that had stopped it.
  func ends(_ other: InterruptionReason) -> Bool { self == other || breaksSound && other.breaksSound }
  /// Whether it is the disk's: recording goes on, and what can't be written waits in memory.
  public var isDisk: Bool { [.diskFull, .diskReadonly, .diskError].contains(self) }
}

/// What ended a sealed take.
public enum EndedBy: String, Sendable, CaseIterable {
  /// A stop by a key, a button, a call.
  case user
  /// SIGINT, SIGTERM, SIGQUIT, SIGHUP or SIGXCPU.
  case signal
  /// The longest time was reached.
  case maxMs = "max_ms"
  /// A file or pipe ended.
  case sourceEnd = "source_end"
  /// `--stop-after-silence`.
  case silence
  /// The device was lost for good.
  case device
  /// The disk failed for good.
  case disk
  /// It was left, or its recorder killed, and sealed later.
  case left
}

/// Whether a sealed take was stopped or saved after a kill.
public enum Outcome: String, Sendable { case complete, recovered }

/// What happens to overruns of at most 2 s.
public enum GapPolicy: String, Sendable, CaseIterable { case fill, close }

/// What the file system of a take's folder lacks, found by trying it.
public enum FileSystemGap: String, Sendable, CaseIterable {
  case locks
  /// A rename that never replaces.
  case noReplace = "noreplace"
  case sync
}
