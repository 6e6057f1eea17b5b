import Platform
import Synchronization

/// What an `EventQueue` carries.
public protocol QueuedEvent: Sendable {
  /// Whether a slow reader may miss it, since the next one of its kind says all that it said.
  var mayBeDropped: Bool { get }
}

extension RecorderEvent: QueuedEvent {
  /// Levels.
  public var mayBeDropped: Bool { if case .level = self { true } else { false } }
}
extension PlayerEvent: QueuedEvent {
  /// Positions.
  public var mayBeDropped: Bool { if case .position = self { true } else { false } }
}

/// Events on their way to one reader, who takes them by `next` on a thread of its own or by `for await`.
///
/// A slow reader loses levels (of a player: positions) and nothing else. A take from a file isn't lost by waiting, so there
/// the recorder waits for its reader instead, until a stop is asked for.
public final class EventQueue<Event: QueuedEvent>: Sendable {
  private enum Reader {
    case away
    case blocked
    case suspended(CheckedContinuation<Void, Never>)
  }
  private struct State {
    var events: [Event] = []
    var closed = false
    var reader = Reader.away
    var writerWaits = false
    var lossless: Bool
  }
  private let state: Mutex<State>
  private let filled = CountingSemaphore()
  private let drained = CountingSemaphore()
  static var capacity: Int { 1_024 }

  init(lossless: Bool) { state = Mutex(State(lossless: lossless)) }

  func push(_ event: Event) {
    let mayBeDropped = event.mayBeDropped
    while true {
      let (done, reader) = state.withLock { s -> (Bool, Reader) in
        if mayBeDropped, s.events.count >= Self.capacity {
          guard s.lossless else { return (true, .away) }
          s.writerWaits = true
          return (false, .away)
        }
        s.events.append(event)
        defer { s.reader = .away }
        return (true, s.reader)
      }
      wake(reader)
      if done { return }
      drained.wait()
    }
  }
  /// From here on what may be dropped is, rather than waited for.
  func hurry() { release { $0.lossless = false } }
  func close() { release { $0.closed = true } }
  private func release(_ change: (inout State) -> Void) {
    let (reader, writer) = state.withLock { s in
      change(&s)
      defer { (s.reader, s.writerWaits) = (.away, false) }
      return (s.reader, s.writerWaits)
    }
    wake(reader)
    if writer { drained.post() }
  }
  private func wake(_ reader: Reader) {
    switch reader {
    case .away: break
    case .blocked: filled.post()
    case .suspended(let continuation): continuation.resume()
    }
  }

  /// The events since the last call, waiting for at least one.
  ///
  /// - Returns: empty once what tells them has ended and all were read. One reader only, any thread.
  public func next() -> [Event] {
    while true {
      let (events, ended) = take(.blocked)
      if !events.isEmpty || ended { return events }
      filled.wait()
    }
  }
  /// The events since the last call, waiting for at least one until `deadline` at the latest.
  ///
  /// - Returns: empty where none came by then, or, with `isOver`, none will any more.
  public func next(until deadline: MonotonicTime) -> [Event] {
    while true {
      let (events, ended) = take(.blocked)
      if !events.isEmpty || ended { return events }
      if !filled.wait(until: deadline) { return take(.away).events }
    }
  }
  /// What tells them has ended, and all were read.
  public var isOver: Bool { state.withLock { $0.closed && $0.events.isEmpty } }

  /// - Parameter reader: how it waits where there is nothing.
  private func take(_ reader: Reader) -> (events: [Event], ended: Bool) {
    let (events, closed, wake) = state.withLock { s -> ([Event], Bool, Bool) in
      guard !s.events.isEmpty else {
        s.reader = s.closed ? .away : reader
        return ([], s.closed, false)
      }
      let events = s.events
      s.events.removeAll(keepingCapacity: true)
      defer { s.writerWaits = false }
      return (events, false, s.writerWaits)
    }
    if wake { drained.post() }
    return (events, closed)
  }
}

/// `for await event in recorder.events` (or a player's): ends when the recorder has; one loop at a time. A task that is
/// cancelled leaves it at the next event; the recorder isn't touched by it.
extension EventQueue: AsyncSequence {
  public struct AsyncIterator: AsyncIteratorProtocol {
    let queue: EventQueue
    private var waiting: ArraySlice<Event> = []

    init(_ queue: EventQueue) { self.queue = queue }

    public mutating func next() async -> Event? {
      while waiting.isEmpty {
        if Task.isCancelled { return nil }
        let (events, ended) = queue.take(.away)
        if !events.isEmpty { waiting = events[...] }
        if !waiting.isEmpty { break }
        if ended { return nil }
        await queue.arrival()
      }
      return waiting.popFirst()
    }
  }
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  /// Suspends until there is an event, or none will come, or the task is cancelled.
  private func arrival() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready = state.withLock { s in
          guard s.events.isEmpty, !s.closed, !Task.isCancelled else { return true }
          s.reader = .suspended(continuation)
          return false
        }
        if ready { continuation.resume() }
      }
    } onCancel: {
      let reader = state.withLock { s in
        guard case .suspended = s.reader else { return Reader.away }
        defer { s.reader = .away }
        return s.reader
      }
      wake(reader)
    }
  }
}
