import CHoldfast
import Glibc
import Holdfast
import Synchronization

/// A recorder as C sees it.
final class Handle: Sendable {
  let recorder: Recorder
  private let context: JSON?
  private struct State {
    var begun = false
    var callback: Callback?
    var thread: Thread?
    var error = ""
  }
  private let state = Mutex(State())
  /// What was taken out of the queue and not handed on yet; held by the one thread that reads.
  private let reading = Mutex(Reading())

  @safe struct Callback: @unchecked Sendable {
    let function: holdfast_callback
    let user: UnsafeMutableRawPointer?
  }
  private struct Reading: ~Copyable {
    var waiting: ArraySlice<RecorderEvent> = []
    var text = LentText()
  }

  init(_ recorder: Recorder) {
    self.recorder = recorder
    context = recorder.settings.context.map { TakeDescription.contextJSON($0) }
  }

  /// What the take met; else what a call was refused for.
  var error: String { recorder.lastFailure?.message ?? state.withLock { $0.error } }
  func fail(_ failure: RecorderFailure) -> Int32 {
    state.withLock { $0.error = failure.message }
    return failure.code
  }
  var hasBegun: Bool { state.withLock { $0.begun } }

  /// Runs `body`, which arms or starts.
  func begin(_ body: (Recorder) throws(RecorderFailure) -> Void) -> Int32 {
    do throws(RecorderFailure) { try body(recorder) } catch {
      guard error.kind != "already_running", error.kind != "not_armed" else {
        _ = fail(error)
        return HOLDFAST_STATE.code
      }
      startReader()
      return fail(error)
    }
    state.withLock { $0.begun = true }
    startReader()
    guard !isDestroyed.load(ordering: .sequentiallyConsistent) else {
      recorder.leave()  // by another thread, meanwhile
      return HOLDFAST_ARGUMENT.code
    }
    return HOLDFAST_OK.code
  }
  private func startReader() {
    state.withLock { s in
      guard let callback = s.callback, s.thread == nil else { return }
      s.thread = try? Thread(name: "hf-events") { [self] in follow(callback) }
    }
  }

  func setCallback(_ callback: Callback?) -> Int32 {
    state.withLock { s in
      guard !s.begun, s.thread == nil else { return HOLDFAST_STATE.code }
      s.callback = callback
      return HOLDFAST_OK.code
    }
  }
  private func follow(_ callback: Callback) {
    unsafe pthread_setspecific(currentHandle, Unmanaged.passUnretained(self).toOpaque())
    while true {
      let events = recorder.events.next()
      if events.isEmpty { return }
      for event in events {
        guard !isAbandoned.load(ordering: .acquiring) else { return }
        if event.mayBeDropped, isDestroyed.load(ordering: .acquiring) { continue }
        var text = LentText()
        var raw = unsafe record(event, &text)
        unsafe callback.function(&raw, callback.user)
      }
    }
  }
  private let isDestroyed = Atomic<Bool>(false)
  /// It was destroyed in its own callback: nobody is there any more.
  private let isAbandoned = Atomic<Bool>(false)
  private var isInCallback: Bool {
    unsafe pthread_getspecific(currentHandle) == Unmanaged.passUnretained(self).toOpaque()
  }

  /// Leaves a take that is under way, hands on what was told but for levels, and waits until nothing runs any more.
  func destroy() {
    if isInCallback { isAbandoned.store(true, ordering: .releasing) }
    isDestroyed.store(true, ordering: .sequentiallyConsistent)
    recorder.end()
    guard !isInCallback else { return }  // the thread that runs now is its last user
    recorder.wait()
    let thread = state.withLock { s in
      defer { s.thread = nil }
      return s.thread
    }
    thread?.join()
  }

  func wait(_ milliseconds: Int64) -> Int32 {
    guard hasBegun else { return HOLDFAST_STATE.code }
    return recorder.wait(until: deadline(milliseconds)) ? HOLDFAST_OK.code : HOLDFAST_TIMEOUT.code
  }

  // MARK: events

  func next(_ milliseconds: Int64, _ body: (holdfast_event) -> Void) -> Int32 {
    guard state.withLock({ $0.callback == nil }) else { return HOLDFAST_STATE.code }
    let answer: Int32? = reading.withLockIfAvailable { reading in
      if reading.waiting.isEmpty {
        reading.waiting = recorder.events.next(until: deadline(milliseconds))[...]
      }
      guard let event = reading.waiting.popFirst() else {
        return recorder.events.isOver ? HOLDFAST_END.code : HOLDFAST_TIMEOUT.code
      }
      unsafe body(record(event, &reading.text))
      return HOLDFAST_OK.code
    }
    return answer ?? HOLDFAST_STATE.code
  }

  private func record(_ event: RecorderEvent, _ text: inout LentText) -> holdfast_event {
    var raw = unsafe holdfast_event()
    unsafe raw.size = MemoryLayout<holdfast_event>.size
    func put(_ type: holdfast_event_type, _ frames: Int64 = 0) {
      unsafe raw.type = Int32(type.rawValue)
      unsafe raw.effective_ms = frames / 48
    }
    switch event {
    case .state(let state, let frames):
      put(HOLDFAST_EVENT_STATE, frames)
      unsafe (raw.state, raw.reason) = (state.number, state.reason)
    case .level(let level, _): put(HOLDFAST_EVENT_LEVEL, level.endFrame)
    case .speech(let change): put(HOLDFAST_EVENT_SPEECH, change.atFrame)
    case .mark(let frames, _): put(HOLDFAST_EVENT_MARK, frames)
    case .gap(_, let frames): put(HOLDFAST_EVENT_GAP, frames)
    case .warning(_, _, let frames): put(HOLDFAST_EVENT_WARNING, frames)
    case .lowDisk(_, let frames): put(HOLDFAST_EVENT_WARNING, frames)
    case .filesystem: put(HOLDFAST_EVENT_WARNING)
    case .interrupted(let reason, let frames):
      put(HOLDFAST_EVENT_INTERRUPTED, frames)
      unsafe raw.reason = reason.number
    case .resumed(let reason, let frames, _):
      put(HOLDFAST_EVENT_RESUMED, frames)
      unsafe raw.reason = reason.number
    case .discarded: put(HOLDFAST_EVENT_DISCARDED)
    case .sealed(let take): put(HOLDFAST_EVENT_SEALED, take.effectiveFrames)
    case .failed(let failure):
      put(HOLDFAST_EVENT_ERROR)
      unsafe raw.status = failure.code
    case .autoPause(_, let frames): put(HOLDFAST_EVENT_OTHER, frames)
    }
    unsafe raw.json = text.keep(event.json(context: context).line)
    return unsafe raw
  }

  var snapshot: holdfast_snapshot {
    let now = recorder.snapshot
    var raw = holdfast_snapshot()
    raw.size = MemoryLayout<holdfast_snapshot>.size
    (raw.state, raw.reason) = (now.state.number, now.state.reason)
    (raw.effective_ms, raw.effective_frames) = (now.effectiveMs, now.effectiveFrames)
    raw.missing_ms = now.missingMs
    (raw.level_db, raw.peak_db) = (now.levelDb, now.peakDb)
    unsafe withUnsafeMutableBytes(of: &raw.bars) { room in
      for (i, bar) in now.bars.enumerated() {
        unsafe room.storeBytes(of: Float(bar), toByteOffset: i * MemoryLayout<Float>.size, as: Float.self)
      }
    }
    (raw.speaking, raw.can_submit) = (now.speaking ? 1 : 0, now.canSubmit ? 1 : 0)
    raw.pause_count = Int32(clamping: now.pauseCount)
    for warning in now.warnings { raw.warnings |= warning.bit }
    return raw
  }
}

/// A C text that is lent until the next one.
@safe struct LentText: ~Copyable {
  private var text: UnsafeMutablePointer<CChar>?
  init() { unsafe text = nil }
  deinit { unsafe free(text) }
  mutating func keep(_ new: String) -> UnsafePointer<CChar>? {
    unsafe free(text)
    unsafe text = new.withCString { unsafe strdup($0) }
    return unsafe UnsafePointer(text)
  }
}

/// The handle whose callback the thread runs.
private let currentHandle: pthread_key_t = {
  var key = pthread_key_t()
  unsafe pthread_key_create(&key, nil)
  return key
}()

private func deadline(_ milliseconds: Int64) -> MonotonicTime {
  let most: Int64 = 100 * 365 * 86_400_000  // a hundred years are without end
  return .now.advanced(by: (milliseconds < 0 ? most : min(milliseconds, most)) * 1_000_000)
}

/// All recorders there are. A handle is a number that is used once: one that was destroyed is known as such.
enum Handles {
  private struct Table {
    var handles: [Int: Handle] = [:]
    var last = 0
  }
  private static let table = Mutex(Table())
  private static let process = getpid()

  /// A forked child has none of the library's threads, and maybe its locks held.
  static var isForked: Bool { getpid() != process }

  static func add(_ handle: Handle) -> OpaquePointer? {
    let number = table.withLock { t in
      t.last += 16  // looks like an address, and is none
      t.handles[t.last] = handle
      return t.last
    }
    return unsafe OpaquePointer(bitPattern: number)
  }
  static func find(_ pointer: OpaquePointer?) -> Handle? {
    guard let pointer = unsafe pointer else { return nil }
    let number = Int(bitPattern: pointer)
    return table.withLock { $0.handles[number] }
  }
  static func remove(_ pointer: OpaquePointer?) -> Handle? {
    guard let pointer = unsafe pointer else { return nil }
    let number = Int(bitPattern: pointer)
    return table.withLock { $0.handles.removeValue(forKey: number) }
  }
}
