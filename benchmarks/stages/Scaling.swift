import Encoding
import Glibc
import Holdfast
import Platform
import Session
import Signal

/// How the costs grow: with a take's length, its pauses, and recorders side by side.
extension Benchmarks {
  /// A take's way behind the clock, with packets that were made before: what isn't Opus.
  struct Way {
    var meter = Meter()
    var bars = LiveBars()
    var silence = NoSignalDetector(rate: takeRate)
    var speech = SpeechDetector()
    let writer = OggOpusWriter(serial: 1, preSkip: 312)
    let digest = Digest()
    var tail: [UInt8] = []
    var packets: Int64 = 0
    var sink = 0

    /// A minute of the talk goes through; CPU nanoseconds a frame.
    mutating func minute(_ talk: Talk) -> Double {
      let wanted = 60 * takeRate / packetFrames
      let before = cpu()
      for _ in 0..<wanted {
        let at = Int(packets) % talk.packets.count
        let frames = talk.frames.span.extracting((at * packetFrames)..<((at + 1) * packetFrames))
        meter.push(frames) { bars.push($0.bar) }
        silence.push(frames)
        speech.push(frames)
        let packet = talk.packets[at]
        Tail.append(packet: packet[...], index: packets, to: &tail)
        packets += 1
        if let page = writer.add(packet.span) {
          digest?.update(page.span)
          tail.removeAll(keepingCapacity: true)
          var summary = LevelSummary()
          summary.frames = packets * Int64(packetFrames)
          summary.bins = meter.takeFinishedBins()
          sink &+=
            Ledger.encode(
              LedgerRecord(
                captureFrame: summary.frames, effectiveFrame: summary.frames, event: .levels(summary))
            ).count
        }
      }
      return Double(cpu() - before) / Double(wanted * packetFrames)
    }
  }

  /// Minutes of one long take and of takes of one minute, in turns.
  static func lengths(_ talk: Talk, hours: Int) throws {
    var long = Way()
    var (short, hour) = ([Double](), [Double]())
    let begun = resident()
    for minute in 0..<(hours * 60) {
      let cost = long.minute(talk)
      hour.append(cost)
      if minute % 4 == 0 {
        var fresh = Way()
        short.append(fresh.minute(talk))
      }
      guard minute % 60 == 59 else { continue }
      tell([
        ("benchmark", .string("length")), ("hours", .int(Int64((minute + 1) / 60))),
        ("ns_per_frame", .double((median(hour) * 1_000).rounded() / 1_000)),
        ("ns_per_frame_of_a_minute", .double((median(short) * 1_000).rounded() / 1_000)),
        ("ratio", .double((median(hour) / median(short) * 1_000).rounded() / 1_000)),
        ("resident_grown_kb", .int((resident() - begun) / 1_024)),
      ])
      (hour, short) = ([], [])
    }
    precondition(long.sink != 0)
  }

  /// Ten minutes with so many pauses, through the whole recorder.
  static func pauses(_ talk: Talk, counts: [Int]) throws {
    var costs = [[Double]](repeating: [], count: counts.count)
    let frames = Int64(600 * takeRate)
    for _ in 0..<3 {
      for (i, count) in counts.enumerated() {
        try inFolder { folder in
          var settings = RecordingSettings(input: .file(talk.path))
          settings.output = folder.appending("p.opus")
          settings.encoder.complexity = 0
          let recorder = Recorder(settings: settings)
          let gate = CountingSemaphore()
          nonisolated(unsafe) let source: any Source = Repeated(talk, frames: frames, gate: gate)
          let before = processCpu()
          try recorder.start(source: source)
          let step = frames / Int64(count + 1)
          for k in 0..<count {
            recorder.schedule(.pause, atCaptureFrame: Int64(k + 1) * step)
            recorder.schedule(.resume, atCaptureFrame: Int64(k + 1) * step + step / 10)
          }
          gate.post()
          recorder.wait()
          let taken = Double(processCpu() - before)
          while case let events = recorder.events.next(), !events.isEmpty {}
          precondition(
            recorder.state == .sealed && recorder.snapshot.pauseCount == count, "\(recorder.snapshot)")
          costs[i].append(taken / Double(recorder.snapshot.effectiveFrames))
        }
      }
    }
    for (i, count) in counts.enumerated() {
      tell([
        ("benchmark", .string("pauses")), ("pauses", .int(Int64(count))),
        ("ns_per_frame", .double((median(costs[i]) * 1_000).rounded() / 1_000)),
        ("ratio", .double((median(costs[i]) / median(costs[0]) * 1_000).rounded() / 1_000)),
      ])
    }
  }

  /// So many recorders in this process, each a source at the speed it sounds, for some seconds: whether they keep up.
  static func recorders(_ talk: Talk, count: Int, seconds: Int) throws {
    try inFolder { folder in
      var options = InputOptions()
      options.paced = true
      var made: [Recorder] = []
      for i in 0..<count {
        var settings = RecordingSettings(input: .file(talk.path), options: options)
        settings.output = folder.appending("t\(i).opus")
        settings.inhibitsSleep = false
        made.append(Recorder(settings: settings))
      }
      for recorder in made { try recorder.start() }
      let (before, begun) = (processCpu(), MonotonicTime.now)
      var behind: Int64 = 0
      let first = made.map(\.effectiveMs)
      for _ in 0..<(seconds * 10) {
        usleep(100_000)
        let due = (MonotonicTime.now.nanoseconds - begun.nanoseconds) / 1_000_000
        for (i, recorder) in made.enumerated() {
          behind = max(behind, due - (recorder.effectiveMs - first[i]))
        }
      }
      let wall = MonotonicTime.now.nanoseconds - begun.nanoseconds
      let share = Double(processCpu() - before) / Double(wall) * 100
      for recorder in made { recorder.stop(.user) }
      var sealed = 0
      for recorder in made {
        recorder.wait()
        if recorder.state == .sealed { sealed += 1 }
      }
      tell([
        ("benchmark", .string("recorders")), ("recorders", .int(Int64(count))),
        ("sealed", .int(Int64(sealed))),
        ("cpu_percent_of_a_core", .double((share * 10).rounded() / 10)),
        ("percent_each", .double((share / Double(count) * 100).rounded() / 100)),
        ("most_behind_ms", .int(behind)), ("resident_kb", .int(resident() / 1_024)),
      ])
    }
  }
}
