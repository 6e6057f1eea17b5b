import CLogind
import Platform

/// Keeps the machine from falling asleep while a take is recorded, where logind answers on the system bus.
///
/// All of it happens on a thread of its own: a bus that hangs, refuses or isn't there costs a take nothing. The lock is a
/// descriptor that logind watches, so that it ends with the process at the latest.
final class SleepInhibitor: Sendable {
  private static let who = "Holdfast"
  private static let why = "Recording a take"
  /// Milliseconds that an answer is waited for.
  private static let patience: Int32 = 10_000
  /// How long a release waits for a thread that is stuck in opening the bus.
  private static let farewell: Int64 = 200_000_000

  /// Becomes readable when the lock is to be released.
  private let stop: Descriptor
  private let ended = CountingSemaphore()

  /// Asks for the lock and returns at once.
  ///
  /// - Returns: nil where there is no thread to be had: nothing is inhibited then.
  init?() {
    let event = holdfast_event()
    guard event >= 0 else { return nil }
    stop = Descriptor(owning: event)
    guard (try? Thread(name: "hf-inhibit") { [self] in run() }) != nil else { return nil }
  }

  private func run() {
    // To keep it from sleeping at all may need rights that a person at a remote place hasn't; to keep it from
    // falling asleep by itself hardly ever does.
    var lock = ask("sleep:idle")
    if lock == HOLDFAST_INHIBIT_REFUSED { lock = ask("idle") }
    if lock >= 0 {
      let held = Descriptor(owning: lock)
      holdfast_event_wait(stop.raw)
      withExtendedLifetime(held) {}
    }
    ended.post()
  }
  private func ask(_ what: String) -> Int32 {
    unsafe holdfast_inhibit(what, Self.who, Self.why, "block", stop.raw, Self.patience)
  }

  /// Gives the lock back.
  func release() {
    holdfast_event_set(stop.raw)
    _ = ended.wait(until: .now.advanced(by: Self.farewell))
  }
}
