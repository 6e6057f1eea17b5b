import Capture
import Glibc
import Platform

/// Little-endian bytes for files that are wrong in one chosen way.
func u16(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8 & 255)] }
func u32(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
func u64(_ value: UInt64) -> [UInt8] { u32(UInt32(truncatingIfNeeded: value)) + u32(UInt32(value >> 32)) }

/// A chunk; `size` replaces the true size, `pad` the pad byte of an odd one (nil writes none).
func chunk(_ id: String, _ body: [UInt8], size: UInt32? = nil, pad: UInt8? = 0) -> [UInt8] {
  var bytes = Array(id.utf8) + u32(size ?? UInt32(body.count)) + body
  if body.count % 2 == 1, let pad { bytes.append(pad) }
  return bytes
}

func fmt(tag: Int = 1, channels: Int = 1, rate: UInt32 = 48_000, bits: Int = 16, block: Int? = nil) -> [UInt8]
{
  let block = block ?? channels * bits / 8
  return u16(tag) + u16(channels) + u32(rate) + u32(rate &* UInt32(block)) + u16(block) + u16(bits)
}

func riff(_ chunks: [UInt8]..., size: UInt32? = nil, id: String = "RIFF") -> [UInt8] {
  let body = Array("WAVE".utf8) + chunks.flatMap { $0 }
  return Array(id.utf8) + u32(size ?? UInt32(body.count)) + body
}

/// Samples that tell their place: frame i of a 16 bit mono file has the value i mod 30000 + 1, never 0.
func ramp(_ frames: Int) -> [UInt8] { (0..<frames).flatMap { u16($0 % 30_000 + 1) } }
func isRamp(_ samples: [Float]) -> Bool {
  samples.indices.allSatisfy { samples[$0] == Float($0 % 30_000 + 1) / 32_768 }
}

/// A folder of its own, removed at the end.
final class Folder {
  let path: Path
  init() {
    var template = Array("/tmp/capture-tests-XXXXXX".utf8CString)
    path = template.withUnsafeMutableBufferPointer { Path(String(cString: mkdtemp($0.baseAddress!))) }
  }
  deinit { _ = run("rm", "-rf", path.text) }

  func write(_ bytes: [UInt8], _ name: String = "file.wav") -> Path { write(bytes, Path(name)) }
  func write(_ bytes: [UInt8], _ name: Path) -> Path {
    let file = path.appending(name)
    let descriptor = file.withCString { open($0, O_CREAT | O_WRONLY | O_TRUNC, 0o600) }
    precondition(descriptor >= 0)
    defer { close(descriptor) }
    var done = 0
    while done < bytes.count {
      done += bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, bytes.count - done) }
    }
    return file
  }
  func bytes(_ path: Path) -> [UInt8] {
    let descriptor = path.withCString { open($0, O_RDONLY) }
    precondition(descriptor >= 0)
    defer { close(descriptor) }
    var all: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let got = read(descriptor, &part, part.count)
      if got <= 0 { return all }
      all += part[..<got]
    }
  }
  /// The path of a file that a tool writes.
  func made(_ name: String, by tool: String, _ arguments: String...) -> Path {
    let file = path.appending(name)
    precondition(run([tool] + arguments.map { $0 == "OUT" ? file.text : $0 }) == 0, "\(tool) failed")
    return file
  }
}

@discardableResult func run(_ words: String...) -> Int32 { run(words) }
/// Runs a tool, quiet, and waits.
@discardableResult func run(_ words: [String]) -> Int32 {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  for stream in 0...2 { posix_spawn_file_actions_addopen(&actions, Int32(stream), "/dev/null", O_RDWR, 0) }
  var arguments = words.map { strdup($0) } + [nil]
  defer { for argument in arguments { free(argument) } }
  var child: pid_t = 0
  guard posix_spawnp(&child, words[0], &actions, nil, &arguments, environ) == 0 else { return -1 }
  var status: Int32 = 0
  while waitpid(child, &status, 0) < 0, errno == EINTR {}
  return status >> 8 & 255
}

/// All that a source gives as floats, in reads of `block` frames, and the error that ended it.
func drain(_ source: any Source, block: Int = 4_096) -> (samples: [Float], error: SourceError?) {
  let channels = source.format.channels
  var buffer = [Float](repeating: 0, count: block * channels)
  var all: [Float] = []
  while true {
    var got = 0
    do throws(SourceError) {
      var span = buffer.mutableSpan
      var raw = span.mutableBytes
      got = try source.read(into: &raw)
    } catch { return (all, error) }
    if got == 0 { return (all, nil) }
    guard source.format.sample == .s16 else {
      all += buffer[..<(got * channels)]
      continue
    }
    buffer.withUnsafeBytes { bytes in
      for value in bytes.bindMemory(to: Int16.self)[..<(got * channels)] { all.append(Float(value) / 32_768) }
    }
  }
}

/// The bytes that a source gives.
func drainBytes(_ source: any Source, room: Int = 4_096) throws -> [UInt8] {
  var buffer = [UInt8](repeating: 0, count: room)
  var all: [UInt8] = []
  while true {
    var span = buffer.mutableSpan
    var raw = span.mutableBytes
    let got = try source.read(into: &raw)
    if got == 0 { return all }
    all += buffer[..<(got * source.format.bytesPerFrame)]
  }
}

/// A pipe that a thread fills with the given pieces, one write each, and then closes.
func pipe(of pieces: [[UInt8]]) -> Int32 {
  var ends: [Int32] = [0, 0]
  precondition(pipe(&ends) == 0)
  let output = ends[1]
  let work = Box(pieces)
  var thread = pthread_t()
  let context = Unmanaged.passRetained(work).toOpaque()
  work.descriptor = output
  pthread_create(
    &thread, nil,
    { context in
      let work = Unmanaged<Box>.fromOpaque(context!).takeRetainedValue()
      for piece in work.pieces {
        var done = 0
        while done < piece.count {
          let put = piece.withUnsafeBytes {
            write(work.descriptor, $0.baseAddress! + done, piece.count - done)
          }
          if put <= 0 { break }
          done += put
        }
        sched_yield()
      }
      close(work.descriptor)
      return nil
    }, context)
  pthread_detach(thread)
  return ends[0]
}
final class Box {
  let pieces: [[UInt8]]
  var descriptor: Int32 = -1
  init(_ pieces: [[UInt8]]) { self.pieces = pieces }
}

/// Opens and reads a file to its end.
func readAll(_ path: Path, block: Int = 4_096) throws -> (
  source: FileSource, samples: [Float], error: SourceError?
) {
  let source = try FileSource(path)
  let (samples, error) = drain(source, block: block)
  return (source, samples, error)
}

extension [SourceProblem] {
  var kinds: [String] { map(\.kind) }
}
