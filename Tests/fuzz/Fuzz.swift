import Capture
import Encoding
import Glibc
import Holdfast
import Platform
import Session
import Store

/// What libFuzzer calls with every input. `HOLDFAST_FUZZ` names the reader that gets it.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let bytes = unsafe data.map { unsafe Array(UnsafeBufferPointer(start: $0, count: size)) } ?? []
  switch target {
  case "ledger": ledger(bytes)
  case "tail": tail(bytes)
  case "ogg": ogg(bytes)
  case "header": header(bytes)
  case "manifest": manifest(bytes)
  case "wav": wav(bytes)
  case "arguments": arguments(bytes)
  case "configuration": configuration(bytes)
  case "recovery": recovery(bytes)
  default:
    fatalError(
      "HOLDFAST_FUZZ: ledger, tail, ogg, header, manifest, wav, arguments, configuration or recovery")
  }
  return 0
}
private let target = unsafe getenv("HOLDFAST_FUZZ").map { unsafe String(cString: $0) } ?? ""

/// What is read is written again and read as the same; its story has no impossible figure.
private func ledger(_ bytes: [UInt8]) {
  let contents = LedgerContents(bytes)
  let story = TakeStory(contents.records, clampedTo: 960_000)
  precondition(story.pauses.allSatisfy { (0...960_000).contains($0.frame) })
  precondition(story.marks.allSatisfy { (0...960_000).contains($0.frame) })
  _ = (story.edges, story.speechPauses, TakeStory(contents.records).gapFrames)
  let again = LedgerContents(TakeStory.embedded(contents.records))
  precondition(contents.records.isEmpty || again.fault == nil, "an embedded ledger can't be read")
}

private func tail(_ bytes: [UInt8]) {
  let contents = TailContents(bytes)
  precondition(contents.tornBytes <= bytes.count)
  precondition(contents.packets.reduce(0) { $0 + $1.bytes.count } <= bytes.count)
  precondition(zip(contents.packets, contents.packets.dropFirst()).allSatisfy { $0.index < $1.index })
}

/// Every byte is in a page or in a stretch that was passed over; and it is decoded.
private func ogg(_ bytes: [UInt8]) {
  func read(_ offset: Int64, _ target: inout MutableRawSpan) -> Int {
    let n = max(0, min(target.byteCount, bytes.count - Int(offset)))
    for i in 0..<n { target.storeBytes(of: bytes[Int(offset) + i], toByteOffset: i, as: UInt8.self) }
    return n
  }
  var pages = OggPageReader { (offset, target) in read(offset, &target) }
  var at: Int64 = 0
  while let item = try? pages.next() {
    switch item {
    case .page(let page):
      precondition(page.offset == at, "a hole between pages")
      at += Int64(page.size)
    case .skipped(let skip):
      precondition(skip.offset == at, "a hole between pages")
      at = skip.end
    }
  }
  precondition(at == Int64(bytes.count), "bytes are left over")
  guard var decoder = try? OpusStreamDecoder(read: { (offset, target) in read(offset, &target) }) else {
    return
  }
  var block = [Float](repeating: 0, count: 8 * 5_760)
  var left = 400
  while left > 0 {
    var span = block.mutableSpan
    guard let n = try? decoder.read(into: &span), n > 0 else { break }
    left -= 1
  }
}

private func header(_ bytes: [UInt8]) {
  _ = try? OpusHead(parsing: bytes.span)
  _ = try? OpusTags(parsing: bytes.span)
}

private func manifest(_ bytes: [UInt8]) {
  guard let manifest = try? Manifest(bytes) else { return }
  let again = try? Manifest(Array(manifest.text.utf8))
  precondition(again?.sha256 == manifest.sha256, "a manifest that was read and written can't be read")
}

private func wav(_ bytes: [UInt8]) {
  let path = write(bytes, "input")
  defer { unlink(folder + "/input") }
  guard let file = try? AudioFile(path) else { return }
  precondition(file.facts.channels >= 1 && file.facts.rate >= 1)
  let source = FileSource(file)
  var block = [UInt8](repeating: 0, count: max(1 << 16, source.format.bytesPerFrame))
  var left = 64
  while left > 0 {
    var span = block.mutableSpan
    var raw = unsafe span.mutableBytes
    guard let n = try? source.read(into: &raw), n > 0 else { break }
    precondition(n * source.format.bytesPerFrame <= block.count)
    left -= 1
  }
  _ = source.problems
}

/// Words are lines.
private func arguments(_ bytes: [UInt8]) {
  let words = bytes.split(separator: 10, omittingEmptySubsequences: false).map { Path(bytes: Array($0)) }
  read(words) { () throws(UsageError) in try Configuration([], of: Path("config")) }
}
/// A configuration file under each command.
private func configuration(_ bytes: [UInt8]) {
  for command in ["record", "list", "play", "export", "bench"] {
    read([Path(command)]) { () throws(UsageError) in try Configuration(bytes, of: Path("config")) }
  }
}
private func read(_ words: [Path], _ configuration: () throws(UsageError) -> Configuration) {
  do throws(UsageError) {
    let arguments = try Arguments(words, configuration: configuration)
    for option in Option.table {
      _ = try? arguments.number(option.long, 0...Int64.max)
      _ = try? arguments.time(option.long)
      _ = try? arguments.choice(option.long, [("fill", 1), ("close", 2)])
    }
    _ = try? InputSpec(arguments.values["--input"])
  } catch {
    precondition(!error.message.contains("\n"), "an error has two lines")
  }
}

/// A whole folder: the input is a list of files, each a byte that names it, two for its size, and its bytes.
private func recovery(_ bytes: [UInt8]) {
  let partial = folder + "/take.opus.partial"
  mkdir(partial, 0o700)
  defer { clean() }
  let names = [
    "take.opus.partial/audio.opus", "take.opus.partial/ledger", "take.opus.partial/tail.0",
    "take.opus.partial/tail.1", "take.opus.partial/manifest", "take.opus", "take.take.json",
  ]
  var rest = bytes[...]
  while rest.count >= 3 {
    let (kind, size) = (
      Int(rest[rest.startIndex]), Int(rest[rest.startIndex + 1]) | Int(rest[rest.startIndex + 2]) << 8
    )
    rest = rest.dropFirst(3)
    _ = write(Array(rest.prefix(size)), names[kind % names.count])
    rest = rest.dropFirst(size)
  }
  guard let first = try? Recovery.recover(Path(folder)) else { return }
  for case .failed(let failure) in first {
    precondition(!failure.message.contains("\n"), "an error has two lines")
    precondition(
      access(partial, F_OK) != 0 || failure.kind != "unreadable", "unreadable, and still in the way")
  }
  for case .recovered(let take) in first {
    let report = try? Verifier.verify(take.take.path)
    precondition(
      report?.isSound == true, "a recovered take doesn't verify: \(report?.checks.compactMap(\.fault) ?? [])")
  }
  guard let second = try? Recovery.recover(Path(folder)) else { return }
  for case .recovered in second { fatalError("a second recovery found something to do") }
}

// MARK: files

private let folder: String = {
  var template = Array("/tmp/holdfast-fuzz-XXXXXX".utf8CString)
  return template.withUnsafeMutableBufferPointer { buffer in
    guard let base = buffer.baseAddress, let made = unsafe mkdtemp(base) else { fatalError("no folder") }
    return unsafe String(cString: made)
  }
}()
private func write(_ bytes: [UInt8], _ name: String) -> Path {
  let path = folder + "/" + name
  let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  _ = bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
  close(file)
  return Path(path)
}
/// Removes all that lies in the folder.
private func clean(_ path: String = folder) {
  guard let stream = opendir(path) else { return }
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name == "." || name == ".." { continue }
    let inner = path + "/" + name
    if unlink(inner) != 0 {
      clean(inner)
      rmdir(inner)
    }
  }
  closedir(stream)
}
