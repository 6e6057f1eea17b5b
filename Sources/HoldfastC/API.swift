// C names them: `holdfast_…`.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CHoldfast
import Glibc
import Holdfast

// Every function of holdfast.h, in its order. Thin: checks what C can get wrong, and calls the library.

@c @implementation public func holdfast_version() -> UnsafePointer<CChar>? {
  unsafe lent(HoldfastVersion.text)
}

@c @implementation public func holdfast_status_text(_ status: Int32) -> UnsafePointer<CChar>? {
  switch status {
  case HOLDFAST_OK.code: unsafe lent("done")
  case HOLDFAST_TIMEOUT.code: unsafe lent("nothing came in time")
  case HOLDFAST_END.code: unsafe lent("nothing more")
  case HOLDFAST_KEPT.code: unsafe lent("something is left that isn't Holdfast's")
  case HOLDFAST_ARGUMENT.code: unsafe lent("a bad argument")
  case HOLDFAST_STATE.code: unsafe lent("a call at the wrong time")
  case HOLDFAST_FORKED.code: unsafe lent("not in a forked child")
  case HOLDFAST_USAGE.code: unsafe lent("bad settings")
  case HOLDFAST_DAMAGED.code: unsafe lent("damaged, or no audio")
  case HOLDFAST_NO_INPUT.code: unsafe lent("no such input")
  case HOLDFAST_NO_DEVICE.code: unsafe lent("no sound device")
  case HOLDFAST_NO_OUTPUT.code: unsafe lent("the take can't be made there")
  case HOLDFAST_IO.code: unsafe lent("the disk fails or is full")
  case HOLDFAST_BUSY.code: unsafe lent("busy, try again")
  case HOLDFAST_DENIED.code: unsafe lent("permission denied")
  default: unsafe lent("unknown status")
  }
}
private func lent(_ text: StaticString) -> UnsafePointer<CChar>? {
  unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

@c @implementation public func holdfast_settings_init(
  _ settings: UnsafeMutablePointer<holdfast_settings>?, _ size: Int
) {
  guard let settings = unsafe settings else { return }
  var fresh = unsafe Settings.defaults
  let filled = unsafe min(size, MemoryLayout<holdfast_settings>.size)
  unsafe fresh.size = filled
  unsafe UnsafeMutableRawBufferPointer(start: settings, count: max(0, filled)).copyBytes(
    from: withUnsafeBytes(of: fresh) { unsafe Array($0.prefix(max(0, filled))) })
}

// MARK: a recorder's life

@c @implementation public func holdfast_recorder_create(
  _ settings: UnsafePointer<holdfast_settings>?, _ recorder: UnsafeMutablePointer<OpaquePointer?>?,
  _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  if let error = unsafe error { unsafe error.pointee = nil }
  guard !Handles.isForked else { return HOLDFAST_FORKED.code }
  guard let recorder = unsafe recorder else { return HOLDFAST_ARGUMENT.code }
  unsafe recorder.pointee = nil
  guard let settings = unsafe settings, unsafe settings.pointee.size >= Settings.smallest else {
    return HOLDFAST_ARGUMENT.code
  }
  do throws(RecorderFailure) {
    let made = try unsafe Handle(Settings.recorder(Settings.grown(settings)))
    unsafe recorder.pointee = Handles.add(made)
    return HOLDFAST_OK.code
  } catch let failure {
    if let error = unsafe error { unsafe error.pointee = copied(Array(failure.message.utf8)) }
    return failure.code
  }
}

@c @implementation public func holdfast_recorder_destroy(_ recorder: OpaquePointer?) -> Int32 {
  guard !Handles.isForked else { return HOLDFAST_FORKED.code }
  guard let handle = unsafe Handles.remove(recorder) else { return HOLDFAST_ARGUMENT.code }
  handle.destroy()
  return HOLDFAST_OK.code
}

/// Finds the handle, and does something with it.
private func with(_ recorder: OpaquePointer?, _ body: (Handle) -> Int32) -> Int32 {
  guard !Handles.isForked else { return HOLDFAST_FORKED.code }
  guard let handle = unsafe Handles.find(recorder) else { return HOLDFAST_ARGUMENT.code }
  return body(handle)
}

@c @implementation public func holdfast_recorder_permission(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { handle in
    guard !handle.hasBegun else { return HOLDFAST_OK.code }  // it is open
    switch handle.recorder.settings.input.permission(handle.recorder.settings.inputOptions) {
    case .granted: return HOLDFAST_OK.code
    case .denied(let failure), .undetermined(let failure): return handle.fail(failure)
    }
  }
}
@c @implementation public func holdfast_recorder_arm(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { $0.begin { recorder throws(RecorderFailure) in try recorder.arm() } }
}
@c @implementation public func holdfast_recorder_start(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { $0.begin { recorder throws(RecorderFailure) in try recorder.start() } }
}
@c @implementation public func holdfast_recorder_pause(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { $0.recorder.pause().status }
}
@c @implementation public func holdfast_recorder_resume(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { $0.recorder.resume().status }
}
@c @implementation public func holdfast_recorder_mark(
  _ recorder: OpaquePointer?, _ label: UnsafePointer<CChar>?
) -> Int32 {
  let text = unsafe label.map { unsafe String(cString: $0) }
  return unsafe with(recorder) { $0.recorder.mark(label: text).status }
}
@c @implementation public func holdfast_recorder_stop(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { handle in
    guard handle.hasBegun else { return HOLDFAST_STATE.code }
    handle.recorder.stop(.user)
    return HOLDFAST_OK.code
  }
}
@c @implementation public func holdfast_recorder_go_on(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { $0.recorder.goOn().status }
}
@c @implementation public func holdfast_recorder_keep(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { handle in
    guard case .interrupted(let reason, _) = handle.recorder.state, reason != .left else {
      return HOLDFAST_STATE.code
    }
    handle.recorder.keep()
    return HOLDFAST_OK.code
  }
}
@c @implementation public func holdfast_recorder_leave(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { $0.hasBegun ? $0.recorder.leave().status : HOLDFAST_STATE.code }
}
@c @implementation public func holdfast_recorder_discard(_ recorder: OpaquePointer?) -> Int32 {
  unsafe with(recorder) { $0.recorder.discard().status }
}
@c @implementation public func holdfast_recorder_wait(_ recorder: OpaquePointer?, _ timeoutMs: Int64) -> Int32
{
  unsafe with(recorder) { $0.wait(timeoutMs) }
}

// MARK: what it tells

@c @implementation public func holdfast_recorder_error(
  _ recorder: OpaquePointer?, _ text: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  unsafe give(recorder, text) { Array($0.error.utf8) }
}
@c @implementation public func holdfast_recorder_path(
  _ recorder: OpaquePointer?, _ path: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  unsafe give(recorder, path) { $0.recorder.path?.bytes }
}
private func give(
  _ recorder: OpaquePointer?, _ text: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ body: (Handle) -> [UInt8]?
) -> Int32 {
  guard let text = unsafe text else { return HOLDFAST_ARGUMENT.code }
  unsafe text.pointee = nil
  return unsafe with(recorder) { handle in
    if let bytes = body(handle) { unsafe text.pointee = copied(bytes) }
    return HOLDFAST_OK.code
  }
}
/// A C text that its reader frees.
private func copied(_ bytes: [UInt8]) -> UnsafeMutablePointer<CChar>? {
  guard let room = unsafe malloc(bytes.count + 1) else { return nil }
  let text = unsafe room.assumingMemoryBound(to: CChar.self)
  for (i, byte) in bytes.enumerated() { unsafe text[i] = CChar(bitPattern: byte) }
  unsafe text[bytes.count] = 0
  return unsafe text
}

@c @implementation public func holdfast_recorder_snapshot(
  _ recorder: OpaquePointer?, _ snapshot: UnsafeMutablePointer<holdfast_snapshot>?
) -> Int32 {
  guard let snapshot = unsafe snapshot else { return HOLDFAST_ARGUMENT.code }
  return unsafe with(recorder) { handle in
    var filled = handle.snapshot
    let size = unsafe min(snapshot.pointee.size, filled.size)
    guard size >= 2 * MemoryLayout<Int>.size else { return HOLDFAST_ARGUMENT.code }
    filled.size = size
    unsafe UnsafeMutableRawBufferPointer(start: snapshot, count: size).copyBytes(
      from: withUnsafeBytes(of: filled) { unsafe Array($0.prefix(size)) })
    return HOLDFAST_OK.code
  }
}
@c @implementation public func holdfast_recorder_next_event(
  _ recorder: OpaquePointer?, _ timeoutMs: Int64, _ event: UnsafeMutablePointer<holdfast_event>?
) -> Int32 {
  guard let event = unsafe event else { return HOLDFAST_ARGUMENT.code }
  let size = unsafe min(event.pointee.size, MemoryLayout<holdfast_event>.size)
  guard size >= 2 * MemoryLayout<Int>.size else { return HOLDFAST_ARGUMENT.code }
  return unsafe with(recorder) { handle in
    unsafe handle.next(timeoutMs) { next in
      var filled = unsafe next
      unsafe filled.size = size
      unsafe UnsafeMutableRawBufferPointer(start: event, count: size).copyBytes(
        from: withUnsafeBytes(of: filled) { unsafe Array($0.prefix(size)) })
    }
  }
}
@c @implementation public func holdfast_recorder_set_callback(
  _ recorder: OpaquePointer?, _ callback: holdfast_callback?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
  let wanted = unsafe callback.map { unsafe Handle.Callback(function: $0, user: user) }
  return unsafe with(recorder) { $0.setCallback(wanted) }
}

// MARK: takes

@c @implementation public func holdfast_list(
  _ folder: UnsafePointer<CChar>?, _ context: UnsafePointer<CChar>?,
  _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  let (place, text) = unsafe (
    folder.map { unsafe Settings.path($0) }, context.map { unsafe String(cString: $0) }
  )
  return unsafe answer(json) { () throws(RecorderFailure) in
    try Settings.store(place).pending(context: text).map(\.json.line)
  }
}
@c @implementation public func holdfast_unfinished(
  _ folder: UnsafePointer<CChar>?, _ context: UnsafePointer<CChar>?,
  _ path: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  guard !Handles.isForked else { return HOLDFAST_FORKED.code }
  guard let path = unsafe path else { return HOLDFAST_ARGUMENT.code }
  unsafe path.pointee = nil
  let (place, text) = unsafe (
    folder.map { unsafe Settings.path($0) }, context.map { unsafe String(cString: $0) }
  )
  do throws(RecorderFailure) {
    let takes = try Settings.store(place).pending(context: text).filter { $0.kind == .unfinished }
    guard let newest = takes.max(by: { ($0.startedMs ?? 0) < ($1.startedMs ?? 0) }) else {
      return HOLDFAST_END.code
    }
    unsafe path.pointee = copied(newest.path.bytes)
    return HOLDFAST_OK.code
  } catch { return error.code == 66 ? HOLDFAST_END.code : error.code }
}
@c @implementation public func holdfast_wipe(
  _ folder: UnsafePointer<CChar>?, _ context: UnsafePointer<CChar>?,
  _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  if let json = unsafe json { unsafe json.pointee = nil }
  guard !Handles.isForked else { return HOLDFAST_FORKED.code }
  let (place, text) = unsafe (
    folder.map { unsafe Settings.path($0) }, context.map { unsafe String(cString: $0) }
  )
  var code = HOLDFAST_OK.code
  let line: String
  do throws(RecorderFailure) {
    let store = try Settings.store(place)
    let result: WipeResult
    if let text { result = try store.wipe(context: text) } else { result = try store.wipeAll() }
    if !result.recording.isEmpty {
      code = HOLDFAST_BUSY.code
    } else if !result.isComplete {
      code = HOLDFAST_KEPT.code
    }
    func paths(_ list: [Path]) -> JSON { .array(list.map { .object($0.fields) }) }
    line =
      JSON.object([
        ("gone", paths(result.gone)), ("recording", paths(result.recording)),
        ("kept", .array(result.kept.map { .object($0.path.fields + [("why", .string($0.why))]) })),
      ]).line
  } catch {
    code = error.code
    line = RecorderEvent.failed(error).json(context: nil).line
  }
  if let json = unsafe json { unsafe json.pointee = copied(Array(line.utf8)) }
  return code
}
@c @implementation public func holdfast_inspect(
  _ path: UnsafePointer<CChar>?, _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  guard let path = unsafe path else { return unsafe none(json) }
  let file = unsafe Settings.path(path)
  return unsafe answer(json) { () throws(RecorderFailure) in [try Inspector.inspect(file).json.line] }
}
@c @implementation public func holdfast_recover(
  _ path: UnsafePointer<CChar>?, _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  guard let path = unsafe path else { return unsafe none(json) }
  let place = unsafe Settings.path(path)
  var code = HOLDFAST_OK.code
  let status = unsafe answer(json) { () throws(RecorderFailure) in
    try Recovery.recover(place).compactMap { result in
      switch result {
      case .recovered(let take): return take.json.line
      case .repaired(let copy): return copy.json.line
      case .nothingToDo: return nil
      case .failed(let failure):
        code = max(code, failure.code)
        return RecorderEvent.failed(failure).json(context: nil).line
      }
    }
  }
  return status == HOLDFAST_OK.code ? code : status
}
@c @implementation public func holdfast_discard(
  _ path: UnsafePointer<CChar>?, _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  guard let path = unsafe path else { return unsafe none(json) }
  let take = unsafe Settings.path(path)
  return unsafe answer(json) { () throws(RecorderFailure) in
    let entry = try TakeStore(folder: take.parent).discard(take)
    return [RecorderEvent.discarded(entry, take: take).json(context: nil).line]
  }
}
private func none(_ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
  if let json = unsafe json { unsafe json.pointee = nil }
  return HOLDFAST_ARGUMENT.code
}
/// Lines of JSON, or the failure as one.
private func answer(
  _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ body: () throws(RecorderFailure) -> [String]
) -> Int32 {
  guard !Handles.isForked else { return HOLDFAST_FORKED.code }
  guard let json = unsafe json else { return HOLDFAST_ARGUMENT.code }
  do throws(RecorderFailure) {
    unsafe json.pointee = copied(Array(try body().joined(separator: "\n").utf8))
    return HOLDFAST_OK.code
  } catch {
    unsafe json.pointee = copied(Array(RecorderEvent.failed(error).json(context: nil).line.utf8))
    return error.code
  }
}

@c @implementation public func holdfast_free(_ text: UnsafeMutablePointer<CChar>?) { unsafe free(text) }
