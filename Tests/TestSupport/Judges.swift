import Foundation

/// Other people's programs, asked what they make of a file. Each throws where its program can't be started or fails.
public enum Judge {
  /// Warnings and errors that opusinfo prints; none for a file without fault.
  public static func opusinfoComplaints(_ path: String) throws -> [String] {
    let said = try run("opusinfo", [path], timeout: 300)
    let lines = (said.outText + said.errText).split(separator: "\n").map(String.init)
    let complaints = lines.filter { $0.localizedCaseInsensitiveContains("warning") || $0.contains("ERROR") }
    return said.code == 0 || !complaints.isEmpty ? complaints : ["opusinfo: \(said)"]
  }

  /// What opusdec decodes, at 48 kHz: float samples, interleaved as the file has them.
  public static func opusdecSamples(_ path: String) throws -> [Float] {
    unpack(try decode("opusdec", ["--quiet", "--rate", "48000", "--float", path, "-"]), .f32)
  }
  /// How many frames of 48 kHz opusdec decodes.
  public static func opusdecFrames(_ path: String, channels: Int = 1) throws -> Int {
    try decode("opusdec", ["--quiet", "--rate", "48000", path, "-"]).count / (2 * channels)
  }

  /// How many frames ffmpeg decodes, at the file's own rate.
  public static func ffmpegFrames(_ path: String) throws -> Int {
    try decode("ffmpeg", ["-v", "error", "-i", path, "-ac", "1", "-f", "s16le", "-"]).count / 2
  }
  /// What ffmpeg decodes, mixed down to one channel unless `channels` says otherwise.
  public static func ffmpegSamples(_ path: String, channels: Int = 1) throws -> [Float] {
    unpack(try decode("ffmpeg", ["-v", "error", "-i", path, "-ac", "\(channels)", "-f", "f32le", "-"]), .f32)
  }

  /// What libopusfile states (op_pcm_total) and decodes, through Tests/tools/probe_opus.c; nil if it refuses the file.
  public static func opusfile(_ path: String) throws -> (stated: Int, decoded: Int, links: Int, holes: Int)? {
    let flags = try run("pkg-config", ["--cflags", "--libs", "opusfile"]).outText.split(
      whereSeparator: \.isWhitespace)
    let said = try run(Tool.program("probe_opus", flags.map(String.init)), [path], timeout: 300)
    guard said.code == 0 else { return nil }
    var values: [String: Int] = [:]
    for word in said.outText.split(whereSeparator: \.isWhitespace) {
      let pair = word.split(separator: "=")
      if pair.count == 2, let value = Int(pair[1]) { values[String(pair[0])] = value }
    }
    guard let stated = values["total"], let decoded = values["decoded"], let links = values["links"],
      let holes = values["holes"]
    else { throw Failure("probe_opus: \(said)") }
    return (stated, decoded, links, holes)
  }

  /// Fields of ffprobe, e.g. `ffprobe(path, "stream=codec_name,channels:format=format_name")`.
  public static func ffprobe(_ path: String, _ entries: String) throws -> [String: String] {
    let said = try run("ffprobe", ["-v", "error", "-show_entries", entries, "-of", "default=nw=1", path])
    guard said.code == 0 else { throw Failure("ffprobe: \(said)") }
    var fields: [String: String] = [:]
    for line in said.outLines {
      let pair = line.split(separator: "=", maxSplits: 1)
      if pair.count == 2 { fields[String(pair[0])] = String(pair[1]) }
    }
    return fields
  }

  /// SHA-256 in hex, by coreutils.
  public static func sha256(_ path: String) throws -> String {
    let said = try run("sha256sum", ["--", path], timeout: 300)
    guard said.code == 0 else { throw Failure("sha256sum: \(said)") }
    return String(said.outText.drop { $0 == "\\" }.prefix(64))
  }

  /// Validates a JSON text against a schema file with python3-jsonschema; the faults, one a line, none if it holds.
  public static func schemaFaults(_ json: String, schema: String) throws -> [String] {
    let program = """
      import json, sys, jsonschema
      schema = json.load(open(sys.argv[1]))
      for line in sys.stdin:
          for e in jsonschema.Draft7Validator(schema).iter_errors(json.loads(line)): print(e.json_path, e.message)
      """
    let said = try run("/usr/bin/python3", ["-c", program, schema], input: .bytes(Data(json.utf8)))
    guard said.code == 0 else { throw Failure("jsonschema: \(said)") }
    return said.outLines
  }

  private static func decode(_ program: String, _ arguments: [String]) throws -> Data {
    let said = try run(program, arguments, timeout: 600)
    guard said.code == 0 else { throw Failure("\(program): exit \(said.code): \(said.errText)") }
    return said.out
  }
}
