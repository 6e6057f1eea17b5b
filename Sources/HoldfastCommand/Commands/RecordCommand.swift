import CPlatform
import Glibc
import Holdfast
import Platform
import Synchronization

/// `holdfast record`.
struct RecordCommand {
  private let settings: RecordingSettings
  private let input: InputSpec
  private let json: Bool
  private let ui: Bool
  private let arm: Bool
  /// An unfinished take to go on with.
  private let unfinished: Path?

  init(_ arguments: Arguments) throws(UsageError) {
    guard arguments.operands.isEmpty else {
      throw UsageError(
        "record takes no operand (\(arguments.operands[0].display)); name the take with -o, the source with --input"
      )
    }
    let spec = arguments.values["--input"]
    do throws(RecorderFailure) { input = try InputSpec(spec) } catch {
      throw UsageError(arguments.place("--input") + error.message)
    }
    var options = InputOptions()
    options.paced = arguments.has("--realtime")
    options.blockFrames = try arguments.number("--block-frames", 1...1_000_000).map { Int($0) }
    let raw = ["--format", "--rate", "--channels"].first { arguments.isGiven($0) }
    if let raw, input != .standardInput { throw UsageError("\(raw) is for raw samples: --input -") }
    options.raw.sample =
      try arguments.choice(
        "--format",
        [
          ("s16le", .s16), ("u8", .u8), ("s24le", .s24Packed), ("s24_32le", .s24In32), ("s32le", .s32),
          ("f32le", .float32),
        ]) ?? .s16
    options.raw.rate = Int(try arguments.number("--rate", 188...12_288_000) ?? 48_000)
    options.raw.channels = Int(try arguments.number("--channels", 1...256) ?? 1)
    options.periodMs = Int(try arguments.number("--period-ms", 1...1_000) ?? 10)
    options.bufferMs = Int(try arguments.number("--buffer-ms", 2...10_000) ?? 100)
    options.mmap = arguments.has("--mmap")
    unfinished = arguments.values["--continue"]
    // What goes on was begun long ago.
    arm = arguments.has("--arm") && (unfinished == nil || arguments.isGiven("--arm"))
    if arguments.isGiven("--pre-roll"), !arm {
      throw UsageError("--pre-roll is for --arm: without it nothing comes before")
    }

    var settings = RecordingSettings(input: input, options: options)
    settings.output = arguments.values["--output"]
    settings.takesFolder = TakesFolderPath.standard(environment)
    settings.temporaryFolder = environment("TMPDIR") ?? Path("/tmp")
    settings.force = arguments.has("--force")
    settings.maxMs = try arguments.number("--max-ms", 0...Int64.max / 48) ?? 0
    settings.minValidMs = try arguments.number("--min-valid-ms", 0...Int64.max / 48) ?? 0
    let preRoll = try arguments.number("--pre-roll", 0...RecordingSettings.longestPreRollMs)
    settings.preRollMs = arm ? preRoll ?? 0 : 0
    let bitrates = RecordingSettings.bitrates
    settings.encoder.bitrate = Int(
      try arguments.number("--bitrate", Int64(bitrates.lowerBound)...Int64(bitrates.upperBound)) ?? 32_000)
    settings.encoder.complexity = Int(try arguments.number("--complexity", 0...10) ?? 10)
    settings.quality =
      try arguments.choice("--resampler", [("fastest", .fastest), ("medium", .medium), ("best", .best)])
      ?? .medium
    settings.minPauseMs = try arguments.number("--min-pause-ms", 10...3_600_000) ?? SpeechDetector.minPauseMs
    let longest = RecordingSettings.longestSilenceMs / 1_000
    settings.autoPauseMs = try arguments.number("--auto-pause", 0...longest).map { $0 * 1_000 } ?? 0
    settings.stopAfterSilenceMs =
      try arguments.number("--stop-after-silence", 0...longest).map { $0 * 1_000 } ?? 0
    settings.gaps = try arguments.choice("--gaps", [("fill", .fill), ("close", .close)]) ?? .fill
    settings.absence = .wait(seconds: try arguments.number("--wait-device", 0...86_400) ?? 10)
    if let channel = arguments.text("--channel"), channel != "mix" {
      settings.channel = .channel(Int(try arguments.number("--channel", 1...65_535) ?? 1))
    } else if arguments.has("--channel") {
      settings.channel = .mix
    }
    settings.takeID = try Self.takeID(arguments)
    settings.context = try Self.context(arguments)
    settings.keepsEveryLevel = !settings.live
    self.settings = settings
    if unfinished != nil {
      // What a take is called and how it is coded was said when it was begun.
      let fixed = [
        "--output", "--force", "--take-id", "--session", "--round", "--bitrate", "--complexity",
        "--min-valid-ms", "--max-ms", "--arm",
      ]
      if let option = fixed.first(where: arguments.isGiven) {
        throw UsageError("--continue goes on with the take as it was begun: \(option) can't be given with it")
      }
    }
    json = arguments.has("--json")
    ui = !arguments.has("--no-ui") && !arguments.has("--json") && isatty(Output.errorDescriptor) == 1
  }

  private static func takeID(_ arguments: Arguments) throws(UsageError) -> String? {
    guard let id = arguments.values["--take-id"] else { return nil }
    guard (1...RecordingSettings.longestTakeID).contains(id.bytes.count),
      id.bytes.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw UsageError(
        "--take-id \(id.display): 1 to \(RecordingSettings.longestTakeID) printable ASCII characters without blanks"
      )
    }
    return id.text
  }

  /// `{"session":ID,"round":N}` out of the two options.
  private static func context(_ arguments: Arguments) throws(UsageError) -> String? {
    var fields: [(String, JSON)] = []
    if let session = arguments.values["--session"] {
      guard session.isUTF8, !session.bytes.isEmpty else {
        throw UsageError("--session \(session.display): some UTF-8 text is needed")
      }
      fields.append(("session", .string(session.text)))
    }
    if let round = try arguments.number("--round", 0...Int64.max) { fields.append(("round", .int(round))) }
    guard !fields.isEmpty else { return nil }
    let text = JSON.object(fields).line
    guard text.utf8.count <= TakeDescription.largestContext else {
      throw UsageError("--session is too long: the context may have \(TakeDescription.largestContext) bytes")
    }
    return text
  }

  /// - Returns: the exit code.
  func run(_ output: Output) -> Int32 {
    let watcher = SignalWatcher()
    let recorder: Recorder
    do throws(RecorderFailure) {
      recorder =
        try unfinished.map { path throws(RecorderFailure) in
          try Recorder.continuing(path, settings: settings)
        } ?? Recorder(settings: settings)
    } catch { return Main.report(error, json: json, output) }
    let control = Control(recorder: recorder)
    do throws(Errno) {
      try watcher.start(
        stop: { control.stop(.signal) }, toggle: { control.toggle() }, mark: { control.mark() })
    } catch {
      return Main.report(
        RecorderFailure(code: 74, kind: "thread", message: "can't start a thread: \(error.text)"), json: json,
        output)
    }
    if input.path != nil { Output.silenceLibraries() }
    do throws(RecorderFailure) {
      if arm { try recorder.arm() } else { try recorder.start() }
    } catch {
      // The events of a start that failed hold nothing that the error doesn't say.
      return Main.report(error, json: json, output)
    }
    control.begin()
    let keys = ui && input != .standardInput ? Keys { control.press($0) } : nil
    let code = follow(recorder, output)
    keys?.restore()
    recorder.wait()
    if recorder.deviceHangs {
      output.flush()
      _exit(code)
    }
    return code
  }

  /// Prints events until there are no more.
  private func follow(_ recorder: Recorder, _ output: Output) -> Int32 {
    var code: Int32 = 0
    var told = ""
    var line = LiveLine(active: ui && Style.error.isTerminal)
    let context = recorder.settings.context.map { TakeDescription.contextJSON($0) }
    while true {
      let events = recorder.events.next()
      if events.isEmpty { break }
      for event in events {
        if json { output.json(event.json(context: context)) }
        line.show(event)
        switch event {
        case .failed(let failure):
          line.clear()
          Output.error(failure.message)
          told += failure.message
          code = max(code, failure.code)
        case .sealed(let take):
          line.clear()
          if !json { Self.print(take, output) }
          if let warning = take.warning { Output.error(warning) }
          if take.faults.notFinite > 0 {
            Output.note("note: \(take.faults.notFinite) samples were NaN or infinite and count as 0")
          }
          if take.faults.over > 0 {
            Output.note("note: \(take.faults.over) samples lay beyond full scale and were clipped")
          }
        case .discarded(let path, let take):
          line.clear()
          if !json {
            output.line("discarded: it is in the trash, \(path.display)")
            output.line("  for 7 days `\(take.restoreCommand)` brings it back")
          }
        case .interrupted(let reason, _):
          line.clear()
          let seconds = if case .wait(let seconds) = recorder.settings.absence { seconds } else { Int64(0) }
          Output.note("interrupted: \(reason.text(waitSeconds: seconds))")
        case .gap(let gap, _) where gap.frames == 0: break  // in a pause: nothing is missing
        case .gap(let gap, _):
          line.clear()
          Output.note(
            "lost \(milliseconds(frames: gap.frames)) ms of sound"
              + (gap.filled ? ": silence stands for it" : ", which the take leaves out"))
        case .warning(.diskSlow, let active, _):
          line.clear()
          Output.note(
            active
              ? "the disk is slow: what it is behind waits in memory, and would be lost with the power or a kill"
              : "the disk keeps up again")
        case .warning(.noSignal, let active, let frame):
          line.clear()
          Output.note(
            active
              ? "no signal since \(clockText(milliseconds(frames: frame))): is the microphone muted?"
              : "there is a signal again")
        case .warning(.clipping, let active, _):
          line.clear()
          Output.note(
            active
              ? "too loud, it clips: go away from the microphone or lower its level" : "it clips no longer")
        case .warning(.tooQuiet, let active, _):
          line.clear()
          Output.note(
            active ? "too quiet: come nearer to the microphone or raise its level" : "loud enough now")
        case .warning(.silence, let active, _):
          line.clear()
          Output.note(active ? Self.stopsSoon(recorder.settings) : "there is sound again: it isn't stopped")
        case .autoPause(let active, _):
          line.clear()
          Output.note(
            active ? "silence: it is left out until the next sound" : "silence is no longer left out")
        case .filesystem(let missing, let name):
          line.clear()
          Output.note("note: " + FileSystemText.line(missing, name))
        case .resumed(_, _, let path):
          line.clear()
          let goes = recorder.state.isPaused ? "it is back, and paused" : "it goes on"
          Output.note(path.map { "\(goes), as \($0.display)" } ?? goes)
        case .lowDisk(let notice, _):
          line.clear()
          switch notice {
          case .low(let seconds):
            Output.note(
              "the disk is nearly full: \(clockText(seconds * 1000)) of recording are left as it fills now; make room"
            )
          case .enough: Output.note("the disk has room again")
          }
        case .state, .level, .speech, .mark, .warning(.lowDisk, _, _): break
        }
      }
      output.flush()
    }
    line.clear()
    for problem in recorder.sourceProblems where !told.contains(problem.message) {
      Output.note("note: \(problem.message)")
    }
    return code
  }

  private static func stopsSoon(_ settings: RecordingSettings) -> String {
    let after = settings.stopAfterSilenceMs * 48
    let left = milliseconds(frames: SilenceRules.warningFrames(stopAfter: after))
    let seconds = fixed(Double(left) / 1_000, left % 1_000 == 0 ? 0 : 1)
    return "nothing is heard: the take is stopped in \(seconds) s, unless there is sound again"
  }
  private static func print(_ take: SealedTake, _ output: Output) {
    let pauses = take.pauseCount == 1 ? "1 pause" : "\(take.pauseCount) pauses"
    output.line(
      "sealed \(take.path.display): \(clockText(take.durationMs)) (\(take.durationMs) ms), \(pauses), "
        + "\(take.sizeBytes) bytes, sha256 \(take.sha256)")
    if take.tooShort { output.line(tooShortText(take)) }
  }
}
