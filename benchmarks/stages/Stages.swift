import Capture
import Encoding
import Glibc
import Holdfast
import Platform
import Session
import Signal

/// What each part of the pipeline costs alone, in CPU nanoseconds a 48 kHz frame: the parts take turns, a round after the other,
/// and the medians are told.
///
///     HoldfastBenchmarks stages|length|pauses|recorders TALK.wav [N…]
///
/// `TALK.wav` is 16 bit mono at 48 kHz. Prints one JSON object a line.
@main struct Benchmarks {
  static func main() throws {
    let words = CommandLine.arguments
    guard words.count >= 3 else {
      print("usage: HoldfastBenchmarks stages|length|pauses|recorders TALK.wav [N…]")
      exit(64)
    }
    let talk = try Talk(words[2])
    let numbers = words.dropFirst(3).compactMap { Int($0) }
    switch words[1] {
    case "stages": try stages(talk, rounds: numbers.first ?? 9)
    case "length": try lengths(talk, hours: numbers.first ?? 8)
    case "pauses": try pauses(talk, counts: numbers.isEmpty ? [0, 100, 1_000, 10_000] : numbers)
    case "recorders":
      for count in numbers.isEmpty ? [1, 4, 16, 64] : numbers {
        try recorders(talk, count: count, seconds: 10)
      }
    default:
      print("no such benchmark: \(words[1])")
      exit(64)
    }
  }

  /// CPU nanoseconds of the calling thread.
  static func cpu() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
  static func processCpu() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
  static func resident() -> Int64 {
    guard let file = fopen("/proc/self/statm", "re") else { return 0 }
    defer { fclose(file) }
    var (size, pages) = (Int(0), Int(0))
    _ = withUnsafeMutablePointer(to: &size) { a in
      withUnsafeMutablePointer(to: &pages) { b in withVaList([a, b]) { vfscanf(file, "%ld %ld", $0) } }
    }
    return Int64(pages * 4_096)
  }
  static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
  static func tell(_ fields: [(String, JSON)]) {
    print(JSON.object(fields).line)
    fflush(nil)
  }
}

/// Speech, as it comes from a device and as the stages meet it.
struct Talk {
  let path: Path
  var samples: [Int16] = []
  var frames: [Float] = []
  var packets: [[UInt8]] = []

  init(_ name: String) throws {
    path = Path(name)
    let source = FileSource(try AudioFile(try ByteFile.open(path)))
    precondition(source.format.rate == takeRate && source.format.channels == 1, "48 kHz mono")
    var block = [UInt8](repeating: 0, count: 48_000 * source.format.bytesPerFrame)
    let conformer = try Conformer(
      format: source.format, choice: .channel(1), quality: .medium, fullScale: source.fullScale)
    while true {
      var bytes = block.mutableSpan
      var raw = bytes.mutableBytes
      let n = try source.read(into: &raw)
      if n == 0 { break }
      conformer.push(bytes.bytes, count: n) { span, count in
        for i in 0..<count { frames.append(span[i]) }
      }
    }
    samples = frames.map(sixteenBits)
    frames.removeLast(frames.count % packetFrames)
    packets = try Self.encode(frames)
  }
  static func encode(_ frames: [Float]) throws -> [[UInt8]] {
    let encoder = try OpusEncoder(EncoderSettings())
    var packet = [UInt8](repeating: 0, count: OpusEncoder.largestPacket)
    var packets: [[UInt8]] = []
    for at in stride(from: 0, to: frames.count, by: packetFrames) {
      var room = packet.mutableSpan
      let size = try encoder.encode(frames.span.extracting(at..<(at + packetFrames)), into: &room)
      packets.append(Array(packet[0..<size]))
    }
    return packets
  }
}

extension Benchmarks {
  /// Each stage over the whole talk, in turns.
  static func stages(_ talk: Talk, rounds: Int) throws {
    let count = talk.frames.count
    let (other, otherFormat) = (talk.samples, SourceFormat(sample: .s16, rate: 44_100, channels: 1))
    let encoder = try OpusEncoder(EncoderSettings())
    var packet = [UInt8](repeating: 0, count: OpusEncoder.largestPacket)
    var sink: Int64 = 0
    var page: [[UInt8]] = []
    let made: [(String, () throws -> Int)] = [
      (
        "conform 48 kHz",
        {
          let conformer = try Conformer(
            format: SourceFormat(sample: .s16, rate: 48_000, channels: 1), choice: .channel(1),
            quality: .medium,
            fullScale: 1)
          talk.samples.withUnsafeBytes { bytes in
            for at in stride(from: 0, to: count, by: 480) {
              conformer.push(
                RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[(at * 2)..<((at + 480) * 2)])),
                count: 480
              ) {
                sink &+= Int64($1)
              }
            }
          }
          return count
        }
      ),
      (
        "conform 44.1 kHz",
        {
          let conformer = try Conformer(
            format: otherFormat, choice: .channel(1), quality: .medium, fullScale: 1)
          other.withUnsafeBytes { bytes in
            for at in stride(from: 0, to: count, by: 480) {
              conformer.push(
                RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[(at * 2)..<((at + 480) * 2)])),
                count: 480
              ) {
                sink &+= Int64($1)
              }
            }
          }
          return count * 48_000 / 44_100
        }
      ),
      (
        "clock",
        {
          var clock = TakeClock(maxFrames: nil)
          var copy = talk.frames
          for at in stride(from: 0, to: count, by: 480) {
            var part = Array(copy[at..<(at + 480)])
            var span = part.mutableSpan
            clock.pass(&span, count: 480) {
              sink &+= Int64($0.count)
            } transition: { _ in
            }
          }
          copy.removeAll()
          return count
        }
      ),
      (
        "meter and bars",
        {
          var meter = Meter()
          var bars = LiveBars()
          for at in stride(from: 0, to: count, by: 480) {
            meter.push(talk.frames.span.extracting(at..<(at + 480))) { bars.push($0.bar) }
          }
          return count
        }
      ),
      (
        "no signal",
        {
          var detector = NoSignalDetector(rate: takeRate)
          for at in stride(from: 0, to: count, by: 480) {
            detector.push(talk.frames.span.extracting(at..<(at + 480)))
          }
          return count
        }
      ),
      (
        "speech",
        {
          var detector = SpeechDetector()
          for at in stride(from: 0, to: count, by: 480) {
            detector.push(talk.frames.span.extracting(at..<(at + 480)))
          }
          return count
        }
      ),
      (
        "encode",
        {
          for at in stride(from: 0, to: count, by: packetFrames) {
            var room = packet.mutableSpan
            sink &+= Int64(
              try encoder.encode(talk.frames.span.extracting(at..<(at + packetFrames)), into: &room))
          }
          return count
        }
      ),
      (
        "pages",
        {
          let writer = OggOpusWriter(serial: 1, preSkip: 312)
          page = []
          for packet in talk.packets { if let full = writer.add(packet.span) { page.append(full) } }
          return count
        }
      ),
      (
        "digest",
        {
          let digest = Digest()
          for bytes in page { digest?.update(bytes.span) }
          return count
        }
      ),
      (
        "tails",
        {
          var bytes: [UInt8] = []
          for (i, packet) in talk.packets.enumerated() {
            Tail.append(packet: packet[...], index: Int64(i), to: &bytes)
            if i % 50 == 49 { bytes.removeAll(keepingCapacity: true) }
          }
          return count
        }
      ),
      (
        "ledger",
        {
          for second in 0..<(count / takeRate) {
            var summary = LevelSummary()
            summary.frames = Int64(second * takeRate)
            summary.bins = [Float](repeating: 0.1, count: 300)
            sink &+= Int64(
              Ledger.encode(
                LedgerRecord(
                  captureFrame: summary.frames, effectiveFrame: summary.frames, event: .levels(summary))
              ).count)
          }
          return count
        }
      ),
    ]
    var costs = [[Double]](repeating: [], count: made.count)
    for _ in 0..<rounds {
      for (i, stage) in made.enumerated() {
        let before = cpu()
        let frames = try stage.1()
        costs[i].append(Double(cpu() - before) / Double(frames))
      }
    }
    let encode = median(costs[made.firstIndex { $0.0 == "encode" } ?? 0])
    for (i, stage) in made.enumerated() {
      tell([
        ("benchmark", .string("stage")), ("stage", .string(stage.0)),
        ("ns_per_frame", .double((median(costs[i]) * 1_000).rounded() / 1_000)),
        ("share_of_encode", .double((median(costs[i]) / encode * 10_000).rounded() / 10_000)),
      ])
    }
    try recovery(talk)
    precondition(sink != 0)
  }

  /// Recovering a killed take, of a minute and of ten.
  private static func recovery(_ talk: Talk) throws {
    for minutes in [1, 10] {
      var costs: [Double] = []
      for _ in 0..<5 {
        try inFolder { folder in
          var settings = RecordingSettings(input: .file(talk.path))
          settings.output = folder.appending("r.opus")
          settings.encoder.complexity = 0
          let recorder = Recorder(settings: settings)
          let source = Repeated(talk, frames: .max)
          nonisolated(unsafe) let given: any Source = source
          try recorder.start(source: given)
          while recorder.effectiveMs < minutes * 60_000, recorder.state == .recording { usleep(1_000) }
          recorder.leave()
          recorder.wait()
          let before = cpu()
          let taken = try Recovery.recover(settings.output ?? folder)
          guard case .recovered(let take)? = taken.first else { preconditionFailure("\(taken)") }
          costs.append(Double(cpu() - before) / Double(take.take.effectiveFrames))
        }
      }
      tell([
        ("benchmark", .string("stage")), ("stage", .string("recovery of \(minutes) min")),
        ("ns_per_frame", .double((median(costs) * 1_000).rounded() / 1_000)),
      ])
    }
  }

  static func inFolder(_ body: (Path) throws -> Void) throws {
    var name = Array("/tmp/holdfast-benchmark-XXXXXX".utf8CString)
    guard let made = name.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } }) else {
      return
    }
    let folder = Path(String(cString: made))
    defer {
      _ = try? TakeStore(folder: folder).wipeAll()
      folder.withCString { _ = rmdir($0) }
    }
    try body(folder)
  }
}

/// The talk again and again.
final class Repeated: Source {
  let format = SourceFormat(sample: .s16, rate: takeRate, channels: 1)
  var statedFrames: Int64? { nil }
  var problems: [SourceProblem] { [] }
  private let samples: [Int16]
  private var at = 0
  private var left: Int64
  /// Where there is one, nothing comes until it is posted.
  private var gate: CountingSemaphore?

  init(_ talk: Talk, frames: Int64, gate: CountingSemaphore? = nil) {
    (samples, left, self.gate) = (talk.samples, frames, gate)
  }

  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    gate?.wait()
    gate = nil
    let count = min(Int(min(left, 1 << 20)), buffer.byteCount / 2, samples.count - at)
    for i in 0..<count { buffer.storeBytes(of: samples[at + i], toByteOffset: i * 2, as: Int16.self) }
    at = (at + count) % samples.count
    left -= Int64(count)
    return count
  }
}
