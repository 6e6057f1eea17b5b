import Capture

/// Whether a source may be listened to; asked without a take.
public enum Permission: Sendable, Equatable {
  case granted
  /// The user may not: what to do stands in the failure's message.
  case denied(RecorderFailure)
  /// It can't be told, since it can't be opened now: no such device (`no_device`, `no_microphone`), one in use
  /// (`device_busy`), a sound server that doesn't answer (`no_server`) and others, by the failure's `kind`.
  case undetermined(RecorderFailure)
}

extension InputSpec {
  /// Opens the source, and closes it again. Blocks as long as that takes; nothing is made.
  public func permission(_ options: InputOptions = InputOptions()) -> Permission {
    do throws(RecorderFailure) {
      _ = try open(options)
      return .granted
    } catch { return error.code == 77 ? .denied(error) : .undetermined(error) }
  }
}
