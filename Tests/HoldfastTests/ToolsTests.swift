import Foundation
import TestSupport
import Testing

@Suite struct RunTests {
  @Test func `a process' output, exit code and error output are told apart`() throws {
    let said = try run("sh", ["-c", "echo out; echo err >&2; exit 7"])
    #expect(said.outText == "out\n" && said.errText == "err\n" && said.exit == 7 && said.signal == nil)
    #expect(try run("sh", ["-c", "kill -9 $$"]).signal == SIGKILL)
    #expect(throws: Failure.self) { try run("/nonexistent/program") }
  }

  @Test func `input comes from bytes, a file, an open pipe or nowhere`() throws {
    let folder = try TempFolder()
    let file = try folder.write("in", "from a file")
    #expect(try run("cat", input: .file(file)).outText == "from a file")
    let many = Data(repeating: 65, count: 300_000)  // more than a pipe holds
    #expect(try run("cat", input: .bytes(many)).out == many)
    #expect(try run("true", input: .bytes(many)).code == 0)
    #expect(try run("sh", ["-c", "test -e /proc/self/fd/0 && exit 1; exit 3"], input: .closed).code == 3)
    let cat = try Running("cat", input: .pipe)
    #expect(cat.send("hello"))
    #expect(cat.waitFor("hello"))
    cat.closeInput()
    #expect(cat.wait(timeout: 5).code == 0)
  }

  @Test func `a process that hangs is killed with its children`() throws {
    let said = try run("sh", ["-c", "sleep 600 & sleep 600"], timeout: 0.3)
    #expect(said.timedOut && said.signal == SIGKILL && said.wallSeconds < 5)
  }

  @Test func `environment, folder, signals and descriptors are clean`() throws {
    let folder = try TempFolder()
    let said = try run(
      "sh", ["-c", "echo $A; echo ${HOME-none}; pwd"], environment: ["A": "b", "HOME": nil],
      folder: folder.path)
    #expect(said.outLines == ["b", "none", folder.path])
    let state = try run("sh", ["-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd"])
    let signals = state.outLines.filter { $0.hasPrefix("Sig") }
    // Signals 32 and 33 are glibc's own: posix_spawn always ignores them.
    #expect(signals == ["SigBlk:\t0000000000000000", "SigIgn:\t0000000180000000"])
    #expect(state.outLines.filter { Int($0) != nil } == ["0", "1", "2", "3"])  // 3: ls reading the folder
  }

  @Test func `memory and processor time are measured`() throws {
    let big = try run(
      "/usr/bin/python3", ["-c", "x = bytearray(300_000_000)\nfor _ in range(6_000_000): pass"])
    #expect(big.peakMemory > 290_000_000 && big.peakMemory < 400_000_000)
    #expect(big.cpuSeconds > 0.05)
    let small = try run("sleep", ["0.1"])
    #expect(small.peakMemory > 100_000 && small.peakMemory < 10_000_000)
  }

  @Test func `a terminal is one, with a size, and ctrl-C reaches the process`() throws {
    let shell = try Running(
      "sh",
      [
        "-c",
        "test -t 0 && test -t 1 && stty size; trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done",
      ], terminal: true)
    #expect(shell.waitFor("ready"))
    shell.send("\u{3}")
    let said = shell.wait(timeout: 5)
    #expect(said.exit == 5)
    #expect(said.outText.contains("24 80") && said.outText.contains("caught"))
  }

  @Test func `the command lies beside the tests`() {
    #expect(FileManager.default.isExecutableFile(atPath: Places.holdfast))
    #expect(FileManager.default.fileExists(atPath: Places.root + "/Package.swift"))
  }
}

@Suite struct SignalTests {
  @Test(arguments: SampleFormat.allCases) func `a WAV file is read as it was written`(format: SampleFormat)
    throws
  {
    let folder = try TempFolder()
    let tone = Tone.sine(2401, db: -6)
    try Wav(tone, rate: 44_100).write(to: folder.file("a.wav"), format)
    let back = try Wav(reading: folder.file("a.wav"))
    #expect(back.frames == 2401 && back.rate == 44_100 && back.channels == 1)
    let error = zip(tone, back.samples).map { abs($0 - $1) }.max() ?? 1
    #expect(error <= (format == .u8 ? 1 / 256.0 : format == .s16 ? 1 / 65_536.0 : 1e-6))
    let probed = try Judge.ffprobe(folder.file("a.wav"), "stream=sample_rate,channels,codec_name")
    #expect(probed["sample_rate"] == "44100" && probed["channels"] == "1")
    #expect(try Judge.ffmpegFrames(folder.file("a.wav")) == 2401)
  }

  @Test func `levels are those of the formulas`() {
    let tone = Tone.sine(48_000, hz: 1000, db: 0)
    #expect(abs(rmsDb(tone) + 3.0103) < 0.001 && abs(peakDb(tone)) < 0.001 && abs(mean(tone)) < 1e-6)
    #expect(abs(rmsDb(Tone.square(4800, db: -6)) + 6) < 0.001)
    #expect(abs(rmsDb(Tone.white(4800, rmsDb: -20)) + 20) < 0.001)
    #expect(rmsDb(Tone.silence(10)) == -160 && rmsDb([Float]()) == -160 && peakDb(Tone.silence(10)) == -160)
    #expect(abs(frequency(Tone.sine(48_000, hz: 440, db: -3)) - 440) < 0.01)
    #expect(abs(toneDb(Tone.sine(48_000, hz: 440, db: -12), hz: 440) + 12) < 0.01)
    #expect(toneDb(Tone.sine(48_000, hz: 440, db: -12), hz: 880) < -90)
  }
}

@Suite struct JudgeTests {
  /// An Opus file by opusenc, of so many frames of 48 kHz.
  private func opus(_ frames: Int, in folder: TempFolder) throws -> String {
    try Wav(Tone.sine(frames, hz: 440, db: -12)).write(to: folder.file("a.wav"))
    let made = try run("opusenc", ["--quiet", folder.file("a.wav"), folder.file("a.opus")])
    try #require(made.code == 0, "\(made)")
    return folder.file("a.opus")
  }

  @Test(arguments: [1, 959, 48_000, 100_001]) func `decoders agree on a file's frames`(frames: Int) throws {
    let folder = try TempFolder()
    let file = try opus(frames, in: folder)
    #expect(try Judge.opusdecFrames(file) == frames)
    #expect(try Judge.opusdecSamples(file).count == frames)
    #expect(try Judge.ffmpegFrames(file) == frames)
    let opusfile = try #require(try Judge.opusfile(file))
    #expect(
      opusfile.stated == frames && opusfile.decoded == frames && opusfile.links == 1 && opusfile.holes == 0)
    #expect(try Judge.opusinfoComplaints(file).isEmpty)
  }

  @Test func `a faulty file is complained of`() throws {
    let folder = try Cases.folder("E")
    #expect(try Judge.opusinfoComplaints(folder + "/E01/good.opus").isEmpty)
    #expect(try !Judge.opusinfoComplaints(folder + "/E01/no_eos.opus").isEmpty)
    #expect(try !Judge.opusinfoComplaints(folder + "/E03/flip_byte.opus").isEmpty)
    #expect(try Judge.opusfile(folder + "/E07/head_ch0.opus") == nil)
    #expect(try Judge.opusfile(folder + "/E03/flip_byte.opus")?.holes == 1)
    #expect(try Cases.truth("E")["E01/good.opus"]?["frames48"] as? Int == 240_000)
  }

  @Test func `SHA-256 and schemas`() throws {
    let folder = try TempFolder()
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(try Judge.sha256(folder.write("a\nb", "")) == empty)
    let schema = try folder.write(
      "s.json", #"{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}"#)
    #expect(try Judge.schemaFaults(#"{"a":1}"#, schema: schema).isEmpty)
    #expect(try Judge.schemaFaults("{\"a\":1}\n{\"a\":\"x\"}\n{}", schema: schema).count == 2)
  }
}

@Suite struct TestaudioTests {
  private struct Truth: Decodable {
    struct Levels: Decodable { let rmsDb, peakDb, dc: Double }
    struct File: Decodable {
      let frames, rate, channels, bytes: Int
      let format, sha256: String
      let channelLevels: [Levels]
      let speechFrames: [[Int]]?
    }
    let madeWith: String
    let files: [String: File]
  }
  private func truth() throws -> Truth {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(
      Truth.self, from: Data(contentsOf: URL(fileURLWithPath: Places.testaudio("TRUTH.json"))))
  }

  @Test func `the script makes the same bytes again`() throws {
    let folder = try TempFolder()
    let made = try run("python3", [Places.testaudio("make.py"), folder.path], timeout: 120)
    try #require(made.code == 0, "\(made)")
    let version = try run("espeak-ng", ["--version"]).outText
    let spoken = version.hasPrefix(try truth().madeWith)  // another espeak-ng says the same words otherwise
    let names = folder.names.filter {
      spoken || !["talk", "dialogue", "rede", "speech", "TRUTH"].contains(where: $0.hasPrefix)
    }
    #expect(names.count >= 9)
    for name in names {
      let again = FileManager.default.contents(atPath: folder.file(name))
      #expect(again == FileManager.default.contents(atPath: Places.testaudio(name)), "\(name)")
    }
  }

  @Test func `what TRUTH.json says is true`() throws {
    for (name, said) in try truth().files {
      let path = Places.testaudio(name)
      let wav = try Wav(reading: path)
      #expect(wav.frames == said.frames && wav.rate == said.rate && wav.channels == said.channels, "\(name)")
      #expect(try Judge.sha256(path) == said.sha256, "\(name)")
      #expect(try Judge.ffmpegFrames(path) == said.frames, "\(name)")
      for (index, levels) in said.channelLevels.enumerated() {
        let samples = wav.channel(index).map { $0.isFinite ? $0 : 0 }
        #expect(abs(rmsDb(samples) - levels.rmsDb) < 0.001, "\(name)")
        #expect(abs(peakDb(samples) - levels.peakDb) < 0.001, "\(name)")
        #expect(abs(mean(samples) - levels.dc) < 1e-6, "\(name)")
      }
    }
    let talk = try Wav(reading: Places.testaudio("talk.wav")).samples
    let speech = try #require(try truth().files["talk.wav"]?.speechFrames)
    for (before, after) in zip(speech, speech.dropFirst()) {
      #expect(talk[before[1]..<after[0]].allSatisfy { $0 == 0 })
      #expect(rmsDb(talk[before[0]..<before[1]]) > -21)
    }
  }
}

@Suite struct FaultDiskTests {
  /// Runs the self-test program in a fresh folder with these faults: what each call came to, and the log.
  private func selftest(_ rules: String, _ folder: TempFolder) throws -> (
    said: Finished, steps: [FaultDisk.Step]
  ) {
    let work = folder.file("work")
    try? FileManager.default.removeItem(atPath: work)
    try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
    let fault = try FaultDisk(rules, under: work, log: folder.file("log"))
    let said = try run(
      Tool.program("faultdisk_selftest"), [work], environment: fault.environment, timeout: 20)
    return (said, fault.steps())
  }

  @Test func `without rules nothing changes and every call is listed`() throws {
    let folder = try TempFolder()
    let plain = folder.file("work")
    try FileManager.default.createDirectory(atPath: plain, withIntermediateDirectories: false)
    let untouched = try run(Tool.program("faultdisk_selftest"), [plain])
    let (said, steps) = try selftest("", folder)
    #expect(said.code == 0 && said.outText == untouched.outText)
    #expect(said.outLines.allSatisfy { !$0.contains(" E") })
    #expect(steps.map(\.number) == Array(1...36))
    let operations: Set = [
      "open", "openat", "mkdir", "mkdirat", "write", "pwrite", "writev", "fdatasync", "fsync", "syncfs",
      "rename",
      "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "link", "linkat", "ftruncate", "fallocate",
      "posix_fallocate", "close", "statvfs", "fstatvfs", "statfs", "fstatfs", "flock", "fchmod",
    ]
    #expect(Set(steps.map(\.operation)) == operations)
    #expect(steps.first { $0.operation == "pwrite" }?.path == folder.file("work/part/a"))
    #expect(
      steps.first { $0.operation == "renameat2" }?.path.hasSuffix("/work/part/a -> \(folder.file("work/a"))")
        == true)
  }

  @Test func `each call can be failed and each can be the last`() throws {
    let folder = try TempFolder()
    let calls = try selftest("", folder).steps.count
    for n in 1...calls {
      let failed = try selftest("any@\(n)=EDQUOT", folder)
      #expect(failed.said.code == 0, "\(n)")
      #expect(failed.steps[n - 1].result == "EDQUOT" && failed.steps[n - 1].injected == "EDQUOT", "\(n)")
      #expect(failed.steps.filter { $0.injected != nil }.count == 1, "\(n)")
      let killed = try selftest("any@\(n)=KILL", folder)
      #expect(
        killed.said.signal == SIGKILL && killed.steps.count == n && killed.steps.last?.result == "killed",
        "\(n)")
    }
  }

  @Test(arguments: [
    ("write@2=ENOSPC", ["write#2 ENOSPC"]), ("store@2x2=5", ["write#2 EIO", "pwrite#1 EIO"]),
    ("fsync@1x0=EIO", ["fsync#1 EIO", "fsync#2 EIO"]), ("close@1/2=EIO", ["close#1 EIO", "close#3 EIO"]),
    ("posix_fallocate@1=ENOSPC", ["posix_fallocate#1 ENOSPC"]), ("fsync[part/]@1=EIO", ["fsync#1 EIO"]),
    ("fsync[part/]@2=EIO", []), ("write@1=SHORT:3;writev@1=SHORT:5", ["write#1 3", "writev#1 5"]),
  ]) func `a rule meets just the calls it names`(rules: String, expected: [String]) throws {
    let (said, steps) = try selftest(rules, try TempFolder())
    #expect(said.code == 0)
    #expect(steps.filter { $0.injected != nil }.map { "\($0.operation)#\($0.nth) \($0.result)" } == expected)
  }

  @Test func `the caller sees the error, the short count and the delay`() throws {
    let folder = try TempFolder()
    #expect(try selftest("renameat2@1=EEXIST", folder).said.outText.contains("RENAME_NOREPLACE) EEXIST"))
    #expect(
      try selftest("posix_fallocate@1=ENOSPC", folder).said.outText.contains(
        "posix_fallocate(b, 0, 100) \(ENOSPC)\n"))
    let short = try selftest("write@2=SHORT:3", folder).said
    #expect(short.outText.contains("10) 3\n") && short.outText.contains("SEEK_END) 23\n"))
    #expect(try selftest("fdatasync@1=DELAY:300", folder).said.wallSeconds > 0.3)
    let after = try selftest("renameat2@1=KILLAFTER", folder)
    #expect(after.said.signal == SIGKILL && folder.names.contains("work/a"))
    let wrong = try selftest("nosuch@1=EIO", folder).said
    #expect(wrong.exit == 97 && wrong.errText.contains("unknown operation"))
  }

  @Test func `calls elsewhere are left alone`() throws {
    let folder = try TempFolder()
    let fault = try FaultDisk("any@1x0=EIO", under: folder.file("wor"), log: folder.file("log"))
    let work = folder.file("work")
    try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
    let said = try run(Tool.program("faultdisk_selftest"), [work], environment: fault.environment)
    #expect(said.code == 0 && fault.steps().isEmpty && !said.outText.contains("EIO"))
  }
}
