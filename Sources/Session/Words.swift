/// Why a take is interrupted.
public enum InterruptionReason: String, Sendable, CaseIterable {
  case deviceLost = "device_lost"
  case suspended
  case serverGone = "server_gone"
  case deviceTaken = "device_taken"
  case overrunStorm = "overrun_storm"
  case deviceSilent = "device_silent"
  case routeChanged = "route_changed"
  case diskFull = "disk_full"
  case diskReadonly = "disk_readonly"
  case diskError = "disk_error"
  case folderGone = "folder_gone"
  case left
  case killed

  /// What comes after it doesn't follow on what came before: sound is missing in between, and a joint stands for it.
  /// Trouble with the disk or the folder stops no capture.
  public var breaksSound: Bool { !isDisk && self != .folderGone }
  /// Whether this, when it is over, ends `other` too: sound that comes again ends all that had stopped it.
  func ends(_ other: InterruptionReason) -> Bool { self == other || breaksSound && other.breaksSound }
  public var isDisk: Bool { [.diskFull, .diskReadonly, .diskError].contains(self) }
}

/// What ended a sealed take.
public enum EndedBy: String, Sendable, CaseIterable {
  case user
  case signal
  case maxMs = "max_ms"
  case sourceEnd = "source_end"
  case silence
  case device
  case disk
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
