import CPlatform
import Glibc
import Holdfast
import Platform
import Synchronization

/// Looks at files on several threads. What comes of them is shown on the calling thread, in the order they are named.
///
/// One thread names the files, which may come slowly out of a pipe; a bounded number is ahead of what is shown.
final class Crew<Found: Sendable>: Sendable {
  private final class Slot: Sendable {
    let index: Int
    let item: FileList.Item
    let found = Mutex<Found?>(nil)
    let done = CountingSemaphore()
    init(_ index: Int, _ item: FileList.Item) {
      self.index = index
      self.item = item
    }
  }
  private struct Queues {
    var toDo: [Slot] = []
    var toShow: [Slot] = []
  }
  private let queues = Mutex(Queues())
  private let work = CountingSemaphore()
  private let named = CountingSemaphore()
  private let room = CountingSemaphore()

  /// - Parameters:
  ///   - jobs: files at once, 1 or more.
  ///   - look: at one file, on a thread of the crew's; told how to report how much is done.
  ///   - show: false ends it; what is still being looked at then is left to the end of the process.
  /// - Throws: where no thread can be made.
  static func run(
    _ files: FileList, jobs: Int, _ progress: Progress,
    look: @escaping @Sendable (FileList.Item, @escaping (Double) -> Void) -> Found,
    show: (Found) -> Bool
  ) throws(Errno) {
    let crew = Crew()
    let jobs = min(jobs, files.count.map { max(1, $0) } ?? jobs)
    for _ in 0..<(jobs + 2) { crew.room.post() }
    _ = try Thread(name: "hf-files") { crew.name(files) }
    for i in 0..<jobs {
      do throws(Errno) {
        _ = try Thread(name: "hf-look") { crew.serve(progress, look) }
      } catch  where i > 0 {
        break  // fewer will do
      }
    }
    while let slot = crew.nextToShow() {
      slot.done.wait()
      guard let found = slot.found.withLock({ $0.take() }) else { break }
      guard show(found) else { return }
      crew.room.post()
    }
  }

  /// The thread that names the files. A slot's absence behind a post says that there are no more.
  private func name(_ files: FileList) {
    var files = files
    var index = 0
    room.wait()
    while let item = files.next() {
      let slot = Slot(index, item)
      index += 1
      queues.withLock {
        $0.toDo.append(slot)
        $0.toShow.append(slot)
      }
      work.post()
      named.post()
      room.wait()
    }
    work.post()
    named.post()
  }
  private func nextToShow() -> Slot? {
    named.wait()
    return queues.withLock { $0.toShow.isEmpty ? nil : $0.toShow.removeFirst() }
  }
  private func serve(
    _ progress: Progress, _ look: @Sendable (FileList.Item, @escaping (Double) -> Void) -> Found
  ) {
    while true {
      work.wait()
      guard let slot = queues.withLock({ $0.toDo.isEmpty ? nil : $0.toDo.removeFirst() }) else {
        return work.post()  // for the next of the crew
      }
      progress.begin(slot.index)
      let found = look(slot.item) { progress.update(slot.index, $0) }
      progress.end(slot.index)
      slot.found.withLock { $0 = found }
      slot.done.post()
    }
  }
}

/// Processors that this process may run on: the default of `--jobs`.
var processorCount: Int { max(1, Int(holdfast_processors())) }
