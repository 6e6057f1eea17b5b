import Holdfast
import Platform

/// The line that a person watches on a terminal: state, time, level, waveform.
struct LiveLine {
  let active: Bool
  private var state = "preparing"
  private var shown = false
  private var nextDue = MonotonicTime(nanoseconds: 0)

  init(active: Bool) { self.active = active }

  mutating func show(_ event: RecorderEvent) {
    guard active else { return }
    switch event {
    case .state(let new, let frames):
      state = new.name
      draw("\(state)  \(clockText(milliseconds(frames: frames)))")
    case .level(let level, let bars):
      guard MonotonicTime.now >= nextDue else { return }
      nextDue = .now.advanced(by: 100_000_000)
      let time = clockText(milliseconds(frames: level.endFrame))
      let text = "\(state)  \(time)  \(fixed(level.rmsDb, 0)) dB  "
      let room = max(0, min(LiveBars.count, width - text.count - 1))
      draw(text + Style.error.blocks(Array(bars.suffix(room))))
    default: break
    }
  }
  /// As wide as the terminal is now: its window may change.
  private var width: Int {
    let now = terminalWidth(Output.errorDescriptor)
    return now > 0 ? now : 80
  }
  private mutating func draw(_ text: String) {
    Output.raw("\r\u{1B}[K" + String(text.prefix(max(1, width - 1))))
    shown = true
  }
  mutating func clear() {
    guard shown else { return }
    Output.raw("\r\u{1B}[K")
    shown = false
  }
}
