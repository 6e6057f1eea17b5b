import Foundation
import Testing

@testable import Session

private typealias Event = (name: String, apply: @Sendable (inout TakeMachine) -> TakeMachine.Action)
private let events: [Event] = [
  ("prepare", { $0.prepare(arm: false) }), ("arm", { $0.prepare(arm: true) }), ("opened", { $0.opened() }),
  ("refused", { $0.refused(permission: false) }), ("start", { $0.start() }), ("pause", { $0.pause() }),
  ("resume", { $0.resume() }), ("mark", { $0.mark() }), ("stop", { $0.stop(.user) }),
  ("interrupted", { $0.interrupted(.deviceLost) }), ("diskFailed", { $0.diskFailed(.diskFull) }),
  ("diskWorks", { $0.diskWorks() }), ("goOn", { $0.goOn() }), ("leave", { $0.leave() }),
  ("discard", { $0.discard() }),
  ("drained", { $0.drained() }), ("sealed", { $0.finished(sealed: true) }),
  ("failed", { $0.finished(sealed: false) }),
]

/// One machine in every state, reached by legal events.
private func machines() -> [(name: String, machine: TakeMachine)] {
  func after(_ steps: (inout TakeMachine) -> Void) -> TakeMachine {
    var machine = TakeMachine()
    steps(&machine)
    return machine
  }
  func recording(_ machine: inout TakeMachine) {
    _ = machine.prepare(arm: false)
    _ = machine.opened()
  }
  return [
    ("idle", TakeMachine()), ("preparing", after { _ = $0.prepare(arm: false) }),
    ("armed", after { m in _ = (m.prepare(arm: true), m.opened()) }), ("recording", after(recording)),
    (
      "paused",
      after {
        recording(&$0)
        _ = $0.pause()
      }
    ),
    (
      "interrupted",
      after {
        recording(&$0)
        _ = $0.interrupted(.deviceLost)
      }
    ),
    (
      "interrupted (paused)",
      after {
        recording(&$0)
        _ = ($0.pause(), $0.interrupted(.deviceLost))
      }
    ),
    (
      "interrupted: disk",
      after {
        recording(&$0)
        _ = $0.diskFailed(.diskFull)
      }
    ),
    (
      "interrupted: disk (paused)",
      after {
        recording(&$0)
        _ = ($0.pause(), $0.diskFailed(.diskFull))
      }
    ),
    (
      "interrupted: both",
      after {
        recording(&$0)
        _ = ($0.diskFailed(.diskFull), $0.interrupted(.deviceLost))
      }
    ),
    (
      "interrupted: left",
      after {
        recording(&$0)
        _ = $0.leave()
      }
    ),
    (
      "sealing",
      after {
        recording(&$0)
        _ = $0.stop(.user)
      }
    ),
    (
      "sealed",
      after {
        recording(&$0)
        _ = ($0.stop(.user), $0.finished(sealed: true))
      }
    ),
    (
      "failed",
      after {
        recording(&$0)
        _ = ($0.stop(.user), $0.finished(sealed: false))
      }
    ),
    (
      "discarded",
      after {
        recording(&$0)
        _ = $0.discard()
      }
    ), ("denied", after { m in _ = (m.prepare(arm: false), m.refused(permission: true)) }),
    ("unavailable", after { m in _ = (m.prepare(arm: false), m.refused(permission: false)) }),
  ]
}

private func name(_ machine: TakeMachine) -> String {
  if case .interrupted(let reason, let whilePaused) = machine.state {
    let why = reason.isDisk ? ": disk" : reason == .left ? ": left" : ""
    return "interrupted" + why + (whilePaused ? " (paused)" : "")
  }
  return machine.state.name
}

/// The table as docs/ARCHITECTURE.md shows it.
private func table() -> String {
  var lines = [
    "| state | " + events.map(\.name).joined(separator: " | ") + " |",
    "|" + String(repeating: " --- |", count: events.count + 1),
  ]
  for (state, machine) in machines() {
    let cells = events.map { event in
      var next = machine
      let action = event.apply(&next)
      let change = next.state == machine.state ? "" : name(next)
      switch action {
      case .reject: return "✗"
      case .none: return change.isEmpty ? "·" : change
      default:
        return (change.isEmpty ? "" : change + " ")
          + "/ \(action)".replacingOccurrences(of: "Session.", with: "")
          .replacingOccurrences(of: "EndedBy.", with: "").replacingOccurrences(
            of: "InterruptionReason.", with: "")
      }
    }
    lines.append("| **\(state)** | " + cells.joined(separator: " | ") + " |")
  }
  return lines.joined(separator: "\n")
}

@Test func `the state table in docs is the machine's`() throws {
  let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("docs/ARCHITECTURE.md")
  let text = try String(contentsOf: path, encoding: .utf8)
  if !text.contains(table()) {
    Issue.record("docs/ARCHITECTURE.md needs this table:\n\(table())")
  }
}

@Test func `every event is answered in every state, and an error changes nothing`() {
  for (state, machine) in machines() {
    for event in events {
      var next = machine
      if case .reject = event.apply(&next) { #expect(next == machine, "\(state) \(event.name)") }
    }
  }
}

@Test func `interrupted while paused returns to paused`() {
  var machine = TakeMachine()
  _ = (machine.prepare(arm: false), machine.opened(), machine.pause())
  #expect(machine.interrupted(.serverGone) == .awaitSource(.serverGone))
  #expect(machine.interrupted(.suspended) == .awaitSource(.suspended))
  #expect(machine.interrupted(.suspended) == .none)
  #expect(machine.state == .interrupted(.suspended, whilePaused: true))
  #expect(machine.opened() == .joinSource)
  #expect(machine.state == .paused)
}

@Test func `device and disk are waited for apart`() {
  var machine = TakeMachine()
  _ = (machine.prepare(arm: false), machine.opened())
  #expect(machine.diskFailed(.diskFull) == .awaitDisk(.diskFull))
  #expect(machine.pause() == .closeGate, "what is captured while the disk is waited for can be unwanted")
  #expect(machine.interrupted(.deviceLost) == .awaitSource(.deviceLost))
  #expect(machine.resume() == .openGate && machine.pause() == .closeGate && machine.mark() == .writeMark)
  #expect(machine.opened() == .joinSource)
  #expect(machine.state == .interrupted(.diskFull, whilePaused: true))
  #expect(machine.opened() == .none)
  #expect(machine.diskWorks() == .diskIsBack(.diskFull))
  #expect(machine.state == .paused)
  #expect(machine.diskWorks() == .none)
}

@Test func `a second start is refused, a second stop is harmless`() {
  var machine = TakeMachine()
  #expect(machine.prepare(arm: false) == .openSource)
  #expect(machine.opened() == .beginTake)
  #expect(machine.start() == .reject(.alreadyRunning))
  #expect(machine.stop(.signal) == .endCapture(.signal))
  #expect(machine.stop(.user) == .none)
  #expect(machine.drained() == .seal)
  #expect(machine.finished(sealed: true) == .releaseSource)
  #expect(machine.prepare(arm: true) == .openSource)
}

@Test(arguments: 0..<200) func `no sequence of events traps or leaves a sealed take open`(_ seed: Int) {
  var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
  var machine = TakeMachine()
  for _ in 0..<200 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    let before = machine.state
    let action = events[Int(state % UInt64(events.count))].apply(&machine)
    if case .sealed = before { #expect(action == .openSource || machine.state == .sealed, "seed \(seed)") }
    if action == .seal { #expect(before == .sealing, "seed \(seed)") }
  }
}
