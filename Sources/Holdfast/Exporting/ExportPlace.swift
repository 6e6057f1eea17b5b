import Capture
import Glibc
import Platform
import Store

/// Where an export goes: a hidden file until it is whole, then the name that was asked for. Keep it on one thread.
final class ExportPlace {
  let output: Path
  private let file: FreshFile
  /// What the commit moves to the trash.
  private let replaced: [Path]

  init(_ output: Path, source: Path, force: Bool) throws(RecorderFailure) {
    self.output = output
    let name = output.name
    guard name.bytes.count <= 255 else {
      throw RecorderFailure(
        code: 73, kind: "name_too_long", path: output,
        message: "\(output.display): the name has \(name.bytes.count) bytes, 255 is the most")
    }
    let folder: Descriptor
    do throws(DiskError) { folder = try Disk.openFolder(output.parent) } catch {
      throw Failures.output(.noFolder(error), path: output)
    }
    var replaced: [Path] = []
    if let there = Disk.identity(name, in: folder) {
      guard there.kind == .file else { throw Failures.output(.wrongKind(there.kind), path: output) }
      guard force else { throw Failures.output(.exists, path: output) }
      // Looked at, not opened: a FIFO's bytes come once.
      var facts = stat()
      if source.text != "-", unsafe source.withCString({ unsafe stat($0, &facts) }) == 0,
        UInt64(facts.st_dev) == there.device, UInt64(facts.st_ino) == there.inode
      {
        throw RecorderFailure(
          code: 64, kind: "usage", path: output,
          message: "\(output.display) is the file that is exported: choose another name")
      }
      replaced = [name]
      // A take goes as a whole.
      if name.hasSuffix(".opus") { replaced.append(TakeName(audio: name).manifest) }
    }
    self.replaced = replaced
    let hidden = Path(bytes: Exporter.temporary + name.bytes.prefix(255 - Exporter.temporary.count))
    do throws(DiskError) { file = try FreshFile(in: output.parent, hidden: hidden) } catch {
      guard error.errno.code == Errno.busy else {
        throw Failures.disk(error, at: output, doing: "can't create")
      }
      throw RecorderFailure(
        code: 75, kind: "busy", path: output,
        message: "another process exports to \(output.display) now; try again")
    }
  }

  /// Of the hidden file, for a writer of its own.
  var descriptor: Int32 { file.file.raw }
  func append(_ bytes: [UInt8]) throws(RecorderFailure) {
    guard !bytes.isEmpty else { return }
    do throws(DiskError) { try file.append(bytes) } catch { throw failure(error) }
  }

  /// - Returns: the file's size.
  func commit() throws(RecorderFailure) -> Int64 {
    do throws(DiskError) { try file.commit(as: output.name, replacing: replaced) } catch {
      // It appeared while this one was written.
      if error.errno.code == Errno.exists { throw Failures.output(.exists, path: output) }
      throw failure(error)
    }
    return Disk.identity(file.file)?.size ?? 0
  }

  /// Calls a writer of the hidden file.
  func writing<R>(_ body: () throws(SoundWriteError) -> R) throws(RecorderFailure) -> R {
    do throws(SoundWriteError) { return try body() } catch { throw failure(error) }
  }
  private func failure(_ error: SoundWriteError) -> RecorderFailure {
    switch error {
    case .io(let code): failure(DiskError(call: "pwrite", path: output, errno: Errno(code)))
    case .refused(let why):
      RecorderFailure(
        code: 73, kind: "cannot_create", path: output, message: "can't create \(output.display): \(why)")
    }
  }
  private func failure(_ error: DiskError) -> RecorderFailure {
    RecorderFailure(
      code: error.errno.isPermission ? 77 : 74,
      kind: error.errno.isPermission ? "permission" : error.errno.isDiskFull ? "disk_full" : "disk_error",
      path: output,
      message: "can't write \(output.display): \(error.errno.text) (\(error.call)); nothing was made")
  }
}
