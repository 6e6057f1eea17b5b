/// One option: what parses it is also what help, the man page, the completions and the configuration know of it.
struct Option: Sendable {
  var long: String
  var short: String?
  /// nil for one that is there or isn't.
  var value: Value?
  var help: String
  var commands: [CommandName]
  /// It may also come from `HOLDFAST_*` and the configuration file: it says how something is done, not to what.
  var isConfigurable: Bool

  enum Value: Sendable {
    case choice([String])
    case open(String, Completing)

    var shown: String {
      switch self {
      case .choice(let choices): choices.joined(separator: "|")
      case .open(let name, _): name
      }
    }
    var completes: Completing {
      switch self {
      case .choice(let choices): .words(choices)
      case .open(_, let completes): completes
      }
    }
  }

  private init(
    _ long: String, _ short: String? = nil, _ value: Value?, _ commands: [CommandName],
    fixed: Bool = false, _ help: String
  ) {
    self.long = long
    self.short = short
    self.value = value
    self.help = help
    self.commands = commands
    isConfigurable = !fixed
  }
  private static func open(_ name: String, _ completes: Completing = .nothing) -> Value {
    .open(name, completes)
  }

  /// The name in the configuration file.
  var key: String { String(long.dropFirst(2)) }
  /// The name in the environment.
  var variable: String {
    "HOLDFAST_" + String(key.map { $0 == "-" ? "_" : Character($0.uppercased()) })
  }

  static let table: [Option] = [
    Option(
      "--output", "-o", open("FILE.opus", .files(["opus"])), [.record], fixed: true,
      "the take's file; without it a new name in the takes folder"),
    Option(
      "--continue", nil, open("FILE.opus", .files(["opus"])), [.record], fixed: true,
      "goes on with an unfinished take, in the same file"),
    Option(
      "--output", "-o", open("FILE", .files(["wav", "flac", "opus"])), [.export], fixed: true,
      "NAME.wav or NAME.flac (16 bit), or NAME.opus (cut, not encoded anew)"),
    Option(
      "--output", nil, open("SPEC", .spec(["alsa:default", "alsa:", "file:"])), [.play], fixed: true,
      "alsa:NAME (default alsa:default), file:PATH.wav or file:PATH.flac"),
    Option(
      "--from", nil, open("TIME"), [.play, .export], fixed: true,
      "mm:ss[.mmm] or h:mm:ss[.mmm]; default the start"),
    Option("--to", nil, open("TIME"), [.play, .export], fixed: true, "where it ends; default the end"),
    Option(
      "--input", nil, open("SPEC", .spec(["alsa:default", "alsa:", "file:", "tone:", "-"])),
      [.record, .bench],
      "alsa:NAME, file:PATH, - (raw samples), or tone:HZ[,DBFS]; default the microphone"),
    Option("--realtime", nil, nil, [.record], "reads a file or tone at the speed it sounds"),
    Option(
      "--format", nil, .choice(["u8", "s16le", "s24le", "s24_32le", "s32le", "f32le"]), [.record],
      "of raw samples; default s16le"),
    Option("--rate", nil, open("HZ"), [.record], "of raw samples; default 48000"),
    Option("--channels", nil, open("N"), [.record], "of raw samples; default 1"),
    Option(
      "--channel", nil, open("N|mix", .words(["1", "2", "mix"])), [.record],
      "which channel becomes the take; default 1"),
    Option(
      "--max-ms", nil, open("N"), [.record],
      "stops at that very frame; 0 for no limit (default)"),
    Option(
      "--min-valid-ms", nil, open("N"), [.record],
      "shorter takes are sealed and marked too_short"),
    Option("--bitrate", nil, open("BITS_PER_S"), [.record, .bench], "6000 to 510000; default 32000"),
    Option("--complexity", nil, open("0-10"), [.record, .bench], "of the Opus encoder; default 10"),
    Option(
      "--resampler", nil, .choice(["fastest", "medium", "best"]), [.record], "its quality; default medium"),
    Option(
      "--gaps", nil, .choice(["fill", "close"]), [.record],
      "lost frames become silence (fill, the default) or nothing (close)"),
    Option("--arm", nil, nil, [.record], "listens first; space or SIGUSR1 starts"),
    Option(
      "--pre-roll", nil, open("MS"), [.record],
      "with --arm: sound from before the start that goes into the take"),
    Option(
      "--period-ms", nil, open("MS"), [.record, .bench],
      "how often a device hands over frames; default 10"),
    Option(
      "--buffer-ms", nil, open("MS"), [.record, .bench],
      "how much a device holds before it overruns; default 100"),
    Option(
      "--mmap", nil, nil, [.record, .bench],
      "reads a device through its mapped buffer instead of snd_pcm_readi"),
    Option(
      "--wait-device", nil, open("S"), [.record],
      "how long a lost device is waited for; default 10"),
    Option(
      "--force", nil, nil, [.record], fixed: true,
      "replaces an existing take when the new one is sealed; the old one goes to the trash"),
    Option(
      "--force", nil, nil, [.export], fixed: true,
      "replaces an existing file, which goes to the trash beside it"),
    Option(
      "--session", nil, open("ID"), [.record], fixed: true, "goes into the take's context"),
    Option("--round", nil, open("N"), [.record], fixed: true, "goes into the take's context"),
    Option(
      "--take-id", nil, open("ID"), [.record], fixed: true,
      "names the take: same id and input give the same bytes"),
    Option(
      "--json", nil, nil,
      [.record, .inspect, .recover, .list, .play, .export, .restore, .verify, .devices, .bench],
      fixed: true, "one JSON object a line, and nothing else on standard output"),
    Option(
      "--trash", nil, nil, [.list], fixed: true,
      "what was discarded or replaced, and how long it is kept yet"),
    Option(
      "--empty", nil, nil, [.list], fixed: true, "with --trash: deletes all of it now, for good"),
    Option(
      "--jobs", "-j", open("N"), [.inspect, .verify],
      "how many files at once; default as many as there are processors"),
    Option(
      "--files-from", nil, open("FILE", .files([])), [.inspect, .verify], fixed: true,
      "more files, a name or an object with \"path\" a line; - is standard input"),
    Option(
      "--null", "-0", nil, [.inspect, .verify], fixed: true,
      "with --files-from: names end with NUL, as find -print0 gives them"),
    Option(
      "--min-pause-ms", nil, open("MS"), [.record, .inspect],
      "how long a speaker must be silent for a pause; default 250"),
    Option(
      "--auto-pause", nil, open("SECONDS"), [.record],
      "leaves silence out after that much of it, until 200 ms before the next sound; 0, the default, never does"
    ),
    Option(
      "--stop-after-silence", nil, open("SECONDS"), [.record],
      "stops after that much silence; 0, the default, never does"),
    Option(
      "--seconds", nil, open("N"), [.bench],
      "how long the device is read for, at rest and under load each; default 10"),
    Option("--no-ui", nil, nil, [.record], "reads no keys and draws nothing"),
    Option(
      "--block-frames", nil, open("N"), [.record],
      "frames a source is read by at most; the take is the same at any"),
    Option(
      "--man", nil, nil, [.help], fixed: true, "prints the manual page, holdfast.1"),
    Option(
      "--completion", nil, .choice(["bash", "zsh", "fish"]), [.help], fixed: true,
      "prints a shell's completions"),
  ]
}
