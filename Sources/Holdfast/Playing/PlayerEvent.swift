import Session

/// What a player is doing.
public enum PlayerState: String, Sendable {
  /// Not started yet.
  case idle
  case playing, paused
  /// The clip's last frame was heard.
  case ended
  case stopped, failed
}

/// What a player reports. Positions are in the file's time, of what is heard.
public enum PlayerEvent: Sendable, Equatable {
  case state(PlayerState, positionMs: Int64)
  /// Four times a second while it plays.
  case position(ms: Int64)
  /// The device ran out of sound, so often since the start; it goes on.
  case underrun(count: Int, positionMs: Int64)
  case failed(RecorderFailure)

  /// A line of `play --json`.
  public var json: JSON {
    switch self {
    case .state(let state, let ms):
      .object([("event", .string("state")), ("state", .string(state.rawValue)), ("position_ms", .int(ms))])
    case .position(let ms): .object([("event", .string("position")), ("position_ms", .int(ms))])
    case .underrun(let count, let ms):
      .object([
        ("event", .string("warning")), ("kind", .string("underrun")), ("count", .int(Int64(count))),
        ("position_ms", .int(ms)),
      ])
    case .failed(let failure): RecorderEvent.failed(failure).json(context: nil)
    }
  }
}
