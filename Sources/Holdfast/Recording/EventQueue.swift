import Platform
import Synchronization

/// Events on their way to one reader.
///
/// A slow reader of a live take loses levels and nothing else. A take from a file isn't lost by waiting, so there the
/// recorder waits for its reader instead, until a stop is asked for.
public final class EventQueue: Sendable {
  private struct State {
    var events: [RecorderEvent] = []
    var closed = false
    var readerWaits = false
    var writerWaits = false
    var lossless: Bool
  }
  private let state: Mutex<State>
  private let filled = CountingSemaphore()
  private let drained = CountingSemaphore()
  static let capacity = 1_024

  init(lossless: Bool) { state = Mutex(State(lossless: lossless)) }

  func push(_ event: RecorderEvent) {
    let isLevel = if case .level = event { true } else { false }
    while true {
      let (done, wake) = state.withLock { s -> (Bool, Bool) in
        if isLevel, s.events.count >= Self.capacity {
          guard s.lossless else { return (true, false) }
          s.writerWaits = true
          return (false, false)
        }
        s.events.append(event)
        defer { s.readerWaits = false }
        return (true, s.readerWaits)
      }
      if wake { filled.post() }
      if done { return }
      drained.wait()
    }
  }
  /// From here on levels are dropped rather than waited for.
  func hurry() { release { $0.lossless = false } }
  func close() { release { $0.closed = true } }
  private func release(_ change: (inout State) -> Void) {
    let (reader, writer) = state.withLock { s in
      change(&s)
      defer { (s.readerWaits, s.writerWaits) = (false, false) }
      return (s.readerWaits, s.writerWaits)
    }
    if reader { filled.post() }
    if writer { drained.post() }
  }

  /// The events since the last call, waiting for at least one.
  ///
  /// - Returns: empty once the recorder has ended and all were read. One reader only, any thread.
  public func next() -> [RecorderEvent] {
    while true {
      let (events, closed, wake) = state.withLock { s -> ([RecorderEvent], Bool, Bool) in
        guard !s.events.isEmpty else {
          s.readerWaits = !s.closed
          return ([], s.closed, false)
        }
        let events = s.events
        s.events.removeAll(keepingCapacity: true)
        defer { s.writerWaits = false }
        return (events, false, s.writerWaits)
      }
      if wake { drained.post() }
      if !events.isEmpty || closed { return events }
      filled.wait()
    }
  }
}
