import Glibc
import Platform
import Synchronization

/// What is shown of long work on standard error: a bar on a terminal once it takes half a second; elsewhere a line after
/// 5 s and every 10 s then, while something is done. Nothing at all with `--json`.
///
/// Any thread.
final class Progress: Sendable {
  private let verb: String
  private let isActive: Bool
  private let state: Mutex<State>
  private let ended = CountingSemaphore()

  struct State: Sendable {
    /// nil where it isn't known.
    var total: Int?
    var done = 0
    var running: [Int: Double] = [:]
    fileprivate var isHidden = false
    fileprivate var isDrawn = false

    /// Of everything where its amount is known, else of what is being done; 0…1.
    var fraction: Double {
      let parts = running.values.reduce(0, +)
      guard let total else { return running.isEmpty ? 0 : parts / Double(running.count) }
      return total == 0 ? 1 : min(1, (Double(done) + parts) / Double(total))
    }
    var percent: Int { Int(fraction * 100) }
    /// Without the bar.
    var words: String {
      switch total {
      case 1: "\(percent) %"
      case let total?: "\(percent) %, \(done) of \(total)"
      case nil: "\(done) done" + (running.isEmpty ? "" : ", the next \(percent) %")
      }
    }
  }

  /// - Parameters:
  ///   - verb: the command.
  ///   - total: how many things there are to do.
  init(_ verb: String, total: Int?, json: Bool, _ output: Output) {
    self.verb = verb
    isActive = !json
    state = Mutex(State(total: total))
    guard isActive else { return }
    output.around = { [weak self] isWriting in self?.hide(isWriting) }
    _ = try? Thread(name: "hf-progress") { [self] in tick() }
  }

  func begin(_ index: Int) { state.withLock { $0.running[index] = 0 } }
  func update(_ index: Int, _ fraction: Double) {
    guard isActive else { return }
    state.withLock { $0.running[index] = fraction }
  }
  func end(_ index: Int) {
    state.withLock {
      $0.running[index] = nil
      $0.done += 1
    }
  }
  /// Things done of things to do, where nothing is told of the single one.
  func set(done: Int, of total: Int) {
    state.withLock {
      ($0.done, $0.total) = (done, total)
      $0.running[0] = 0
    }
  }
  /// Takes the bar away, for good.
  func finish() {
    hide(true)
    ended.post()
  }

  private func hide(_ isHidden: Bool) {
    state.withLock {
      $0.isHidden = isHidden
      guard isHidden, $0.isDrawn else { return }
      Output.raw("\r\u{1B}[K")
      $0.isDrawn = false
    }
  }
  private func tick() {
    let style = Style.error
    let second: Int64 = 1_000_000_000
    var next = MonotonicTime.now.advanced(by: style.isTerminal ? second / 2 : 5 * second)
    while !ended.wait(until: next) {
      next = .now.advanced(by: style.isTerminal ? second / 10 : 10 * second)
      state.withLock { state in
        guard !state.isHidden, !state.running.isEmpty else { return }
        if style.isTerminal {
          Output.raw(
            "\r\u{1B}[K" + Self.bar(verb, state, style, columns: terminalWidth(Output.errorDescriptor)))
          state.isDrawn = true
        } else {
          Output.note("\(verb): \(state.words)")
        }
      }
    }
  }
  private static func bar(_ verb: String, _ state: State, _ style: Style, columns: Int) -> String {
    let columns = (columns > 0 ? columns : 80) - 1
    let words = "  " + state.words
    let room = min(40, columns - verb.count - 2 - words.count)
    guard room >= 5 else { return fitted(verb + words, columns, style) }
    let full = Int(state.fraction * Double(room))
    let signs = style.isUnicode ? ("█", "░") : ("#", ".")
    return verb + "  " + String(repeating: signs.0, count: full)
      + String(repeating: signs.1, count: room - full) + words
  }
}
