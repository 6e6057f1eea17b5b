import Glibc
import Holdfast
import Platform
import Synchronization

/// What signals and keys do, also before the recorder runs: a stop that comes early is kept.
final class Control: Sendable {
  private let recorder: Recorder
  private struct State {
    var begun = false
    var stop: EndedBy?
  }
  private let state = Mutex(State())

  init(recorder: Recorder) { self.recorder = recorder }

  func begin() {
    let early = state.withLock {
      $0.begun = true
      return $0.stop
    }
    if let early { recorder.stop(early) }
  }
  func stop(_ by: EndedBy) {
    let (now, again) = state.withLock { s -> (Bool, Bool) in
      let again = s.stop != nil
      s.stop = by
      return (s.begun, again)
    }
    if now {
      recorder.stop(by)
    } else if again || !beganSoon() {
      _exit(0)  // the source is still being opened: no take exists
    }
  }
  /// Waits 1.5 s for a take that is just being made.
  private func beganSoon() -> Bool {
    for _ in 0..<30 {
      usleep(50_000)
      if state.withLock({ $0.begun }) { return true }
    }
    return false
  }
  func toggle() { recorder.toggle() }
  func mark() { _ = recorder.mark() }
  func press(_ key: Keys.Key) {
    switch key {
    case .toggle: toggle()
    case .mark: mark()
    case .stop: stop(.user)
    case .almostDiscard:
      Output.raw("\n")  // the live line ends there
      Output.note("x once more within 2 s moves the take to the trash")
    case .discard: _ = recorder.discard()
    }
  }
}
