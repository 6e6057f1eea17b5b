/// Decides what a player does next. Pure: no clock, no device, no file.
struct PlayerMachine {
  enum State: Equatable { case playing, draining, paused, over }
  enum Command: Sendable, Equatable {
    case pause, resume
    case seek(ms: Int64)
    case stop
  }
  enum Action: Equatable {
    case none
    /// Silent at once; what was heard is kept in mind.
    case hold
    /// On from what was heard last.
    case goOn
    /// On from another place; a paused one stays silent.
    case jump(ms: Int64)
    case end
  }
  private(set) var state = State.playing

  mutating func take(_ command: Command) -> Action {
    switch (state, command) {
    case (.over, _): return .none
    case (_, .stop):
      state = .over
      return .end
    case (.playing, .pause), (.draining, .pause):
      state = .paused
      return .hold
    case (.paused, .resume):
      state = .playing
      return .goOn
    case (.paused, .pause), (.playing, .resume), (.draining, .resume): return .none
    case (.paused, .seek(let ms)): return .jump(ms: ms)
    case (.playing, .seek(let ms)), (.draining, .seek(let ms)):
      state = .playing
      return .jump(ms: ms)
    }
  }
  /// The last frame is with the device.
  mutating func fedAll() { if state == .playing { state = .draining } }
  /// The last frame was heard.
  mutating func drained() { if state == .draining { state = .over } }
}
