import Capture
import Foundation
import Holdfast
import TestSupport

/// A take through the library, with pauses at exact device frames. Nothing is captured before all are scheduled, so
/// each run is the same.
struct ScheduledTake {
  private let samples: [Float]
  private let rate: Int
  init(_ samples: [Float], rate: Int) { (self.samples, self.rate) = (samples, rate) }

  /// - Parameter pauses: device frames from each pause to its resume; one that ends beyond the last frame is the
  ///   take's last act.
  func recorded(pauses: [Range<Int>], in folder: TempFolder) throws -> Recorded {
    let (recorder, gate) = try begun(in: folder)
    for pause in pauses {
      recorder.schedule(.pause, atCaptureFrame: Int64(pause.lowerBound))
      if pause.upperBound < samples.count {
        recorder.schedule(.resume, atCaptureFrame: Int64(pause.upperBound))
      }
    }
    gate.open()
    let lines = Self.lines(recorder)
    let said = Finished(exit: 0, out: Data(lines.utf8))
    return try Recorded(said, folder, folder.file("take.opus"))
  }

  /// The events of a take that is discarded.
  static func discarded(in folder: TempFolder) throws -> String {
    let (recorder, gate) = try ScheduledTake(Tone.sine(24_000), rate: 48_000).begun(in: folder)
    _ = recorder.discard()
    gate.open()
    return lines(recorder)
  }

  private func begun(in folder: TempFolder) throws -> (Recorder, Gate) {
    var settings = RecordingSettings()
    settings.output = Path(folder.file("take.opus"))
    settings.takeID = "scheduled"
    settings.keepsEveryLevel = true
    let recorder = Recorder(settings: settings)
    let gate = Gate()
    try recorder.start(source: HeldSource(samples, rate: rate, gate: gate))
    return (recorder, gate)
  }
  /// All events until the take has ended, as the command prints them.
  private static func lines(_ recorder: Recorder) -> String {
    var lines = ""
    while true {
      let events = recorder.events.next()
      if events.isEmpty { break }
      for event in events { lines += event.json(context: nil).line + "\n" }
    }
    recorder.wait()
    return lines
  }

  /// Where each pause begins in the take and how long the take is, by the rule itself: a pause keeps 240 frames more,
  /// and a resume waits for them. Frames of 48 kHz.
  func expected(pauses: [Range<Int>]) -> (begins: [Int], total: Int) {
    let total = take(samples.count)
    var begins: [Int] = []
    var kept = 0
    var open = 0  // where in the source the open stretch began
    for pause in pauses {
      let begin = max(open, take(pause.lowerBound))
      let closed = min(total, begin + 240)
      begins.append(kept + begin - open)
      kept += closed - open
      open = pause.upperBound < samples.count ? max(closed, take(pause.upperBound)) : total
    }
    return (begins, kept + total - open)
  }
  private func take(_ device: Int) -> Int { Int((Double(device) * 48_000 / Double(rate)).rounded()) }
}

/// Opens once; who waits goes on then.
private final class Gate: @unchecked Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  func open() { semaphore.signal() }
  func wait() { semaphore.wait() }
}

/// Float samples, one channel; the first read waits for the gate.
private final class HeldSource: Source {
  let format: SourceFormat
  let statedFrames: Int64? = nil
  let problems: [SourceProblem] = []
  private let samples: [Float]
  private let gate: Gate
  private var opened = false
  private var next = 0

  init(_ samples: [Float], rate: Int, gate: Gate) {
    format = SourceFormat(sample: .float32, rate: rate, channels: 1)
    (self.samples, self.gate) = (samples, gate)
  }
  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    if !opened { gate.wait() }
    opened = true
    let n = min(buffer.byteCount / 4, samples.count - next)
    for i in 0..<n { buffer.storeBytes(of: samples[next + i], toByteOffset: 4 * i, as: Float.self) }
    next += n
    return n
  }
}
