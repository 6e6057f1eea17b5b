import CALSA
import Glibc
import Platform

/// Owns at most one open ALSA PCM, for capture or, with `playing`, for playback. Used by one thread at a time.
///
/// Every call answers as ALSA does, negative errno for a failure; a PCM that isn't open answers −EBADFD.
@safe struct PCM: ~Copyable {
  private var raw: OpaquePointer?
  /// Frames are read through the mapped buffer.
  private(set) var isMapped = false
  /// `htimestamp` is the device's own clock reading, not the time of the call.
  private(set) var hasTimestamps = false
  /// It captures nothing at all: ALSA's null device, also behind ALSA's converters.
  private(set) var isNull = false
  /// A sound server stands behind it.
  private(set) var isServer = false

  init() {}

  /// Opens `name`, unchanged, without waiting for a device in use.
  init(opening name: Path, playing: Bool = false) throws(Errno) {
    holdfast_alsa_silence()
    guard !name.bytes.contains(0) else { throw Errno(ENOENT) }
    var made: OpaquePointer?
    let code = unsafe name.withCString {
      playing ? unsafe holdfast_pcm_open_playback(&made, $0) : unsafe holdfast_pcm_open(&made, $0)
    }
    guard code >= 0, let made = unsafe made else { throw Errno(code < 0 ? -code : EIO) }
    unsafe raw = made
    hasTimestamps = unsafe Self.card(made) >= 0
    let text = unsafe Self.dump(made)
    isServer = text.contains("PulseAudio") || text.contains("PipeWire") || text.contains("JACK")
    isNull = text.contains("Null PCM")
  }
  deinit { if let raw = unsafe raw { unsafe snd_pcm_close(raw) } }

  /// The kernel's number of the sound card behind the PCM, below 0 where there is none.
  private static func card(_ pcm: OpaquePointer) -> Int32 {
    var info: OpaquePointer?
    guard unsafe snd_pcm_info_malloc(&info) >= 0, let info = unsafe info else { return -1 }
    defer { unsafe snd_pcm_info_free(info) }
    return unsafe snd_pcm_info(pcm, info) >= 0 ? unsafe snd_pcm_info_get_card(info) : -1
  }
  /// ALSA's own words on the PCM and what stands behind it: the only place where a plugin says what it is.
  private static func dump(_ pcm: OpaquePointer) -> String {
    var output: OpaquePointer?
    guard unsafe snd_output_buffer_open(&output) >= 0, let output = unsafe output else { return "" }
    defer { unsafe snd_output_close(output) }
    unsafe snd_pcm_dump(pcm, output)
    var text: UnsafeMutablePointer<CChar>?
    let size = unsafe snd_output_buffer_string(output, &text)
    guard let text = unsafe text else { return "" }
    return unsafe String(decoding: UnsafeRawBufferPointer(start: text, count: Int(size)), as: UTF8.self)
  }

  /// Sets the PCM up; see `Negotiation`.
  mutating func configure(_ wish: CaptureWish) throws(NegotiationFailure) -> Negotiated {
    guard let raw = unsafe raw else { throw .errno(EBADFD) }
    let result = try unsafe Negotiation.run(raw, wish)
    isMapped = result.mapped
    return result
  }
  /// What the device can do before it is set up; nil where it doesn't say.
  var offer: DeviceOffer? {
    guard let raw = unsafe raw else { return nil }
    return unsafe Negotiation.offer(raw)
  }

  // MARK: running; none of this allocates

  /// Drops what is in the buffer, and captures from now on.
  func restart() -> Int32 {
    guard let raw = unsafe raw else { return -EBADFD }
    let prepared = unsafe snd_pcm_prepare(raw)
    return prepared < 0 ? prepared : unsafe snd_pcm_start(raw)
  }
  func start() -> Int32 {
    guard let raw = unsafe raw else { return -EBADFD }
    return unsafe snd_pcm_start(raw)
  }
  /// Frames that can be read without asking the hardware again. Doesn't wait.
  func ready() -> Int {
    guard let raw = unsafe raw else { return -Int(EBADFD) }
    return unsafe snd_pcm_avail_update(raw)
  }
  /// Lets a plugin see that its descriptors woke somebody: some take back what made them readable.
  func acknowledge(_ polls: UnsafeMutablePointer<pollfd>, count: Int) {
    guard let raw = unsafe raw, count > 0 else { return }
    var events: UInt16 = 0
    unsafe _ = snd_pcm_poll_descriptors_revents(raw, polls, UInt32(count), &events)
  }
  /// Reads at most `frames` whole frames to `target`, without waiting.
  func read(to target: UnsafeMutableRawPointer, frames: Int) -> Int {
    guard let raw = unsafe raw else { return -Int(EBADFD) }
    return isMapped
      ? unsafe snd_pcm_mmap_readi(raw, target, snd_pcm_uframes_t(frames))
      : unsafe snd_pcm_readi(raw, target, snd_pcm_uframes_t(frames))
  }
  /// Frames that can be read now.
  func available() -> Int {
    guard let raw = unsafe raw else { return -Int(EBADFD) }
    return unsafe snd_pcm_avail(raw)
  }
  /// Frames between the microphone and the program: those that can be read, and those still on their way.
  func delay() -> Int {
    guard let raw = unsafe raw else { return -Int(EBADFD) }
    var frames: snd_pcm_sframes_t = 0
    let code = unsafe snd_pcm_delay(raw, &frames)
    return code < 0 ? Int(code) : frames
  }
  /// Frames that can be read, and the time at which that was so in nanoseconds on the monotonic clock.
  ///
  /// - Returns: nil where the device can't tell, such as after an overrun.
  func stamp() -> (available: Int, time: Int64)? {
    guard let raw = unsafe raw else { return nil }
    let before = MonotonicTime.now.nanoseconds
    var frames: snd_pcm_uframes_t = 0
    var stamp = timespec()
    guard unsafe snd_pcm_htimestamp(raw, &frames, &stamp) >= 0 else { return nil }
    let time = Int64(stamp.tv_sec) * 1_000_000_000 + Int64(stamp.tv_nsec)
    // Some drivers leave it zero or tell the wall clock's time: then the call's time has to do.
    return (Int(frames), abs(time - before) < 1_000_000_000 ? time : before)
  }
  /// As `SND_PCM_STATE_…` numbers it.
  func state() -> Int32 {
    guard let raw = unsafe raw else { return 0 }
    return unsafe holdfast_pcm_state(raw)
  }

  // MARK: playing

  /// Ready to take frames; nothing sounds before `start`.
  func prepare() -> Int32 {
    guard let raw = unsafe raw else { return -EBADFD }
    return unsafe snd_pcm_prepare(raw)
  }
  /// Hands at most `frames` whole frames over, without waiting.
  func write(from source: UnsafeRawPointer, frames: Int) -> Int {
    guard let raw = unsafe raw else { return -Int(EBADFD) }
    return isMapped
      ? unsafe snd_pcm_mmap_writei(raw, source, snd_pcm_uframes_t(frames))
      : unsafe snd_pcm_writei(raw, source, snd_pcm_uframes_t(frames))
  }
  /// Waits for room for a period, so long at most. 0 where none came.
  func wait(milliseconds: Int32) -> Int32 {
    guard let raw = unsafe raw else { return -EBADFD }
    return unsafe snd_pcm_wait(raw, milliseconds)
  }
  /// Begins to let what was written sound to its end: −EAGAIN where that isn't over yet.
  func drain() -> Int32 {
    guard let raw = unsafe raw else { return -EBADFD }
    return unsafe snd_pcm_drain(raw)
  }
  func drop() { if let raw = unsafe raw { unsafe snd_pcm_drop(raw) } }
  func resume() -> Int32 {
    guard let raw = unsafe raw else { return -EBADFD }
    return unsafe snd_pcm_resume(raw)
  }

  // MARK: waiting

  func descriptorCount() -> Int {
    guard let raw = unsafe raw else { return 0 }
    return max(0, Int(unsafe snd_pcm_poll_descriptors_count(raw)))
  }
  /// Fills `polls`, which has room for `count`; returns how many were.
  func descriptors(_ polls: UnsafeMutablePointer<pollfd>, count: Int) -> Int {
    guard let raw = unsafe raw, count > 0 else { return 0 }
    return max(0, Int(unsafe snd_pcm_poll_descriptors(raw, polls, UInt32(count))))
  }
}

/// ALSA's numbers for what a PCM is doing.
enum PCMState {
  static let setup: Int32 = 1
  static let prepared: Int32 = 2
  static let running: Int32 = 3
  static let xrun: Int32 = 4
  static let draining: Int32 = 5
  static let suspended: Int32 = 7
}
