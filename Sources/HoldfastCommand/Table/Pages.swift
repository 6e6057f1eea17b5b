// What each command's help says beside its options. `…` and typographic signs are turned to ASCII where the locale asks.
extension CommandPage {
  private static let audio = Completing.files([
    "opus", "ogg", "wav", "flac", "aiff", "aif", "mp3", "oga", "au", "caf", "w64", "rf64",
  ])

  static let record = CommandPage(
    operands: "[-o FILE.opus]", completes: .nothing,
    summary: "records a take",
    text: [
      "The take is Ogg Opus; beside FILE.opus stands FILE.take.json with pauses, marks, levels and checksum. While it is recorded it lies in FILE.opus.partial, which `holdfast recover` seals if the recorder is killed.",
      "While it records: space pauses and resumes, m marks, enter or q stops, ctrl-C stops, x twice discards. SIGINT, SIGTERM, SIGQUIT and SIGHUP stop and seal; SIGUSR1 toggles pause, SIGUSR2 marks.",
      "Without -o the take is named by its time and lies in the takes folder, $XDG_DATA_HOME/holdfast/takes (~/.local/share/holdfast/takes).",
    ],
    examples: [
      .init("holdfast record -o talk.opus", "from the default microphone, until enter or ctrl-C"),
      .init(
        "holdfast record --input alsa:hw:1,0 -o talk.opus", "from a device that `holdfast devices` lists"),
      .init("holdfast record --input file:interview.flac -o interview.opus", "a file, as fast as it goes"),
      .init(
        "ffmpeg -i x.mkv -f s16le -ar 48000 -ac 1 - | holdfast record --input -", "raw samples from a pipe"),
      .init("holdfast record --arm --pre-roll 5000", "starts with space, 5 s before it was pressed"),
      .init("holdfast record --continue talk.opus", "goes on with a take whose recorder was killed"),
    ],
    exits: [
      (69, "no device, or it was lost for good: what was recorded is sealed"),
      (74, "the disk is full or fails: the take is sealed with what the disk holds"),
    ])

  static let inspect = CommandPage(
    operands: "FILE…", completes: audio,
    summary: "says what is in takes and other audio files",
    text: [
      "FILE is a take, an unfinished take (by its FILE.opus), any file that libsndfile reads, or - for standard input. One file is shown as a card, several as a table.",
      "For a sealed take whose checksum holds, figures are those measured while it was recorded; else they are measured on the decoded audio. Problems that cost audio are marked DAMAGE.",
    ],
    examples: [
      .init("holdfast inspect talk.opus", "a card: length, levels, waveform, what to do better"),
      .init("holdfast inspect *.wav", "a table, a line a file"),
      .init("holdfast inspect --json *.wav | jq .duration_ms", "one JSON object a file"),
      .init("curl -s https://example.org/a.opus | holdfast inspect -", "standard input"),
      .init("find . -name '*.opus' -print0 | holdfast inspect --files-from - --null --json", "a whole tree"),
    ],
    exits: [(65, "audio of a file is missing, damaged, or against its checksum")])

  static let recover = CommandPage(
    operands: "[FILE.opus | DIR]", completes: .files(["opus"]),
    summary: "seals takes whose recorder was killed",
    text: [
      "Without a name: all unfinished takes of the takes folder, $XDG_DATA_HOME/holdfast/takes. Nothing is deleted: what can't be read is set aside, and bytes that had to be cut off are in the trash.",
      "Another program's damaged Ogg Opus file, if named, is repaired into FILE.recovered.opus; it isn't touched itself.",
    ],
    examples: [
      .init("holdfast recover", "all unfinished takes of the takes folder"),
      .init("holdfast recover talk.opus", "one take"),
      .init("holdfast recover ~/talks --json", "all of a folder, an object a take"),
    ],
    exits: [
      (0, "all is saved, or nothing was to do"), (1, "some takes are saved, some aren't"),
      (65, "nothing could be saved"), (75, "the take is being recorded"),
    ])

  static let list = CommandPage(
    operands: "[DIR]", completes: .folders,
    summary: "lists takes and partial takes of a folder, or what is in its trash",
    text: [
      "Without DIR: the takes folder, $XDG_DATA_HOME/holdfast/takes.",
      "The trash is a folder beside the takes. What is in it is deleted when it is older than 7 days, by `list --trash` and at the end of the next recording in that folder; `holdfast list --trash --empty [DIR]` deletes it at once.",
    ],
    examples: [
      .init("holdfast list", "the takes folder"),
      .init(
        "holdfast list . --json | jq -r 'select(.outcome==\"unfinished\").path'", "what needs recovering"),
      .init("holdfast list --trash", "what `holdfast restore` can bring back"),
    ])

  static let play = CommandPage(
    operands: "FILE", completes: audio,
    summary: "plays a take, or a stretch of it",
    text: [
      "FILE is whatever inspect reads; of an unfinished take what is there so far. SIGUSR1 pauses and resumes; SIGINT, SIGTERM, SIGQUIT and SIGHUP stop."
    ],
    examples: [
      .init("holdfast play talk.opus", "through the default device"),
      .init("holdfast play talk.opus --from 01:02.500 --to 01:10", "a stretch of it"),
      .init("holdfast play talk.opus --output alsa:hw:1,0", "through another device"),
      .init("holdfast play talk.opus --output file:heard.wav", "what would be heard, into a file"),
    ],
    exits: [
      (0, "played, or stopped"), (65, "audio of it is lost: silence was played there"),
      (69, "no device, or it went"),
    ])

  static let export = CommandPage(
    operands: "FILE -o FILE", completes: audio,
    summary: "writes a take or a stretch of it to a WAV, FLAC or Opus file",
    text: [
      "FILE is whatever inspect reads, also an unfinished take or - for standard input; .opus is cut out of Ogg Opus only. The stretch is exact to the sample; the file appears once it is whole."
    ],
    examples: [
      .init("holdfast export talk.opus -o talk.wav", "all of it"),
      .init(
        "holdfast export talk.opus --from 01:02.500 --to 01:10 -o clip.opus", "a stretch, not encoded anew"),
      .init("holdfast export interview.flac --from 1:00:00 -o end.wav", "from one hour on"),
    ],
    exits: [
      (64, "usage, or a stretch that isn't in the file"), (65, "audio of the stretch is lost"),
      (73, "the file exists, or can't be made"),
    ])

  static let restore = CommandPage(
    operands: "NAME.opus", completes: .files(["opus"]),
    summary: "brings a discarded or replaced take back from the trash",
    text: [
      "NAME.opus is the take's path as it was, or an entry that `holdfast list --trash` shows; of several takes of that name the newest comes back. A bare name is looked for here, then in the takes folder.",
      "A discarded take comes back unfinished: `holdfast recover` seals it, `holdfast record --continue` goes on with it. A replaced one comes back sealed.",
    ],
    examples: [
      .init("holdfast restore talk.opus", "the newest of that name"),
      .init("holdfast restore ~/talks/talk.opus", "that of another folder"),
      .init("holdfast restore 20261130T172411.897Z-03f2a1", "an entry of the trash"),
    ],
    exits: [(0, "it is back"), (66, "the trash has no such take"), (73, "its name is taken")])

  static let verify = CommandPage(
    operands: "FILE…", completes: .files(["opus"]),
    summary: "checks takes: pages, checksum, decoded length, ledger, manifest",
    examples: [
      .init("holdfast verify talk.opus", "one take"),
      .init("holdfast verify takes/*.opus", "a folder's"),
      .init(
        "holdfast list --json | holdfast verify --files-from - --json", "whatever the takes folder holds"),
    ],
    exits: [(65, "a take is damaged, unfinished, or not as it was sealed")])

  static let devices = CommandPage(
    operands: "", completes: .nothing,
    summary: "lists the sound devices that can record",
    text: ["NAME is what --input alsa:NAME takes, and --output of play where it can play."],
    examples: [
      .init("holdfast devices", "what there is"),
      .init("holdfast devices --json | jq -r 'select(.default).id'", "the default device"),
    ])

  static let bench = CommandPage(
    operands: "[DIR]", completes: .folders,
    summary: "measures what this machine can do: encoder, deadlines, disk",
    text: [
      "Measured with the code that records: how much faster than real time it encodes; how late a device's reads come in 10 s at rest and in 10 s with a busy thread on every core; how long syncs take in DIR (default the takes folder); how long a stopped take needs to be sealed; memory. Each line says what is needed, what there is, and enough, tight or short.",
      "Takes about 30 s. What it writes lies in a folder of its own in DIR and is removed at the end. Where there is no microphone a source by the clock stands in, and the line says so.",
    ],
    examples: [
      .init("holdfast bench", "the default microphone and the takes folder"),
      .init("holdfast bench /media/card --input alsa:hw:1,0 --period-ms 40", "a certain disk and device"),
      .init("holdfast bench --complexity 5 --json", "a cheaper encoder; a machine's line, then one a figure"),
    ],
    exits: [
      (0, "measured, whatever the verdicts; or stopped by a signal"), (73, "nothing can be made in DIR"),
    ])

  static let help = CommandPage(
    operands: "[COMMAND | TOPIC]",
    completes: .words(CommandName.allCases.map(\.rawValue) + Topic.allCases.map(\.rawValue)),
    summary: "explains a command or a topic",
    text: [
      "Topics: " + Topic.allCases.map { "\($0.rawValue) (\($0.summary))" }.joined(separator: ", ") + "."
    ],
    examples: [
      .init("holdfast help record", "a command's options and examples"),
      .init("holdfast help config", "how to set options once and for all"),
      .init("holdfast help --completion bash > ~/.local/share/bash-completion/completions/holdfast", ""),
    ])
}

/// What `help` explains beside the commands.
enum Topic: String, CaseIterable, Sendable {
  case config
  case exitCodes = "exit-codes"

  var summary: String {
    switch self {
    case .config: "options in the environment and in a file"
    case .exitCodes: "what they mean"
    }
  }
}
